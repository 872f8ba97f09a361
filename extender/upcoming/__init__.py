"""Room that will be taken and is not yet: who takes it, and where it is found."""

from extender.upcoming.volumes import need_in

__all__ = [
    "need_in",
]  # fmt: skip
