"""Asks again until a node may be drained, or the time is over."""

from collections.abc import Callable

import msgspec

from app.kube.errors import ApiError
from cli.draining.judging import May
from cli.draining.report import DrainReport


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """How long to wait, and how often to look."""

    interval_seconds: float
    timeout_seconds: float | None
    """None: without end."""
    clock: Callable[[], float]
    """Seconds that only go forward."""
    sleep: Callable[[float], None]


def wait_until_it_may(
    ask: Callable[[], DrainReport], waiting: Waiting, tell: Callable[[DrainReport | ApiError], None]
) -> DrainReport:
    """Ask until the answer is yes, or the time is over; return the last answer.

    An API server that is away is waited for, once it has answered.

    Args:
        ask: Reads the cluster and judges.
        waiting: How long.
        tell: Told each answer that is another than the one before, and each failure.

    Raises:
        ApiError: The first question failed.
    """
    began = waiting.clock()
    report = ask()
    tell(report)
    while report.may is not May.YES:
        seconds = waiting.interval_seconds
        if waiting.timeout_seconds is not None:
            seconds = min(seconds, began + waiting.timeout_seconds - waiting.clock())
        if seconds <= 0:
            break
        waiting.sleep(seconds)
        try:
            found = ask()
        except ApiError as error:
            tell(error)
            continue
        if found != report:
            tell(found)
        report = found
    return report
