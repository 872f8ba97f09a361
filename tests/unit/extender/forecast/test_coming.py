"""What comes of held volumes when Longhorn puts other replicas where they were to go."""

from extender import Ended, Extender, PodStatus, Timeouts
from extender.verdicts.rejections import LocalRoomAtRisk
from extender.view import ClusterView
from longhorn import NodeName
from tests.builders import (
    GENEROUS,
    GIB,
    bound,
    node,
    pod,
    replica,
    setting,
    view_of,
    volume,
)

TIMEOUTS = Timeouts(choosing_seconds=5.0, placing_seconds=5.0)
NODES = [NodeName(f"node-{number}") for number in (1, 2, 3)]
VOLUMES = [volume(name, size_bytes=100 * GIB) for name in "abc"]


def view(*more: object) -> ClusterView:
    """Build three nodes of 100 GiB, and volumes of 100 GiB that pods use."""
    every_byte = setting("storage-minimal-available-percentage", "0")
    return view_of(*map(node, NODES), every_byte, *bound(*VOLUMES), *more)  # type: ignore[arg-type]


def choose(extender: Extender, name: str, on: NodeName, seen: ClusterView) -> None:
    """Ask about a pod, which then gets a node."""
    asked = pod(name, name=name)
    found = extender.filter(asked, NODES, seen)
    assert on in found.accepted
    extender.hold(found, PodStatus(), seen, timeouts=TIMEOUTS, now=0.0)
    ended: tuple[Ended, ...] = extender.ledger.see_pod(
        asked.uid, PodStatus(version=2, node=on), seen.claims, 0.0
    ).ended
    assert not ended


def test_a_volume_whose_room_was_taken_counts_elsewhere_once() -> None:
    extender = Extender(GENEROUS)
    choose(extender, "a", NODES[0], view())
    taken = view(replica("other", of="other", on="node-1", size_bytes=100 * GIB))

    found = extender.filter(pod("b", name="b"), NODES, taken)

    # It goes to one of the other two nodes, and nobody can say to which.
    assert found.forecast == {"sure": 1, "open": 0, "nowhere": 0}
    assert [found.rejected[name] for name in NODES[1:]] == [LocalRoomAtRisk()] * 2


def test_as_long_as_it_has_its_room_it_does_not() -> None:
    extender = Extender(GENEROUS)
    choose(extender, "a", NODES[0], view())
    choose(extender, "b", NODES[1], view())

    assert extender.filter(pod("c", name="c"), NODES, view()).accepted == [NODES[2]]
