"""What we keep for pods until Longhorn's objects show it."""

from extender.holds.deadlines import ATTACHING_SECONDS, Timeouts
from extender.holds.evidence import count_lost_rooms
from extender.holds.hold import Asked, End, Ended, Outcome, Sighting, State
from extender.holds.new_hold import are_unseen, rebuild, size_bytes

__all__ = [
    "ATTACHING_SECONDS", "Asked", "End", "Ended", "Outcome", "Sighting", "State", "Timeouts",
    "are_unseen", "count_lost_rooms", "rebuild", "size_bytes",
]  # fmt: skip
