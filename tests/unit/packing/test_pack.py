"""The verdict: against other ways to find it, and what must hold for any input."""

from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from benchmarks.instances import ADVERSARIAL, draw
from packing import (
    DEFAULT_STEP_LIMIT,
    Bin,
    Infeasible,
    Item,
    Outcome,
    Packed,
    Undecided,
    is_stranded,
    pack,
    prepare,
)
from packing.search import search
from tests.unit.packing.oracles import (
    ENOUGH_STEPS,
    Instance,
    is_feasible_by_cp_sat,
    is_feasible_by_trying_all,
    is_valid,
    medium_instance,
    planted_instance,
    repeated_instance,
    small_instance,
)

ONE_KIND = frozenset({0})
HUGE = 10**40


@st.composite
def instances(draw_: st.DrawFn) -> Instance:
    """Up to 9 items and 6 bins; rooms are about what is asked for, or negative."""
    sizes = st.integers(0, 12)
    kinds = st.frozensets(st.integers(0, 2), min_size=1)
    items = draw_(st.lists(st.tuples(sizes, sizes, kinds), max_size=9))
    rooms = st.integers(-2, 30)
    bins = draw_(st.lists(st.tuples(st.integers(0, 2), rooms, rooms), max_size=6))
    return (
        [Item(f"item-{number}", *item) for number, item in enumerate(items)],
        [Bin(f"bin-{number}", *bin_) for number, bin_ in enumerate(bins)],
    )


def solve(
    items: Sequence[Item], bins: Sequence[Bin], *, by: Callable[..., Outcome] = pack
) -> Outcome:
    """Pack with enough steps for a proof, which is checked if it is a packing."""
    outcome = by(items, bins, step_limit=ENOUGH_STEPS)
    assert not isinstance(outcome, Undecided)
    if isinstance(outcome, Packed):
        assert is_valid(outcome.assignment, items, bins)
    return outcome


def fits(items: Sequence[Item], bins: Sequence[Bin]) -> bool:
    return isinstance(solve(items, bins), Packed)


@pytest.mark.parametrize(
    ("family", "is_feasible", "count"),
    [
        pytest.param(small_instance, is_feasible_by_trying_all, 24_000, id="trying-all-small"),
        pytest.param(medium_instance, is_feasible_by_cp_sat, 400, id="cp-sat-medium"),
        pytest.param(planted_instance, is_feasible_by_cp_sat, 400, id="cp-sat-planted"),
        pytest.param(repeated_instance, is_feasible_by_cp_sat, 300, id="cp-sat-repeated"),
    ],
)
def test_verdicts_agree_with_the_oracle(family, is_feasible, count):
    """Both with and without the quick ways, which leave little to the search."""
    random, packed, searched = Random(1), Counter[bool](), Counter[bool]()
    for _ in range(count):
        items, bins = family(random)
        expected = is_feasible(items, bins)
        assert isinstance(solve(items, bins), Packed) is expected, (items, bins)
        packed[expected] += 1

        usable = [bin_ for bin_ in bins if min(bin_.logical_bytes, bin_.physical_bytes) >= 0]
        if items and not any(is_stranded(item, usable) for item in items):
            assert isinstance(solve(items, usable, by=search), Packed) is expected, (items, bins)
            searched[expected] += 1

    assert min(packed.values()) > count // 5
    assert min(searched.values()) > count // 15


@pytest.mark.parametrize("family", sorted(ADVERSARIAL))
def test_nearly_all_adversarial_instances_are_decided_within_the_limit(family):
    undecided = 0
    for items, bins in draw(ADVERSARIAL[family], 25, seed=3):
        outcome = pack(items, bins, step_limit=DEFAULT_STEP_LIMIT)

        assert outcome.steps <= DEFAULT_STEP_LIMIT + 50  # what has begun goes on
        assert not isinstance(outcome, Packed) or is_valid(outcome.assignment, items, bins)
        undecided += isinstance(outcome, Undecided)

    assert undecided <= (3 if family == "nearly_full" else 0)


def test_perfect_packings_are_found():
    for items, bins in draw(ADVERSARIAL["exact"], 100, seed=4):
        assert isinstance(solve(items, bins), Packed)


@given(instances(), st.randoms(use_true_random=False))
def test_order_of_items_and_bins_does_not_change_the_verdict(instance, random):
    items, bins = instance
    shuffled = random.sample(items, len(items)), random.sample(bins, len(bins))

    assert fits(*shuffled) is fits(items, bins)


@given(instances(), st.data())
def test_more_room_fewer_items_and_more_kinds_never_hurt(instance, data):
    items, bins = instance
    extra = st.integers(0, 10)
    larger = [
        replace(
            bin_,
            logical_bytes=bin_.logical_bytes + data.draw(extra),
            physical_bytes=bin_.physical_bytes + data.draw(extra),
        )
        for bin_ in bins
    ]
    freer = [replace(item, kinds=item.kinds | {0}) for item in items]

    if fits(items, bins):
        assert fits(items, larger)
        assert fits(freer, bins)
        assert fits(items[1:], bins)


def test_items_are_prepared_by_size_and_equal_ones_stay_in_order():
    sizes = {"a": (1, 9), "b": (2, 1), "c": (2, 5), "d": (1, 9)}

    prepared = prepare([Item(name, *size, ONE_KIND) for name, size in sizes.items()])

    assert [item.id for item in prepared.items] == ["c", "b", "a", "d"]


