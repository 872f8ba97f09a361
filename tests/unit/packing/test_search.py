"""The search alone, for what no verdict shows: its steps, and what it must not confuse.

Its verdicts are compared with those of the oracles in `test_pack`.
"""

from collections.abc import Sequence
from random import Random

import pytest

from packing import Bin, Infeasible, Item, Outcome, Packed, Undecided
from packing.search import search
from tests.unit.packing.oracles import ENOUGH_STEPS, Instance

ONE_KIND = frozenset({0})


def solve(items: Sequence[Item], bins: Sequence[Bin]) -> Outcome:
    return search(items, bins, step_limit=ENOUGH_STEPS)


def three_to_a_bin(*, spare_bytes: int) -> Instance:
    """Six items a little above a quarter or a third of a bin, for two bins of three each."""
    sizes = [26, 35, 39 - spare_bytes, 27, 31, 42 - spare_bytes]
    return (
        [Item(f"item-{n}", size, 0, ONE_KIND) for n, size in enumerate(sizes)],
        [Bin(f"bin-{n}", 0, 100, 0) for n in range(2)],
    )


@pytest.mark.parametrize("spare_bytes", [0, 1, 5])
def test_triples_are_found(spare_bytes):
    assert isinstance(solve(*three_to_a_bin(spare_bytes=spare_bytes)), Packed)


def test_no_step_is_taken_beyond_the_limit():
    items, bins = three_to_a_bin(spare_bytes=0)

    assert search(items, bins, step_limit=3) == Undecided(steps=3)


def test_a_placement_counts_as_more_steps_in_large_problems():
    random = Random(8)
    items = [Item(f"item-{n}", random.randint(40, 60), 0, ONE_KIND) for n in range(1000)]
    items = [
        Item(item.id, item.logical_bytes * 10**6 + n, 0, ONE_KIND) for n, item in enumerate(items)
    ]
    bins = [Bin(f"bin-{n}", 0, 110 * 10**6 + n, 0) for n in range(500)]

    outcome = search(items, bins, step_limit=1000)

    assert isinstance(outcome, Undecided)
    assert outcome.steps > 500


@pytest.mark.parametrize(
    ("sizes", "rooms"),
    [
        pytest.param(
            [(2, 3)] * 3 + [(4, 2)] * 2 + [(2, 5)] * 3 + [(4, 4)],
            [(6, 8), (7, 9)] * 2,
            id="counts-left",
        ),
        pytest.param(
            [(8, 2)] * 3 + [(4, 5)] * 5 + [(1, 6)] + [(6, 7)] * 3,
            [(17, 16), (18, 17)] * 2,
            id="number-of-equal-bins",
        ),
    ],
)
def test_dead_nodes_are_not_confused(sizes, rooms):
    """Each fits, and is called infeasible if that part of what is remembered is dropped."""
    items = [Item(f"item-{n}", asked, held, ONE_KIND) for n, (asked, held) in enumerate(sizes)]
    bins = [Bin(f"bin-{n}", 0, *room) for n, room in enumerate(rooms)]

    assert isinstance(solve(items, bins), Packed)


def test_odd_rooms_hold_no_more_than_even_ones():
    items = [Item(f"item-{n}", 2 * size, 0, ONE_KIND) for n, size in enumerate([5, 6, 7, 8, 9, 11])]
    bins = [Bin(f"bin-{n}", 0, room, 0) for n, room in enumerate([31, 31, 31])]

    assert solve(items, bins) == Infeasible(steps=0)


def test_a_group_of_kinds_without_room_is_seen_at_once():
    """Hall's condition: three items confined to two bins that hold one each."""
    items = [Item(f"item-{n}", 6, 1, frozenset({0, 1})) for n in range(3)]
    items.append(Item("anywhere", 6, 1, frozenset({0, 1, 2})))
    bins = [Bin(f"bin-{n}", n, 11, 9) for n in range(3)] + [Bin("spare", 2, 11, 9)]

    assert solve(items, bins) == Infeasible(steps=0)
