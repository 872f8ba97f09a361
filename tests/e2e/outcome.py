"""What came of scheduling some pods, and whether their volumes have room where they are. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from packing import Bin, Item, Packed, pack
from tests.actors.api import Object
from tests.actors.longhorn.accounts import by_disk, counted, disks, limit_bytes

_PLENTY = 2**62


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a case."""

    placement: dict[str, int]
    """Pods by node, nodes in order of their names."""
    bound_seconds: float
    """From the wish until the last pod was bound."""
    bound_at: list[float] = []
    """When each pod was bound, in seconds since the wish, the earliest first."""
    attempts: int
    """Scheduling attempts by kube-scheduler's own count, successful or not."""
    filter_calls: int
    longest_filter_seconds: float
    without_room: int
    """Volumes that do not fit where their pod is, however Longhorn placed them."""
    elsewhere: int
    """Volumes that Longhorn did not place where their pod is."""
    overcommitted_disks: int
    """Disks that Longhorn itself has put more on than its limit, from what it had not seen yet."""

    def pods(self, nodes: Sequence[str]) -> str:
        """Write the placement as 4/4/4/4."""
        return "/".join(str(self.placement.get(node, 0)) for node in nodes)


def placement(pods: Iterable[Object]) -> dict[str, int]:
    counts = Counter(pod["spec"].get("nodeName", "") for pod in pods)
    return {node: counts[node] for node in sorted(counts) if node}


def volumes_without_room(
    nodes: Iterable[Object],
    replicas: Iterable[Object],
    wanted: Mapping[str, Mapping[str, int]],
    settings: Mapping[str, str],
) -> int:
    """Count volumes that do not fit on the disks of the node where their pods are.

    What counts is whether there is an arrangement, not the one that Longhorn found: that says
    whether the pod should be there at all.

    Args:
        nodes: Longhorn Nodes. On a node that is not among them nothing fits.
        replicas: All replicas; those of other volumes take their room where they are.
        wanted: By node: bytes of each volume that its pods want there.
        settings: Longhorn's, by name.
    """
    known = {node["metadata"]["name"]: node for node in nodes}
    taken = [*replicas]
    return sum(
        _without_room(known.get(name, {}), taken, volumes, settings)
        for name, volumes in wanted.items()
    )


def _without_room(
    node: Object,
    replicas: Iterable[Object],
    volumes: Mapping[str, int],
    settings: Mapping[str, str],
) -> int:
    """Count the fewest volumes that must be left out.

    The smallest ones are kept: where any *n* volumes fit, each can make way for one of the *n*
    smallest.
    """
    others = by_disk(each for each in replicas if each["spec"]["volumeName"] not in volumes)
    bins = [
        Bin(name, 0, limit_bytes(spec, status, settings) - scheduled, _PLENTY)
        for name, spec, status in disks(node)
        for scheduled in (counted(status, others)["storageScheduled"],)
    ]
    fitting: list[Item] = []
    for volume, size in sorted(volumes.items(), key=lambda each: (each[1], each[0])):
        item = Item(volume, size, 0, frozenset({0}))
        if isinstance(pack([*fitting, item], bins, step_limit=_PLENTY), Packed):
            fitting.append(item)
    return len(volumes) - len(fitting)