@given(instances())
def test_the_same_input_gives_the_same_outcome_prepared_or_not(instance):
    items, bins = instance

    outcome = solve(items, bins)

    assert solve(items, bins) == outcome
    assert pack(prepare(items), bins, step_limit=ENOUGH_STEPS) == outcome


@given(instances(), st.integers(0, 4))
def test_the_step_limit_bounds_the_steps_and_never_changes_a_proof(instance, step_limit):
    items, bins = instance
    outcome = pack(items, bins, step_limit=step_limit)

    assert outcome.steps <= step_limit
    assert isinstance(outcome, Undecided) or outcome == solve(items, bins)


T = TypeVar("T", Item, Bin)


def scaled(some: Sequence[T], factor: int) -> list[T]:
    return [
        replace(
            each,
            logical_bytes=each.logical_bytes * factor,
            physical_bytes=each.physical_bytes * factor,
        )
        for each in some
    ]


@given(instances(), st.integers(1, HUGE))
def test_scaling_by_a_huge_factor_does_not_change_the_verdict(instance, factor):
    items, bins = instance

    assert fits(scaled(items, factor), scaled(bins, factor)) is fits(items, bins)


def turned(some: Sequence[T]) -> list[T]:
    return [
        replace(each, logical_bytes=each.physical_bytes, physical_bytes=each.logical_bytes)
        for each in some
    ]


@given(instances())
def test_dimensions_are_alike(instance):
    items, bins = instance

    assert fits(turned(items), turned(bins)) is fits(items, bins)


@pytest.mark.parametrize(
    ("sizes", "rooms", "expected"),
    [
        pytest.param([], [], Packed, id="nothing-into-nothing"),
        pytest.param([], [(-1, -1)], Packed, id="nothing-into-a-negative-bin"),
        pytest.param([(0, 0)], [], Infeasible, id="no-bins"),
        pytest.param([(0, 0)], [(0, 0)], Packed, id="zero-bytes-into-an-empty-room"),
        pytest.param([(0, 0)], [(-1, 5)], Infeasible, id="zero-bytes-into-negative-logical"),
        pytest.param([(0, 0)], [(5, -1)], Infeasible, id="zero-bytes-into-negative-physical"),
        pytest.param(
            [(HUGE, 1), (HUGE + 1, 1)], [(HUGE, 1), (HUGE + 1, 1)], Packed, id="huge-and-exact"
        ),
        pytest.param(
            [(HUGE + 1, 1), (HUGE + 1, 1)],
            [(HUGE, 1), (HUGE + 2, 1)],
            Infeasible,
            id="huge-and-one-byte-off",
        ),
    ],
)
def test_verdicts(sizes, rooms, expected):
    items = [Item(f"item-{n}", asked, held, ONE_KIND) for n, (asked, held) in enumerate(sizes)]
    bins = [Bin(f"bin-{number}", 0, *room) for number, room in enumerate(rooms)]

    assert isinstance(solve(items, bins), expected)


@pytest.mark.parametrize("item_kinds", [frozenset(), frozenset({1})], ids=["none", "another"])
def test_an_item_without_a_bin_of_its_kinds_does_not_fit(item_kinds):
    item = Item("item", 1, 1, item_kinds)

    assert pack([item], [Bin("bin", 0, 9, 9)], step_limit=0) == Infeasible()


def test_a_chain_of_kinds_is_followed():
    """Each item may use two neighbouring bins, the last one only the first: all must shift."""
    count = 20
    items = [Item(f"item-{n}", 10, 10, frozenset({n, n + 1})) for n in range(count)]
    items.append(Item("last", 10, 10, ONE_KIND))
    bins = [Bin(f"bin-{n}", n, 10, 10) for n in range(count + 1)]

    outcome = solve(items, bins)

    assert isinstance(outcome, Packed)
    assert outcome.assignment["item-0"] == "bin-1"


@pytest.mark.parametrize("step_limit", [0, DEFAULT_STEP_LIMIT])
@pytest.mark.parametrize("spare_percent", [-1, 0, 3, 20])
def test_two_thousand_items_on_three_hundred_bins_end_within_the_limit(spare_percent, step_limit):
    random = Random(5)
    items = [
        Item(f"item-{n}", random.randint(1, 10**12), random.randint(1, 10**12), ONE_KIND)
        for n in range(2000)
    ]
    room = sum(item.logical_bytes for item in items) * (100 + spare_percent) // 100 // 300
    bins = [Bin(f"bin-{n}", 0, room, room) for n in range(300)]

    outcome = pack(items, bins, step_limit=step_limit)

    assert outcome.steps <= step_limit
    assert not isinstance(outcome, Packed) or is_valid(outcome.assignment, items, bins)


def test_many_equal_items_that_best_fit_misplaces_get_a_verdict():
    """The search goes as deep as there are items."""
    items = [Item(f"item-{n}", 3, 2, ONE_KIND) for n in range(1500)]
    items += [Item(f"other-{n}", 2, 3, ONE_KIND) for n in range(1500)]
    bins = [Bin(f"bin-{n}", 0, 5, 5) for n in range(1500)]

    outcome = solve(items, bins)

    assert isinstance(outcome, Packed)
