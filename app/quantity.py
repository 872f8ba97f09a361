"""Kubernetes quantities such as 100Gi, in whole units or in thousandths.

kubernetes_asyncio brings no parser for them, and a package for thirty lines would be one more to
keep; the format is fixed (apimachinery pkg/api/resource, Quantity).
"""

import re
from decimal import ROUND_CEILING, Decimal

_QUANTITY = re.compile(
    r"([+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40}))(?:[eE]([+-]?[0-9]{1,3})|([a-zA-Z]{0,2}))"
)
_SUFFIXES = {
    "": Decimal(1),
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "k": Decimal(10**3),
    "M": Decimal(10**6),
    "G": Decimal(10**9),
    "T": Decimal(10**12),
    "P": Decimal(10**15),
    "E": Decimal(10**18),
    "Ki": Decimal(2**10),
    "Mi": Decimal(2**20),
    "Gi": Decimal(2**30),
    "Ti": Decimal(2**40),
    "Pi": Decimal(2**50),
    "Ei": Decimal(2**60),
}
_LARGEST = 2**63 - 1


def parse_bytes(quantity: str) -> int:
    """Return the quantity in whole bytes, rounded away from zero; capped at 64 bit as in Go.

    Quantities of pods, devices and the like are read in the same way.

    Raises:
        ValueError: It is not a quantity; the message quotes it.
    """
    return _whole(_value(quantity))


def parse_thousandths(quantity: str) -> int:
    """Return the quantity in thousandths, as CPU is counted; rounded and capped as bytes are.

    Source: kubernetes staging/src/k8s.io/apimachinery/pkg/api/resource/quantity.go MilliValue.

    Raises:
        ValueError: It is not a quantity; the message quotes it.
    """
    return _whole(_value(quantity) * 1000)


def _value(quantity: str) -> Decimal:
    match = _QUANTITY.fullmatch(quantity)
    if match is None or (match[3] or "") not in _SUFFIXES:
        raise ValueError(f"{quantity[:60]!r} is not a quantity such as 100Gi")
    number = Decimal(match[1])
    return number.scaleb(int(match[2])) if match[2] else number * _SUFFIXES[match[3] or ""]


def _whole(value: Decimal) -> int:
    rounded = abs(value).to_integral_value(ROUND_CEILING) if abs(value) < _LARGEST else _LARGEST
    return int(rounded) if value >= 0 else -int(rounded)
