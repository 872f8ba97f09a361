"""Sizes are told in a unit that shows them."""

import pytest

from planner.sizes import amount
from tests.builders import GIB, MIB


@pytest.mark.parametrize(
    ("size_bytes", "expected"),
    [
        (0, "0.0 GiB"),
        (12 * MIB, "12.0 MiB"),
        (102 * MIB, "102.0 MiB"),
        (103 * MIB, "0.1 GiB"),
        (2 * GIB, "2.0 GiB"),
        (10_000 * GIB, "10000.0 GiB"),
    ],
)
def test_small_sizes_are_told_in_mib(size_bytes: int, expected: str) -> None:
    assert amount(size_bytes) == expected
