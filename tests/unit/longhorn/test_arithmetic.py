"""Longhorn's arithmetic, where it differs from what one would expect."""

import pytest

from longhorn import limit_bytes, minimal_available_bytes, volume_size_bytes
from tests.builders import GIB, MIB


@pytest.mark.parametrize(
    ("maximum_bytes", "reserved_bytes", "percent", "expected"),
    [
        pytest.param(100 * GIB, 0, 100, 100 * GIB, id="all-of-it"),
        pytest.param(100 * GIB, 30 * GIB, 100, 70 * GIB, id="less-what-is-reserved"),
        pytest.param(100 * GIB, 50 * GIB, 200, 100 * GIB, id="the-rest-twice"),
        pytest.param(100 * GIB, 0, 0, 0, id="nothing-may-be-scheduled"),
        pytest.param(100, 130, 100, -30, id="more-is-reserved-than-there-is"),
        pytest.param(10, 13, 50, -1, id="negative-is-truncated-toward-zero"),
        pytest.param(3, 0, 50, 1, id="positive-is-truncated-toward-zero"),
        pytest.param(709688309550471, 0, 252, 1788414540067187, id="float64-gives-a-byte-more"),
    ],
)
def test_limit(maximum_bytes, reserved_bytes, percent, expected):
    assert limit_bytes(maximum_bytes, reserved_bytes, percent) == expected


def test_exact_integers_would_give_a_byte_less():
    exact = 709688309550471 * 252 // 100

    assert limit_bytes(709688309550471, 0, 252) == exact + 1


@pytest.mark.parametrize(
    ("maximum_bytes", "percent", "expected"),
    [
        pytest.param(100 * GIB, 25, 25 * GIB, id="a-quarter"),
        pytest.param(100 * GIB + 3, 25, 25 * GIB, id="fractions-are-cut-off"),
        pytest.param(100 * GIB, 0, 0, id="nothing"),
        pytest.param(100 * GIB, 100, 100 * GIB, id="everything"),
    ],
)
def test_minimal_available(maximum_bytes, percent, expected):
    assert minimal_available_bytes(maximum_bytes, percent) == expected


@pytest.mark.parametrize(
    ("requested_bytes", "expected"),
    [
        pytest.param(0, 10 * MIB, id="nothing"),
        pytest.param(1, 10 * MIB, id="a-byte"),
        pytest.param(10 * MIB, 10 * MIB, id="10-MiB"),
        pytest.param(10 * MIB + 1, 12 * MIB, id="a-byte-more"),
        pytest.param(3 * GIB - 1, 3 * GIB, id="a-byte-less-than-3-GiB"),
        pytest.param(3 * GIB, 3 * GIB, id="3-GiB"),
        pytest.param(5 * 10**9, 5 * 10**9 // (2 * MIB) * 2 * MIB + 2 * MIB, id="5-GB"),
    ],
)
def test_volume_size(requested_bytes, expected):
    assert volume_size_bytes(requested_bytes) == expected
