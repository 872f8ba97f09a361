"""Best fit."""

from packing import Bin, Item
from packing.greedy import best_fit

ONE_KIND = frozenset({0})


def item(id: str, logical_bytes: int, physical_bytes: int = 0) -> Item:
    return Item(id, logical_bytes, physical_bytes, ONE_KIND)


def test_an_item_goes_where_least_is_left():
    bins = [Bin("large", 0, 9, 0), Bin("small", 0, 5, 0), Bin("too-small", 0, 3, 0)]

    assert best_fit([item("a", 4)], bins) == {"a": "small"}


def test_the_first_of_equal_bins_wins():
    assert best_fit([item("a", 4)], [Bin("x", 0, 5, 0), Bin("y", 0, 5, 0)]) == {"a": "x"}


def test_rooms_shrink_in_both_dimensions():
    bins = [Bin("x", 0, 5, 3), Bin("y", 0, 6, 3)]

    assert best_fit([item("a", 2, 2), item("b", 2, 2)], bins) == {"a": "x", "b": "y"}


def test_another_kind_is_passed_over():
    assert best_fit([item("a", 4)], [Bin("x", 1, 4, 0), Bin("y", 0, 9, 0)]) == {"a": "y"}


def test_the_first_item_without_room_is_returned():
    second = item("b", 3)

    assert best_fit([item("a", 4), second, item("c", 9)], [Bin("x", 0, 6, 0)]) == second


def test_negative_rooms_take_not_even_zero_bytes():
    empty = item("a", 0)

    assert best_fit([empty], [Bin("x", 0, -1, 5), Bin("y", 0, 5, -1)]) == empty
