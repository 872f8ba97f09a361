"""Proofs that items do not fit: each kind of proof, and that none is ever wrong."""

from random import Random

import pytest

from packing import Bin, Item
from packing.bounds import Rooms, confined_kinds, is_overfull, is_stranded
from tests.unit.packing.oracles import is_feasible_by_trying_all, small_instance

ONE_KIND = frozenset({0})


def items_of(*sizes: tuple[int, int], kinds: frozenset[int] = ONE_KIND) -> list[Item]:
    return [Item(f"{sorted(kinds)}-{n}", *size, kinds) for n, size in enumerate(sizes)]


def bins_of(*rooms: tuple[int, int], kind: int = 0) -> list[Bin]:
    return [Bin(f"{kind}-{n}", kind, *room) for n, room in enumerate(rooms)]


@pytest.mark.parametrize(
    ("bin_", "expected"),
    [
        pytest.param(Bin("x", 0, 5, 5), False, id="fits-exactly"),
        pytest.param(Bin("x", 0, 4, 9), True, id="too-little-logical"),
        pytest.param(Bin("x", 0, 9, 4), True, id="too-little-physical"),
        pytest.param(Bin("x", 1, 9, 9), True, id="another-kind"),
    ],
)
def test_is_stranded(bin_, expected):
    assert is_stranded(Item("a", 5, 5, ONE_KIND), [bin_]) is expected


@pytest.mark.parametrize(
    ("items", "bins", "expected"),
    [
        pytest.param(items_of((3, 0), (3, 0)), bins_of((3, 0), (3, 0)), False, id="exactly-full"),
        pytest.param(items_of((3, 0), (4, 0)), bins_of((3, 0), (3, 0)), True, id="logical-sum"),
        pytest.param(items_of((0, 3), (0, 4)), bins_of((9, 3), (9, 3)), True, id="physical-sum"),
        pytest.param(items_of(*[(4, 0)] * 3), bins_of((7, 0), (7, 0)), True, id="logical-count"),
        pytest.param(items_of(*[(0, 4)] * 3), bins_of((9, 7), (9, 7)), True, id="physical-count"),
        pytest.param(items_of((8, 0), (4, 0)), bins_of((11, 0), (3, 0)), True, id="twice-a-size"),
        pytest.param(
            items_of((5, 0), (5, 0), kinds=frozenset({1})),
            [*bins_of((9, 0)), *bins_of((9, 0), kind=1)],
            True,
            id="sum-of-a-kind",
        ),
        pytest.param(
            [
                *items_of((5, 0), kinds=frozenset({0, 1})),
                *items_of((5, 0), kinds=frozenset({0})),
                *items_of((5, 0), kinds=frozenset({1})),
            ],
            [*bins_of((6, 0)), *bins_of((6, 0), kind=1), *bins_of((99, 0), kind=2)],
            True,
            id="sum-of-a-union-of-kinds",
        ),
    ],
)
def test_is_overfull(items, bins, expected):
    assert is_overfull(items, bins) is expected


def test_what_fits_is_never_called_overfull():
    random = Random(9)
    fitting = 0
    for _ in range(6_000):
        items, bins = small_instance(random)
        bins = [bin_ for bin_ in bins if min(bin_.logical_bytes, bin_.physical_bytes) >= 0]
        if is_feasible_by_trying_all(items, bins):
            fitting += 1
            assert not is_overfull(items, bins)

    assert fitting > 2_000


def test_kinds_no_bin_has_make_no_difference():
    items = [Item("a", 1, 1, frozenset({0, 7})), Item("b", 1, 1, frozenset({0, 8}))]

    assert confined_kinds(items, bins_of((1, 1))) == [frozenset({0, 7, 8})]


def test_many_sets_of_kinds_are_cut_short():
    items = [Item(f"item-{n}", 1, 1, frozenset({n, n + 1})) for n in range(50)]
    bins = [Bin(f"bin-{n}", n, 1, 1) for n in range(51)]

    chosen = confined_kinds(items, bins)

    assert len(chosen) == 16
    assert chosen[0] == frozenset(range(51))


def test_a_room_counts_only_what_can_fill_it():
    rooms = Rooms([(5, 1), (4, 9), (3, 3)], [1, 1, 2], bin_count=1)

    room = rooms.room(0b111, 0b111, 10, 10)

    assert (room.logical_bytes, room.physical_bytes, room.most) == (9, 10, 2)


def test_types_that_are_used_up_fill_nothing():
    rooms = Rooms([(5, 1), (4, 9), (3, 3)], [1, 1, 2], bin_count=1)

    assert rooms.room(0b100, 0b111, 10, 10)[:3] == (6, 6, 2)


def test_a_type_that_fills_a_room_alone_is_named():
    rooms = Rooms([(5, 3), (4, 3), (3, 1)], [1, 1, 1], bin_count=1)

    assert rooms.room(0b111, 0b111, 6, 3).filler == 0


def test_rooms_for_too_many_types_are_taken_as_full():
    sizes = [(size, 1) for size in range(1, 100)]
    everything = (1 << len(sizes)) - 1

    rooms = Rooms(sizes, [1] * len(sizes), bin_count=1)

    assert rooms.room(everything, everything, 50, 50) == (50, 50, 99, -1)
    assert rooms.room(0b111, everything, 50, 2) == (50, 2, 2, -1)
