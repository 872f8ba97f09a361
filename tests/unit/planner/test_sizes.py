"""Sizes are told in a unit that shows them."""

import pytest

from planner.sizes import amount, most_amount, short_amount
from tests.builders import GIB, MIB


@pytest.mark.parametrize(
    ("size_bytes", "expected"),
    [
        (0, "0.0 GiB"),
        (-1, "0.0 GiB"),
        (12 * MIB, "12.0 MiB"),
        (102 * MIB, "102.0 MiB"),
        (103 * MIB, "0.1 GiB"),
        (2 * GIB, "2.0 GiB"),
        (10_000 * GIB, "10000.0 GiB"),
    ],
)
def test_small_sizes_are_told_in_mib(size_bytes, expected):
    assert amount(size_bytes) == expected


@pytest.mark.parametrize(
    ("size_bytes", "least", "most"),
    [
        (10 * GIB, "10.0 GiB", "10.0 GiB"),
        (10 * GIB + 1, "10.1 GiB", "10.0 GiB"),
        (62 * MIB - 1, "62.0 MiB", "61.9 MiB"),
    ],
)
def test_what_is_needed_is_rounded_up_and_what_may_be_down(size_bytes, least, most):
    assert (short_amount(size_bytes), most_amount(size_bytes)) == (least, most)
