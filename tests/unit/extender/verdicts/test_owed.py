"""The last room is not given away that is owed to volumes which were counted before."""

from collections.abc import Sequence
from itertools import permutations

import pytest
from msgspec.structs import replace

from extender import Answer, ClusterView, Extender, ViewBuilder
from extender.demand import NOBODY
from extender.holds import Asked, Timeouts
from extender.kubernetes import GroupKey, PodStatus
from extender.verdicts.rejections import Rejection
from extender.verdicts.shortages import NoRoomAnywhere, PendingReplicas
from longhorn import NodeName
from tests.builders import (
    GENEROUS,
    GIB,
    bound,
    disk,
    node,
    nodes_of,
    pod,
    replica,
    replicas_of,
    setting,
    view_of,
    volumes_of,
)

TIMEOUTS = Timeouts(choosing_seconds=5.0, placing_seconds=5.0)
EVERY_BYTE = setting("storage-minimal-available-percentage", "0")
NAMES = [NodeName("node-1"), NodeName("node-2")]


def view(nodes: str, volumes: str = "a:100 b:100 c:100", taken: str = "") -> ClusterView:
    """Return nodes and volumes that pods use; others have taken some room."""
    records = *nodes_of(nodes), *bound(*volumes_of(volumes)), *replicas_of(taken)
    return view_of(*records, EVERY_BYTE)


def ask(
    extender: Extender, name: str, seen: ClusterView, names: Sequence[NodeName] | None = None
) -> Answer:
    return extender.filter(pod(name, name=name), names or [*seen.spaces], seen)


def hold(extender: Extender, name: str, seen: ClusterView) -> None:
    """Ask about a pod, which may go to several nodes then."""
    extender.hold(ask(extender, name, seen), Asked(), timeouts=TIMEOUTS, now=0.0)


def see_chosen(extender: Extender, name: str, on: NodeName, seen: ClusterView) -> None:
    held = extender.ledger.get(pod(name, name=name).uid)
    assert held is not None
    assert on in held.nodes
    status = PodStatus(version=2, node=on)
    extender.ledger.see_pod(held.pod.uid, status, seen.claims, 0.0)


@pytest.mark.parametrize(
    ("nodes", "volumes", "accepted"),
    [
        # Two pods are on a node that has room for one of them.
        pytest.param("1:200 2:100", "a:100 b:100 c:100", [], id="room-elsewhere-is-owed"),
        pytest.param("1:200 2:200", "a:100 b:100 c:100", NAMES[1:], id="room-left-beside-it"),
        # Two of 75 GiB would fit node-2, and none does beside the 100 GiB that it is to take.
        pytest.param("1:200 2:150", "a:100 b:100 c:75", [], id="room-for-one-fewer"),
    ],
)
def test_room_that_is_owed_is_not_given(nodes, volumes, accepted):
    extender, before = Extender(GENEROUS), view(nodes, volumes)
    for name in "ab":
        hold(extender, name, before)
        see_chosen(extender, name, NAMES[0], before)

    answer = ask(extender, "c", view(nodes, volumes, taken="other:100@1"))

    assert answer.accepted == accepted
    assert accepted or answer.rejected[NAMES[1]] == PendingReplicas()


def in_flight(
    nodes: str, *, placed: bool = False, on: Sequence[int] = (1, 2, 3), open_: int = 0
) -> Answer:
    """Ask about a pod while the replicas of three others are placed, on nodes of one disk each.

    Its volume and theirs have three replicas of 100 GiB, one of them on the pod's node: *on* those.
    The last *open_* of them have no node yet when the others get theirs.
    """
    volumes = "a:100*3 b:100*3 c:100*3 d:100*3"
    extender, seen = Extender(GENEROUS), view(nodes, volumes)
    for name in "abc":
        hold(extender, name, seen)
        ask(extender, "d", seen)
    for name, number in zip("abc"[: 3 - open_], on, strict=False):
        see_chosen(extender, name, NodeName(f"node-{number}"), seen)
        ask(extender, "d", seen)
    there = "a:100@1 a:100@2 a:100@3 b:100@2 b:100@3 b:100@4 c:100@3 c:100@4 c:100@1"
    return ask(extender, "d", view(nodes, volumes, taken=there) if placed else seen)


FOUR = "1:300 2:300 3:300 4:300"


@pytest.mark.parametrize("open_", range(4))
@pytest.mark.parametrize("on", [*permutations(range(1, 5), 3)])
def test_room_that_is_the_last_is_not_given_while_others_may_come_to_the_pods_node(on, open_):
    assert in_flight(FOUR, on=on, open_=open_).accepted == []
    assert in_flight(FOUR, placed=True).accepted == ["node-1", "node-2", "node-4"]


@pytest.mark.parametrize(
    ("nodes", "on"),
    [
        pytest.param(f"{FOUR} 5:200", (1, 2, 3), id="room-stays-free-as-much-as-comes-to-a-node"),
        pytest.param("1:400 2:400 3:400", (1, 2, 3), id="volumes-come-to-every-node"),
        pytest.param("1:400 2:400", (1, 2, 1), id="replica-of-each-volume-has-no-node"),
    ],
)
def test_room_is_given_where_others_cannot_take_it(nodes, on):
    assert in_flight(nodes, on=on).accepted


