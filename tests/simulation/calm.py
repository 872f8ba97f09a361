"""What must hold once all is calm: of pods that wait, of pods that have a node, and of disks."""

from collections.abc import Iterator

from longhorn import Locality
from tests.actors.api import Object
from tests.actors.longhorn.accounts import disks, overcommitted
from tests.actors.longhorn.granted import unsettled
from tests.actors.provisioner import SELECTED_NODE
from tests.actors.scheduler.candidates import pinned_to
from tests.simulation.everywhere import Everywhere
from tests.simulation.limits import Excuse
from tests.simulation.losses import Losses
from tests.simulation.plan import Plan
from tests.simulation.room import has_room, has_room_in_any_order
from tests.simulation.truth import (
    CLAIMS,
    HOSTS,
    LONGHORN_NODES,
    PERSISTENT_VOLUMES,
    PODS,
    REPLICAS,
    SCHEDULES,
    Truth,
)


class Calm:
    """Looks at the cluster as it is now.

    Attributes:
        unplaced: Names the pods without a node that fit on one.
    """

    def __init__(self, truth: Truth, everywhere: Everywhere, losses: Losses, plan: Plan) -> None:
        self._truth = truth
        self._everywhere = everywhere
        self._losses = losses
        self._plan = plan
        self.unplaced = truth.once(self._unplaced, PODS, CLAIMS, PERSISTENT_VOLUMES, HOSTS)

    def _unplaced(self) -> list[str]:
        return [
            f"{pod['metadata']['name']} fits on {', '.join(nodes)}"
            for pod in self._truth.pods()
            if not pod["spec"].get("nodeName")
            for nodes in ([*self._nodes_for(pod)],)
            if nodes
        ]

    def not_running(self) -> dict[str, Excuse | None]:
        """Describe the pods that have a node and do not run, with an excuse if there is one."""
        return {
            f"{pod['metadata']['name']} on {pod['spec']['nodeName']}": self._why_not_running(pod)
            for pod in self._bound()
            if pod["status"].get("phase") == "Pending"
        }

    def not_local(self) -> dict[str, Excuse | None]:
        """Describe volumes of running pods without the local replica that they are to have."""
        found: dict[str, Excuse | None] = {}
        for pod in self._bound():
            node = pod["spec"]["nodeName"]
            if pod["status"].get("phase") == "Pending":
                continue
            for volume in self._truth.volumes(pod):
                at = {each["spec"]["nodeID"] for each in self._truth.placed_of([volume.name])}
                if volume.needs_local_replica and node not in at:
                    name = f"{volume.name} of {pod['metadata']['name']} on {node}"
                    found[name] = self._why_not_local(volume.name, node)
        return found

    def beyond_limits(self) -> list[str]:
        """Describe the disks that are beyond their limit."""
        nodes, replicas = self._truth.all(LONGHORN_NODES), self._truth.all(REPLICAS)
        return [str(each) for each in overcommitted(nodes, replicas, self._truth.settings())]

    def not_granted(self) -> list[str]:
        """Describe replicas without room on their disks, and what is asked for without need."""
        if not self._plan.disk_schedules:
            return []
        return unsettled(self._truth.all(REPLICAS), self._truth.all(SCHEDULES))

    def _bound(self) -> list[Object]:
        return [
            pod
            for pod in self._truth.pods()
            if pod["spec"].get("nodeName") and not pod["metadata"].get("deletionTimestamp")
        ]

    def _why_not_running(self, pod: Object) -> Excuse | None:
        if not self._plan.keeps_holds:
            return Excuse.RAN_OUT
        strict = [v for v in self._truth.volumes(pod) if v.locality is Locality.STRICT_LOCAL]
        excuses = self._losses.excuses
        if any(excuses.get(volume.name) is Excuse.FORMER for volume in strict):
            return Excuse.FORMER  # however much room there is, the volume is tied to another node
        if self._everywhere.may_run(pod):
            return None
        for volume in strict:
            if volume.name in excuses:
                return excuses[volume.name]
        return Excuse.LEFT_NONE

    def _why_not_local(self, volume: str, node: str) -> Excuse | None:
        if not self._plan.keeps_holds:
            return Excuse.RAN_OUT
        want = self._everywhere.due_on(volume, node)
        if want is None:
            return Excuse.NOT_DUE
        longhorn_node = self._truth.longhorn_node(node)
        assert longhorn_node is not None
        here = {status["diskUUID"] for _, _, status in disks(longhorn_node)}
        if want.places is not None and want.places.isdisjoint(here):
            return Excuse.MOVED
        settings = self._truth.settings()
        if has_room(longhorn_node, self._truth.placed(), [want], settings, only_usable=True):
            return None
        return self._losses.why(volume, node)

    def _nodes_for(self, pod: Object) -> Iterator[str]:
        """Name the nodes on which a pod fits, by what is there now."""
        claims = self._truth.claims(pod)
        if len(claims) < len(pod["spec"]["volumes"]) or any(
            claim["metadata"].get("deletionTimestamp") for claim in claims
        ):
            return
        for host in self._truth.all(HOSTS):
            name = host["metadata"]["name"]
            allowed = all(self._may_use(claim, name) for claim in claims)
            if allowed and not host["spec"].get("unschedulable") and self._fits(pod, name):
                yield name

    def _may_use(self, claim: Object, node: str) -> bool:
        """Say whether a claim may be used on a node."""
        selected = (claim["metadata"].get("annotations") or {}).get(SELECTED_NODE, node)
        if not claim["spec"].get("volumeName") and selected != node:
            return False
        bound_to = self._truth.get(PERSISTENT_VOLUMES, claim["spec"].get("volumeName", ""))
        if bound_to is not None and node not in (pinned_to(bound_to) or (node,)):
            return False
        volume = self._truth.volume(claim)
        at = {each["spec"]["nodeID"] for each in self._truth.placed_of([volume.name])}
        is_strict = volume.locality is Locality.STRICT_LOCAL
        return not (is_strict and at) or node in at

    def _fits(self, pod: Object, name: str) -> bool:
        """Say whether a pod fits on a node, wherever Longhorn places replicas that may go anywhere.

        It places those of locality disabled as soon as the volumes exist, and the local ones later.
        A strict-local volume must find room in whatever order all of them come.
        """
        placed = self._truth.placed()
        here = self._truth.volumes_on(name)
        own = self._truth.wants(pod)
        wants = {want.volume: want for want in own}
        for other in self._truth.pods():
            if other["spec"].get("nodeName") == name:
                wants |= {want.volume: want for want in self._truth.wants(other)}
        missing = [want for want in wants.values() if want.volume not in here]
        if own and not any(want.volume not in here for want in own):
            return True
        node = self._truth.longhorn_node(name)
        assert node is not None
        settings = self._truth.settings()
        if not has_room(node, placed, missing, settings, only_usable=True):
            return False
        if own:
            missing += self._everywhere.may_come(pod, name)
            if not has_room(node, placed, missing, settings, only_usable=True):
                return False
        is_strict = any(v.locality is Locality.STRICT_LOCAL for v in self._truth.volumes(pod))
        if is_strict:
            missing += self._everywhere.comes_beside(pod, name)
            if not has_room_in_any_order(node, placed, missing, settings):
                return False
        return self._everywhere.may_start(pod)
