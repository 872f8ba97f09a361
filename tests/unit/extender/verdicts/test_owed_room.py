"""The last room is not given away that is owed to volumes which were counted before."""

from extender import Answer, ClusterView, Extender
from extender.holds import Asked, Timeouts
from extender.kubernetes import PodStatus
from extender.verdicts.shortages import PendingReplicas
from longhorn import NodeName, Volume
from tests.builders import GENEROUS, GIB, bound, disk, node, pod, replica, setting, view_of, volume

TIMEOUTS = Timeouts(choosing_seconds=5.0, placing_seconds=5.0)
EVERY_BYTE = setting("storage-minimal-available-percentage", "0")
NAMES = [NodeName("node-1"), NodeName("node-2")]


def view(*gib: int, taken_gib: int = 0) -> ClusterView:
    """Return nodes of one disk each, and volumes of 100 GiB; others take something of node-1."""
    disks = [disk(maximum_bytes=size * GIB) for size in gib]
    nodes = [node(name, each) for name, each in zip(NAMES, disks, strict=True)]
    other = replica("other-r-1", of="other", on=NAMES[0], size_bytes=taken_gib * GIB)
    volumes = [sized(name) for name in "abc"]
    return view_of(*nodes, EVERY_BYTE, *bound(*volumes), *([other] if taken_gib else []))


def sized(name: str) -> Volume:
    return volume(name, size_bytes=100 * GIB)


def ask(extender: Extender, name: str, seen: ClusterView) -> Answer:
    return extender.filter(pod(name, name=name), NAMES, seen)


def choose(extender: Extender, name: str, on: NodeName, seen: ClusterView) -> None:
    """Ask about a pod, which then gets a node."""
    found = ask(extender, name, seen)
    assert on in found.accepted
    extender.hold(found, Asked(), timeouts=TIMEOUTS, now=0.0)
    status = PodStatus(version=2, node=on)
    extender.ledger.see_pod(pod(name, name=name).uid, status, seen.claims, 0.0)


def test_two_pods_whose_node_has_room_for_one_are_owed_what_is_free_elsewhere() -> None:
    extender = Extender(GENEROUS)
    for name in "ab":
        choose(extender, name, NAMES[0], view(200, 100))

    answer = ask(extender, "c", view(200, 100, taken_gib=100))

    assert not answer.accepted
    assert answer.rejected[NAMES[1]] == PendingReplicas()


def test_what_is_left_beside_what_is_owed_is_given() -> None:
    extender = Extender(GENEROUS)
    for name in "ab":
        choose(extender, name, NAMES[0], view(200, 200))

    assert ask(extender, "c", view(200, 200, taken_gib=100)).accepted == NAMES[1:]
