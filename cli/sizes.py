"""Sizes as people read them."""

_GIB = 2**30


def gib(size_bytes: int) -> str:
    """Say a size in GiB, with one decimal."""
    return f"{size_bytes / _GIB:.1f}"


def short_gib(size_bytes: int) -> str:
    """Say in GiB what is short, rounded up: so much is enough."""
    return f"{-(-10 * size_bytes // _GIB) / 10:.1f}"
