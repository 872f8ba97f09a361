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
from longhorn import Locality, NodeName, Volume
from tests.builders import GENEROUS, GIB, bound, disk, node, pod, replica, setting, view_of, volume

TIMEOUTS = Timeouts(choosing_seconds=5.0, placing_seconds=5.0)
EVERY_BYTE = setting("storage-minimal-available-percentage", "0")
NAMES = [NodeName("node-1"), NodeName("node-2")]


def view(*gib: int, last_gib: int = 100, taken_gib: int = 0) -> ClusterView:
    """Return nodes of one disk each, and volumes of 100 GiB; others take something of node-1."""
    disks = [disk(maximum_bytes=size * GIB) for size in gib]
    nodes = [node(name, each) for name, each in zip(NAMES, disks, strict=True)]
    other = replica("other-r-1", of="other", on=NAMES[0], size_bytes=taken_gib * GIB)
    volumes = [sized("a"), sized("b"), sized("c", last_gib)]
    return view_of(*nodes, EVERY_BYTE, *bound(*volumes), *([other] if taken_gib else []))


def sized(name: str, gib: int = 100) -> Volume:
    return volume(name, size_bytes=gib * GIB)


def ask(
    extender: Extender, name: str, seen: ClusterView, names: Sequence[NodeName] = NAMES
) -> Answer:
    return extender.filter(pod(name, name=name), names, seen)


def choose(extender: Extender, name: str, on: NodeName, seen: ClusterView) -> None:
    """Ask about a pod, which then gets a node."""
    hold(extender, name, seen)
    see_chosen(extender, name, on, seen)


def hold(extender: Extender, name: str, seen: ClusterView) -> None:
    """Ask about a pod, which may go to several nodes then."""
    found = ask(extender, name, seen, [*seen.spaces])
    extender.hold(found, Asked(), timeouts=TIMEOUTS, now=0.0)


def see_chosen(extender: Extender, name: str, on: NodeName, seen: ClusterView) -> None:
    held = extender.ledger.get(pod(name, name=name).uid)
    assert held is not None
    assert on in held.nodes
    status = PodStatus(version=2, node=on)
    extender.ledger.see_pod(held.pod.uid, status, seen.claims, 0.0)


def test_two_pods_whose_node_has_room_for_one_are_owed_what_is_free_elsewhere():
    extender = Extender(GENEROUS)
    for name in "ab":
        choose(extender, name, NAMES[0], view(200, 100))

    answer = ask(extender, "c", view(200, 100, taken_gib=100))

    assert not answer.accepted
    assert answer.rejected[NAMES[1]] == PendingReplicas()


def in_flight(
    *gib: int, placed: bool = False, on: Sequence[int] = (0, 1, 2), open_: int = 0
) -> Answer:
    """Ask about a pod while the replicas of three others are placed, on nodes of one disk each.

    Its volume and theirs have three replicas of 100 GiB, one of them on the pod's node: *on* those.
    The last *open_* of them have no node yet when the others get theirs.
    """
    extender, names = Extender(GENEROUS), [NodeName(f"node-{n}") for n in range(len(gib))]
    nodes = [
        node(name, disk(maximum_bytes=size * GIB)) for name, size in zip(names, gib, strict=True)
    ]
    volumes = bound(*(volume(name, size_bytes=100 * GIB, replicas=3) for name in "abcd"))
    seen = view_of(*nodes, EVERY_BYTE, *volumes)
    for name in "abc":
        hold(extender, name, seen)
        ask(extender, "d", seen, names)
    for name, number in zip("abc"[: 3 - open_], on, strict=False):
        see_chosen(extender, name, names[number], seen)
        ask(extender, "d", seen, names)
    if placed:
        there = [
            replica(f"{of}-{at}", of=of, on=at, size_bytes=100 * GIB)
            for number, of in enumerate("abc")
            for at in (names * 2)[number : number + 3]
        ]
        seen = view_of(*nodes, EVERY_BYTE, *volumes, *there)
    return ask(extender, "d", seen, names)


@pytest.mark.parametrize("open_", range(4))
@pytest.mark.parametrize("on", [*permutations(range(4), 3)])
def test_the_last_room_is_not_given_while_others_may_come_to_the_pods_node(on, open_):
    before = in_flight(300, 300, 300, 300, on=on, open_=open_)
    after = in_flight(300, 300, 300, 300, placed=True)

    assert before.accepted == []
    assert after.accepted == ["node-0", "node-1", "node-3"]


@pytest.mark.parametrize(
    "gib",
    [
        pytest.param((300, 300, 300, 300, 200), id="as much stays free as comes to a node"),
        pytest.param((400, 400, 400), id="each volume comes to every node"),
        pytest.param((400, 400), id="and one replica of each has no node"),
    ],
)
def test_it_is_given_where_they_cannot_take_it(gib):
    assert in_flight(*gib, on=[number % len(gib) for number in range(3)]).accepted


def test_what_is_left_out_for_a_pod_is_in_flight_for_the_next():
    nodes = [node(f"node-{number}", disk(maximum_bytes=300 * GIB)) for number in range(4)]
    volumes = bound(volume("a", size_bytes=100 * GIB, replicas=3))
    extender, seen = Extender(GENEROUS), view_of(*nodes, EVERY_BYTE, *volumes)
    choose(extender, "a", NodeName("node-0"), seen)

    in_flight = []
    for _ in range(2):
        in_flight.append(extender.situation(NOBODY, seen).book.forecast.total_bytes)
        ask(extender, "a", seen)

    assert in_flight == [200 * GIB] * 2


