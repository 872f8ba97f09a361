"""Which address is proposed: free, and if possible one that Kubernetes gives out last."""

from ipaddress import ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.address.proposing import (
    Address,
    Free,
    Full,
    Range,
    assumed_range,
    number_of,
    propose,
    static_band,
)


def numbers(range_: str, *spans: tuple[int, int]) -> set[Address]:
    """Return addresses of a range by their numbers, first and last of each span."""
    first = ip_network(range_).network_address
    return {first + number for begin, end in spans for number in range(begin, end + 1)}


@st.composite
def clusters(draw: st.DrawFn) -> tuple[list[Range], set[Address]]:
    """Draw up to three ranges of one family, which may overlap, and what is taken of them."""
    bits, begin = draw(st.sampled_from([(32, "10.0.0.0"), (128, "fd00::")]))

    def range_of(size_bits: int, offset: int) -> Range:
        address = ip_address(begin) + (offset >> size_bits << size_bits)
        return ip_network(f"{address}/{bits - size_bits}")

    drawn = st.builds(range_of, st.integers(0, 10), st.integers(0, 2**11))
    ranges = draw(st.lists(drawn, min_size=1, max_size=3))
    every = sorted(address for each in ranges for address in each)
    few = draw(st.sets(st.sampled_from(every)))
    return ranges, few if draw(st.booleans()) else {*every} - few


BANDS = {
    **{"10.96.0.0/12": 256, "10.96.0.0/20": 256, "10.96.0.0/21": 128, "10.96.0.0/24": 16},
    **{"10.96.0.0/27": 16, "10.96.0.0/28": 0, "10.96.0.0/32": 0},
    **{"fd00::/64": 256, "fd00::/112": 256, "fd00::/124": 0},
}


@pytest.mark.parametrize(("range_", "addresses"), BANDS.items())
def test_static_band(range_, addresses):
    assert static_band(ip_network(range_)) == addresses


PROPOSED: dict[str, tuple[str, list[tuple[int, int]], str, bool]] = {
    "range-of-the-shipped-files": ("10.43.0.0/16", [], "10.43.0.95", True),
    "band-from-the-next": ("10.43.0.0/16", [(95, 95)], "10.43.0.96", True),
    "band-at-its-last": ("10.43.0.0/16", [(95, 255)], "10.43.1.0", True),
    "band-below": ("10.43.0.0/16", [(95, 256)], "10.43.0.11", True),
    "band-at-its-lowest": ("10.43.0.0/16", [(11, 256)], "10.43.0.2", True),
    "band-taken": ("10.43.0.0/16", [(2, 9), (11, 256)], "10.43.1.1", False),
    "range-small": ("10.43.0.0/24", [], "10.43.0.11", True),
    "range-small-and-its-band-taken": ("10.43.0.0/24", [(2, 16)], "10.43.0.95", False),
    "band-none": ("10.43.0.0/28", [], "10.43.0.11", False),
    "range-at-its-last": ("10.43.0.0/28", [(11, 13)], "10.43.0.14", False),
    "range-that-begins-elsewhere": ("10.43.0.128/25", [], "10.43.0.139", True),
    "range-second-with-a-band-left":
        ("10.96.0.0/24 10.97.0.0/24", [(2, 16)], "10.97.0.11", True),
    # Of 10.96.0.0/24 the numbers 1 to 16 are static; of the /16 around it 95 would be.
    "range-within-another": ("10.96.0.0/16 10.96.0.0/24", [], "10.96.1.0", True),
    "ipv6": ("fd00::/112", [], "fd00::5f", True),
    "ipv6-and-its-band-taken": ("fd00::/112", [(2, 256)], "fd00::101", False),
    "ipv6-the-largest": ("fd00::/64", [], "fd00::5f", True),
    "ipv6-without-broadcast": ("fd00::/124", [(2, 14)], "fd00::f", False),
    # 10 is left, for a DNS server that may come.
    "range-full": ("10.43.0.0/28", [(2, 14)], "", False),
    "range-of-four": ("10.43.0.0/30", [(2, 2)], "", False),
    "range-of-two": ("10.43.0.0/31", [], "", False),
    "range-of-one": ("10.43.0.0/32", [], "", False),
    "ipv6-of-two": ("fd00::/127", [], "", False),
}  # fmt: skip
"""Ranges, spans of the first that are taken, the address if any is free, and whether Kubernetes
gives it out last."""


@pytest.mark.parametrize(
    ("text", "taken", "expected", "is_static"), PROPOSED.values(), ids=PROPOSED
)
def test_address_proposed(text, taken, expected, is_static):
    ranges = [ip_network(each) for each in text.split()]

    [found] = propose(ranges, numbers(str(ranges[0]), *taken))

    if not expected:
        assert found == Full(ranges=ranges)
        return
    address = ip_address(expected)
    [range_, *_] = [each for each in ranges if address in each]
    assert found == Free(address=address, range=range_, is_static=is_static)


def test_each_family_gets_an_address_in_the_order_of_the_ranges():
    ranges = [ip_network(each) for each in ("fd00::/112", "10.96.0.0/12", "fd01::/112")]

    found = propose(ranges, set())

    addresses = [str(each.address) for each in found if isinstance(each, Free)]
    assert addresses == ["fd00::5f", "10.96.0.95"]


@given(clusters())
def test_what_is_proposed_is_free_and_static_if_anything_is(cluster):
    ranges, taken = cluster
    free = {
        each.network_address + number
        for each in ranges
        for number in range(2, each.num_addresses - (each.version == 4))
        if number != 10
    } - taken
    static = {
        address
        for address in free
        if all(number_of(address, each) <= static_band(each) for each in ranges if address in each)
    }

    [found] = propose(ranges, taken)

    if isinstance(found, Full):
        assert free == set()
    else:
        assert found.address in (static or free)
        assert found.address in found.range
        assert found.is_static is bool(static)


FIRST = {
    **{"10.96.0.1": "10.96.0.0/20", "10.43.0.1": "10.43.0.0/20", "172.20.8.1": "172.20.8.0/21"},
    **{"192.168.3.129": "192.168.3.128/25", "10.0.0.2": "10.0.0.1/32"},
    "fd00:43::1": "fd00:43::/116",
}


@pytest.mark.parametrize(("first", "expected"), FIRST.items())
def test_a_range_is_known_by_its_first_address(first, expected):
    assert assumed_range(ip_address(first)) == ip_network(expected)
