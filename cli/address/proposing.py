"""Chooses free addresses of the Service ranges; pure.

An address has a number in its range: 0 is the range's own, 1 the API server's, and by convention 10
the DNS server's. Kubernetes gives the lowest numbers to Services that ask for no address only when
all others are taken: this is the static band.
"""

from collections.abc import Container, Iterator, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network

import msgspec

Address = IPv4Address | IPv6Address
Range = IPv4Network | IPv6Network

_PREFERRED = ((95, 2**128), (11, 94), (2, 9))
"""First and last numbers, the best first: the shipped files have 95; 1 and 10 are left out."""
_ASSUMED_ADDRESSES = 2**12
"""Ranges of so many addresses and more all have a static band of 256."""


class Free(msgspec.Struct, frozen=True, kw_only=True):
    """An address that no Service has."""

    address: Address
    range: Range
    """The one that it is of."""
    is_static: bool
    """Whether it is in the static band, of all ranges that it is in."""


class Full(msgspec.Struct, frozen=True, kw_only=True):
    """A family of which no address is left."""

    ranges: Sequence[Range]


def propose(ranges: Sequence[Range], taken: Container[Address]) -> list[Free | Full]:
    """Choose an address for each family, the family of the first range first.

    Static bands come before all else, then ranges in their order, then numbers: from 95 up, from 11
    up, from 2 up. The same cluster always gets the same answer.

    Args:
        ranges: Of the cluster's Services; they may overlap.
        taken: The addresses of all Services.

    Complexity: O(ranges * (256 + taken)).
    """
    families = dict.fromkeys(each.version for each in ranges)
    return [_choose([r for r in ranges if r.version == family], taken) for family in families]


def static_band(range_: Range) -> int:
    """Return how many addresses are in the static band: the numbers from 1 to this one.

    Source: KEP-3070; kubernetes pkg/registry/core/service/ipallocator, `calculateRangeOffset` of
    bitmap.go and `NewIPAllocator` of ipallocator.go.
    """
    size = range_.num_addresses
    return 0 if size <= 16 else min(max(16, size // 16), 256)


def number_of(address: Address, range_: Range) -> int:
    """Return the number of an address in a range."""
    return int(address) - int(range_.network_address)


def assumed_range(first: Address) -> Range:
    """Return what is known of a range of which only the address with number 1 is known.

    It begins one address before. It is taken for 4096 addresses, or for as many as a range that
    begins there can have; a larger one has the same static band.
    """
    begin = int(first) - 1
    aligned = begin | _ASSUMED_ADDRESSES
    addresses = aligned & -aligned
    return ip_network(f"{first - 1}/{first.max_prefixlen - addresses.bit_length() + 1}")


def _choose(ranges: Sequence[Range], taken: Container[Address]) -> Free | Full:
    """Choose among the ranges of one family."""
    for range_ in ranges:
        for address in _addresses(range_, 1, static_band(range_)):
            if address not in taken and all(_is_static(address, each) for each in ranges):
                return Free(address=address, range=range_, is_static=True)
    for range_ in ranges:
        for address in _addresses(range_, static_band(range_) + 1, _last(range_)):
            if address not in taken:
                return Free(address=address, range=range_, is_static=False)
    return Full(ranges=ranges)


def _addresses(range_: Range, first: int, last: int) -> Iterator[Address]:
    """Go through the addresses with numbers from *first* to *last*, the best first."""
    for begin, end in _PREFERRED:
        for number in range(max(begin, first), min(end, last) + 1):
            yield range_.network_address + number


def _is_static(address: Address, range_: Range) -> bool:
    """Whether a range leaves an address to those who ask for it; also if it is none of its own."""
    return address not in range_ or number_of(address, range_) <= static_band(range_)


def _last(range_: Range) -> int:
    """Return the last number that a Service can have: IPv4 has a broadcast address behind it."""
    return range_.num_addresses - (2 if range_.version == 4 else 1)