def test_members_of_a_group_do_not_wait_for_each_other():
    """None of them is bound before all have a node, so no replica of theirs is placed."""
    nodes = [node(f"node-{number}", disk(maximum_bytes=300 * GIB)) for number in range(4)]
    volumes = bound(*(volume(name, size_bytes=100 * GIB, replicas=3) for name in "abcd"))
    extender, seen = Extender(GENEROUS), view_of(*nodes, EVERY_BYTE, *volumes)

    for name, at in zip("abcd", seen.spaces, strict=True):  # of each one node is chosen by us
        answer = ask(extender, name, seen, [at])

        assert answer.accepted == [at]
        asked = Asked(group=GroupKey("default/of-four"))
        extender.hold(answer, asked, timeouts=TIMEOUTS, now=0.0)


def test_what_is_left_beside_what_is_owed_is_given():
    extender = Extender(GENEROUS)
    for name in "ab":
        choose(extender, name, NAMES[0], view(200, 200))

    assert ask(extender, "c", view(200, 200, taken_gib=100)).accepted == NAMES[1:]


def test_a_node_of_which_a_part_is_owed_has_room_for_one_fewer():
    extender = Extender(GENEROUS)
    for name in "ab":
        choose(extender, name, NAMES[0], view(200, 150, last_gib=75))

    answer = ask(extender, "c", view(200, 150, last_gib=75, taken_gib=100))

    # Two of 75 GiB would fit node-2, and none does beside the 100 GiB that it is to take.
    assert not answer.accepted
    assert answer.rejected[NAMES[1]] == PendingReplicas()


@pytest.mark.parametrize(
    ("gib", "with_room", "accepted"),
    [
        pytest.param((100, 110), 60, NAMES, id="enough-is-left"),
        pytest.param((100, 80), 60, [], id="six-are-owed-and-six-are-left"),
        pytest.param((100, 80), 101, NAMES, id="no-node-ever-takes-it"),
    ],
)
def test_a_volume_without_room_is_owed_as_many_replicas_as_it_is_large(gib, with_room, accepted):
    """Of 60 GiB two replicas find room, and one of another volume would but for these."""
    nodes = [
        node(name, disk(maximum_bytes=size * GIB)) for name, size in zip(NAMES, gib, strict=True)
    ]
    due = [
        volume("due-1", size_bytes=60 * GIB, locality=Locality.DISABLED, replicas=2),
        volume("due-2", size_bytes=with_room * GIB, locality=Locality.DISABLED, replicas=1),
    ]
    asked = bound(sized("c", 10))

    answer = ask(Extender(GENEROUS), "c", view_of(*nodes, EVERY_BYTE, *due, *asked))

    assert answer.accepted == accepted


def test_what_can_only_be_where_no_room_is_keeps_nobody_waiting():
    """The second replica goes to the other zone, whose node is too small for it."""
    nodes = [node("node-1", disk(maximum_bytes=100 * GIB), zone="a")]
    nodes += [node("node-2", disk(maximum_bytes=20 * GIB), zone="b")]
    due = volume("due", size_bytes=60 * GIB, locality=Locality.DISABLED, replicas=2)

    answer = ask(Extender(GENEROUS), "c", view_of(*nodes, EVERY_BYTE, due, *bound(sized("c", 40))))

    assert answer.accepted == [NAMES[0]]


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
        wanted = volume("vol", size_bytes=100 * GIB, locality=Locality.DISABLED, replicas=1)
        for each in (*self.nodes, EVERY_BYTE, *bound(wanted)):
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


@pytest.mark.parametrize(
    ("nodes", "placed", "expected"),
    [
        pytest.param(
            [[300]] * 4, [[100], [100] * 3, [100] * 4, [100] * 4], ONLY_BESIDE_FULL, id="all-owed"
        ),
        pytest.param(
            [[300]] * 4, [[100], [100] * 2, [100] * 4, [100] * 4], None, id="one-more-is-left"
        ),
        pytest.param([[150], [190], [60]], [[], [60] * 4], None, id="another-gap-takes-them"),
        pytest.param([[150], [190], [40]], [[], [60] * 4], ONLY_BESIDE_FULL, id="none-takes-them"),
        pytest.param([[170], [190], [40]], [[], [60] * 4], None, id="beside-it-on-the-same-disk"),
        pytest.param([[150], [390]], [[], [200] * 2], None, id="no-disk-takes-what-is-too-much"),
        pytest.param([[150, 150], [190]], [[], [60] * 4], None, id="two-disks-of-one-node"),
        pytest.param(
            [[150], [100]], [[], [60, 90, 120]], ONLY_BESIDE_FULL, id="several-are-too-much"
        ),
    ],
)
def test_room_is_none_that_shows_as_other_disks_were_filled_beyond_their_limits(
    nodes, placed, expected
):
    filling = Filling(nodes)
    assert filling.why() is None

    filling.place(*placed)

    assert filling.why() == expected


def test_disks_whose_limit_fell_keep_nobody_from_room():
    filling = Filling([[300]] * 4)
    filling.place([100], [100] * 3, [100] * 3, [100] * 3)
    assert filling.why() is None

    for old in filling.nodes[1:]:
        [large] = old.disks
        new = replace(old, disks=(replace(large, reserved_bytes=200 * GIB),))
        filling.builder.apply(old, new)
    filling.builder.settle()

    assert filling.why() is None