def test_replicas_left_out_for_a_pod_are_in_flight_for_the_next():
    extender, seen = Extender(GENEROUS), view(FOUR, "a:100*3")
    hold(extender, "a", seen)
    see_chosen(extender, "a", NAMES[0], seen)

    in_flight = []
    for _ in range(2):
        in_flight.append(extender.situation(NOBODY, seen).book.forecast.total_bytes)
        ask(extender, "a", seen, NAMES)

    assert in_flight == [200 * GIB] * 2


def test_members_of_a_group_do_not_wait_for_each_other():
    """None of them is bound before all have a node, so no replica of theirs is placed."""
    extender, seen = Extender(GENEROUS), view(FOUR, "a:100*3 b:100*3 c:100*3 d:100*3")

    for name, at in zip("abcd", seen.spaces, strict=True):  # of each one node is chosen by us
        answer = ask(extender, name, seen, [at])

        assert answer.accepted == [at]
        asked = Asked(group=GroupKey("default/of-four"))
        extender.hold(answer, asked, timeouts=TIMEOUTS, now=0.0)


@pytest.mark.parametrize(
    ("nodes", "due", "own", "accepted"),
    [
        # Of 60 GiB two replicas find room, and one of another volume would but for these: owed is
        # as much as that volume is large.
        pytest.param("1:100 2:110", "x:60*2~ y:60~", "c:10", NAMES, id="room-enough-is-left"),
        pytest.param("1:100 2:80", "x:60*2~ y:60~", "c:10", [], id="room-for-six-is-owed"),
        pytest.param("1:100 2:80", "x:60*2~ y:101~", "c:10", NAMES, id="volume-no-node-takes"),
        # The second replica goes to the other zone, whose node is too small for it.
        pytest.param("1:100@a 2:20@b", "x:60*2~", "c:40", NAMES[:1], id="zone-without-room"),
    ],
)
def test_volume_without_room_is_owed_some(nodes, due, own, accepted):
    seen = view_of(*nodes_of(nodes), EVERY_BYTE, *volumes_of(due), *bound(*volumes_of(own)))

    assert ask(Extender(GENEROUS), "c", seen).accepted == accepted


class Filling:
    """Nodes of some disks, and a pod with a volume of 100 GiB of locality `disabled`."""

    def __init__(self, nodes: Sequence[Sequence[int]]) -> None:
        self.extender, self.builder = Extender(GENEROUS), ViewBuilder()
        self.nodes = [
            node(
                f"node-{number}",
                *(disk(f"disk-{n}", maximum_bytes=gib * GIB) for n, gib in enumerate(sizes)),
            )
            for number, sizes in enumerate(nodes)
        ]
        for each in (*self.nodes, EVERY_BYTE, *bound(*volumes_of("vol:100~"))):
            self.builder.apply(None, each)
        self.builder.settle()

    def place(self, *gib: Sequence[int]) -> None:
        """Place replicas of these sizes on the first disk of each node, whatever fits there."""
        for number, sizes in enumerate(gib):
            for n, size in enumerate(sizes):
                of, on = f"other-{number}-{n}", f"node-{number}"
                placed = replica(f"{of}-r", of=of, on=on, disk="disk-0", size_bytes=size * GIB)
                self.builder.apply(None, placed)
        self.builder.settle()

    def why(self) -> Rejection | None:
        names = [each.name for each in self.nodes]
        answer = self.extender.filter(pod("vol"), names, self.builder.view)
        return next(iter(answer.rejected.values()), None) if not answer.accepted else None


ONLY_BESIDE_FULL = NoRoomAnywhere(size_bytes=100 * GIB, beyond_limits=True)


FILLED: dict[str, tuple[list[list[int]], list[list[int]], Rejection | None]] = {
    # The disks of each node, and the replicas that are placed on its first one.
    "room-all-owed": ([[300]] * 4, [[100], [100] * 3, [100] * 4, [100] * 4], ONLY_BESIDE_FULL),
    "room-for-one-more": ([[300]] * 4, [[100], [100] * 2, [100] * 4, [100] * 4], None),
    "room-in-another-gap": ([[150], [190], [60]], [[], [60] * 4], None),
    "room-in-no-other-gap": ([[150], [190], [40]], [[], [60] * 4], ONLY_BESIDE_FULL),
    "room-beside-it-on-the-same-disk": ([[170], [190], [40]], [[], [60] * 4], None),
    "room-for-what-is-too-much-on-no-disk": ([[150], [390]], [[], [200] * 2], None),
    "room-on-two-disks-of-one-node": ([[150, 150], [190]], [[], [60] * 4], None),
    "replicas-several-too-many": ([[150], [100]], [[], [60, 90, 120]], ONLY_BESIDE_FULL),
}


@pytest.mark.parametrize("name", FILLED)
def test_room_is_none_that_shows_as_other_disks_were_filled_beyond_their_limits(name):
    nodes, placed, expected = FILLED[name]
    filling = Filling(nodes)
    assert filling.why() is None

    filling.place(*placed)

    assert filling.why() == expected


def test_disks_whose_limit_fell_keep_no_pod_from_room():
    filling = Filling([[300]] * 4)
    filling.place([100], [100] * 3, [100] * 3, [100] * 3)
    assert filling.why() is None

    for old in filling.nodes[1:]:
        [large] = old.disks
        new = replace(old, disks=(replace(large, reserved_bytes=200 * GIB),))
        filling.builder.apply(old, new)
    filling.builder.settle()

    assert filling.why() is None
