"""Whether an item may find no room because others came first."""

from itertools import permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packing import Bin, Item, Pieces, may_be_blocked

ONE = frozenset([0])


def item(size: int, name: str = "item") -> Item:
    return Item(name, size, 0, ONE)


def bins(*rooms: int) -> list[Bin]:
    return [Bin(f"bin-{n}", 0, room, 0) for n, room in enumerate(rooms)]


@pytest.mark.parametrize(
    ("own", "others", "rooms", "more", "expected"),
    [
        pytest.param(100, [60], [100, 60], 0, True, id="the-small-one-takes-the-large-bin"),
        pytest.param(100, [60], [100, 100], 0, False, id="one-cannot-be-in-two-bins"),
        pytest.param(90, [86, 82, 32], [225, 30, 150, 60], 0, False, id="too-few-pieces"),
        pytest.param(90, [86, 82, 62], [225, 30, 150, 60], 0, True, id="enough-in-both"),
        pytest.param(50, [], [100], 50, False, id="just-enough-is-left"),
        pytest.param(50, [], [100], 51, True, id="a-byte-too-many-on-its-way"),
        pytest.param(50, [40], [100, 60], 22, True, id="both-together"),
        pytest.param(50, [40], [100, 60], 21, False, id="both-together-lack-one"),
        pytest.param(50, [], [40], 0, True, id="no-room-at-all"),
        pytest.param(1, [1] * 10, [9] * 3, 0, False, id="bytes-do-not-do"),
        pytest.param(11, [94, 56], [30], 0, False, id="too-large-for-the-bin"),
        pytest.param(11, [94, 20], [30], 0, True, id="one-is-not-too-large"),
        pytest.param(11, [94, 20], [30, 100], 0, True, id="each-to-the-bin-that-takes-it"),
        pytest.param(11, [94, 92], [30, 100], 0, False, id="both-to-the-same-bin"),
    ],
)
def test_may_be_blocked(own, others, rooms, more, *, expected):
    names = [item(size, f"other-{n}") for n, size in enumerate(others)]

    assert (
        may_be_blocked(item(own), names, bins(*rooms), Pieces(more, more, min(more, 1))) is expected
    )


def loses(own: int, others: list[int], rooms: list[int]) -> bool:
    """Whether the item finds no room after others in some order, each in some bin or none."""
    for order in {*permutations(others)}:
        for choice in product(range(len(rooms) + 1), repeat=len(order)):
            left = [*rooms, sum(others)]
            for size, index in zip(order, choice, strict=True):
                left[index] -= size
            if min(left) >= 0 and all(room < own for room in left[:-1]):
                return True
    return False


@given(
    own=st.integers(1, 6),
    others=st.lists(st.integers(1, 6), max_size=3),
    rooms=st.lists(st.integers(0, 9), min_size=1, max_size=3),
    known=st.integers(0, 3),
)
def test_what_is_not_blocked_finds_room_in_every_order(own, others, rooms, known):
    names = [item(size, f"other-{n}") for n, size in enumerate(others)]

    rest = others[known:]
    more = Pieces(len(rest), sum(rest), max(rest, default=0))
    blocked = may_be_blocked(item(own), names[:known], bins(*rooms), more)

    assert blocked or not loses(own, others, rooms)


def test_others_fill_no_bin_of_a_kind_that_they_do_not_suit():
    here, there = Item("here", 50, 0, ONE), Item("there", 50, 0, frozenset([1]))

    assert may_be_blocked(item(60), [here], bins(100))
    assert not may_be_blocked(item(60), [there], bins(100))


def test_two_pieces_do_not_fill_two_bins_of_which_one_takes_both():
    """Though they have bytes enough: 73 and 63 on a node of 150 and 100."""
    more = Pieces(2, 73 + 63, 73)

    assert not may_be_blocked(item(74), [], bins(150, 100), more)
    assert may_be_blocked(item(74), [], bins(146, 100), more)
