"""What must hold all the time, read from the API server's own objects."""

import time
from collections.abc import Callable, Mapping

from tests.actors.api import Object
from tests.actors.claims import claims_of
from tests.actors.longhorn.cluster import Cluster
from tests.e2e.outcome import volumes_without_room
from tests.e2e.seen import Seen
from tests.e2e.workloads import GIB
from tests.e2e.workloads import NAMESPACE as WORKLOADS
from tests.soak.happenings import NEW_ALONE

PATIENCE_SECONDS = 10.0
"""A pod waits no longer while a node has room."""


class Judge:
    """Looks at the cluster now and then.

    Attributes:
        violations: What was wrong, each once, with when.
        most_overcommitted: The most nodes at a time with a disk that has more than its limit.
        longest_wait_seconds: The longest that a pod has waited while a node had room.
    """

    def __init__(self, seen: Seen, cluster: Cluster, say: Callable[[str], None]) -> None:
        self.violations: list[str] = []
        self.longest_wait_seconds = 0.0
        self.most_overcommitted = 0
        self._seen = seen
        self._cluster = cluster
        self._say = say
        self._waits_since: dict[str, float] = {}
        self._without_room: Mapping[str, int] = {}

    def look(self, *, is_calm: bool, trouble: str) -> None:
        """Judge the cluster as it is now.

        Args:
            is_calm: Whether nothing has gone wrong for a while.
            trouble: What went wrong last.
        """
        if not is_calm:
            self._waits_since.clear()
            return
        if self._seen.unsettled() or self._seen.unplaced_replicas():
            self._waits_since.clear()  # what is to be placed may need the room
            return
        self._look_at_room(trouble)
        self._look_at_waiting(trouble)

    def _look_at_room(self, trouble: str) -> None:
        """Whoever was bound has room for all volumes that must be there.

        Longhorn places replicas by figures that lag, and so more than a disk takes: what lacks room
        beside such a disk is counted, and not our doing.
        """
        overcommitted = self._seen.overcommitted_nodes()
        self.most_overcommitted = max(self.most_overcommitted, len(overcommitted))
        now = self._seen.without_room_by_node(local_only=True)
        for node, count in now.items():
            if count > self._without_room.get(node, 0) and node not in overcommitted:
                pods = [name for name, there in self._seen.node_of().items() if there == node]
                self._violate(
                    f"{count} volumes of {', '.join(pods)} have no room on {node} "
                    f"after {trouble}: {self._told(node)}"
                )
        self._without_room = now

    def _look_at_waiting(self, trouble: str) -> None:
        """Nobody waits for long while there is room."""
        now, waiting = time.monotonic(), set[str]()
        for pod in self._seen.pods():
            uid, name = pod["metadata"]["uid"], pod["metadata"]["name"]
            if pod["spec"].get("nodeName"):
                continue
            wanted = self._new_alone(pod)
            node = self._node_with_room(wanted) if wanted else None
            if node is None:
                continue
            waiting.add(uid)
            waits = now - self._waits_since.setdefault(uid, now)
            self.longest_wait_seconds = max(self.longest_wait_seconds, waits)
            if waits > PATIENCE_SECONDS:
                self._violate(
                    f"{name} waits for {waits:.0f} s though {node} has room for {wanted}, after "
                    f"{trouble}: {_why(pod)}"
                )
                self._waits_since[uid] = float("inf")  # once is enough
        for uid in [*self._waits_since]:
            if uid not in waiting:
                del self._waits_since[uid]

    def _new_alone(self, pod: Object) -> Mapping[str, int]:
        """Return the bytes of what a pod needs by claim; empty if it has volumes already, or needs
        more than a replica of each on its node."""
        found = {name: self._cluster.claims.get(name, WORKLOADS) for name in claims_of(pod)}
        if any(
            claim is None
            or claim["spec"].get("volumeName")
            or claim["spec"]["storageClassName"] not in NEW_ALONE
            for claim in found.values()
        ):
            return {}
        return {
            name: int(claim["spec"]["resources"]["requests"]["storage"].removesuffix("Gi")) * GIB
            for name, claim in found.items()
            if claim is not None
        }

    def _node_with_room(self, wanted: Mapping[str, int]) -> str | None:
        """Return a node that takes all of it beside what is there."""
        nodes = self._cluster.nodes.objects.values()
        replicas = self._cluster.replicas.objects.values()
        settings = self._cluster.setting_values()
        return next(
            (
                node["metadata"]["name"]
                for node in nodes
                if not volumes_without_room(
                    [node], replicas, {node["metadata"]["name"]: wanted}, settings
                )
            ),
            None,
        )

    def _told(self, node: str) -> str:
        """Describe the replicas of a node, in GiB, and where its pods' volumes have theirs."""
        found = []
        for key, replica in self._cluster.replicas.objects.items():
            spec = replica["spec"]
            volume = self._cluster.volumes.get(spec["volumeName"], key.namespace)
            if volume and node in (spec.get("nodeID"), volume["spec"].get("nodeID")):
                locality = volume["spec"]["dataLocality"]
                size = int(volume["spec"]["size"]) / GIB
                place = spec.get("nodeID") or "nowhere"
                at = volume["spec"].get("nodeID")
                found.append(f"{key.name[:12]} {size:g} {locality} on {place}, attached to {at}")
        return "; ".join(sorted(found))

    def _violate(self, what: str) -> None:
        line = f"VIOLATED: {what}"
        self.violations.append(line)
        self._say(line)


def _why(pod: Object) -> str:
    """Return what kube-scheduler says of a pod."""
    conditions = pod["status"].get("conditions") or ()
    return next((each.get("message", "") for each in conditions), "nobody has looked at it")
