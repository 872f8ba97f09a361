"""Sizes as people read them."""

_GIB = 2**30


def gib(size_bytes: int) -> str:
    """Say a size in GiB, with one decimal, without the unit; never as "-0.0"."""
    return f"{size_bytes / _GIB:z.1f}"


def amount(size_bytes: int) -> str:
    """Say a size with its unit."""
    unit, name = unit_of(size_bytes)
    return f"{size_bytes / unit:z.1f} {name}"


def short_amount(size_bytes: int) -> str:
    """Say with its unit what is short, rounded up: so much is enough."""
    unit, name = unit_of(size_bytes)
    return f"{-(-10 * size_bytes // unit) / 10:.1f} {name}"


def most_amount(size_bytes: int) -> str:
    """Say with its unit what is the most, rounded down: so much is not too much."""
    unit, name = unit_of(size_bytes)
    return f"{10 * size_bytes // unit / 10:.1f} {name}"


def unit_of(size_bytes: int) -> tuple[int, str]:
    """Return the unit in which a size is told, and its name: GiB, and MiB below 0.1 GiB."""
    return (2**20, "MiB") if 0 < 10 * size_bytes < _GIB else (_GIB, "GiB")
