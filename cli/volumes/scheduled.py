"""The volume's condition `Scheduled` in our words, and whether the same follows here."""

import re
from collections.abc import Sequence

import msgspec

from cli.catalogue import MEANINGS
from cli.volumes.judging import Sought
from longhorn import Condition, Reason, Volume

_PRECHECK = re.compile(r"^\s*precheck new replica failed:?\s*")


class ScheduledReport(msgspec.Struct):
    """The condition, and what to make of it."""

    status: str
    """True, False or Unknown."""
    reason: str
    message: str
    meaning: Sequence[str]
    """Each of Longhorn's reasons in other words."""
    agrees: bool
    """Whether the same follows from what is known here."""
    judgement: str
    """What follows; empty if nothing is to be added."""


def scheduled_report(
    volume: Volume, sought: Sought | None, *, is_due: bool
) -> ScheduledReport | None:
    """Explain the condition, None if the volume has none.

    Args:
        volume: The volume.
        sought: What the search finds for the next replica, None if none is to come.
        is_due: Whether Longhorn places it as soon as it fits.
    """
    told = volume.told
    if told is None or told.scheduled.status == "Unknown":
        return None
    condition = told.scheduled
    judgement = "" if volume.sharded else _judgement(sought, condition, is_due=is_due)
    return ScheduledReport(
        status=condition.status,
        reason=condition.reason,
        message=condition.message,
        meaning=() if condition.is_true else meanings(condition.message),
        agrees=not judgement,
        judgement=judgement,
    )


def meanings(message: str) -> list[str]:
    """Return what each of Longhorn's reasons in a message means; unknown ones are left out."""
    words = {part.strip() for part in _PRECHECK.sub("", message).split(";")}
    return [f"{reason}: {MEANINGS[reason].meaning}" for reason in Reason if reason in words]


def _judgement(sought: Sought | None, condition: Condition, *, is_due: bool) -> str:
    """Say what does not agree: Longhorn looks every 30 s, and at figures that lag."""
    says_placed = condition.is_true
    if not is_due:
        if says_placed:
            return ""
        return "the condition may be old: by its objects Longhorn places no replica of it now"
    finds = sought is not None and bool(sought.next)
    if finds and not says_placed:
        return (
            "by the figures known here a replica fits: the condition is of Longhorn's last "
            "attempt, and it looks again within 30 s"
        )
    if not finds and says_placed:
        return "by the figures known here the next replica fits on no disk, whatever True says"
    return ""
