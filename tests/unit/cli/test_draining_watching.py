"""Waiting until a node may be drained, without a wait: clock and sleep are given."""

from collections.abc import Callable, Iterator

import pytest

from app.kube.errors import ApiError
from cli.draining.judging import May
from cli.draining.report import DrainReport
from cli.draining.watching import Waiting, wait_until_it_may


def answer(may: May, origin: str = "it") -> DrainReport:
    return DrainReport(origin=origin, may=may, nodes=(), next=None)


NOT_YET, YES, UNKNOWN = (answer(may) for may in (May.NOT_YET, May.YES, May.UNKNOWN))
AWAY = ApiError("it is away")


class Script:
    """Gives answers one after another, each of which takes a second."""

    def __init__(self, *answers: DrainReport | ApiError) -> None:
        self._answers: Iterator[DrainReport | ApiError] = iter(answers)
        self.now = 0.0
        self.asked_at = list[float]()
        self.told = list[DrainReport | ApiError]()

    def ask(self) -> DrainReport:
        self.asked_at.append(self.now)
        self.now += 1
        found = next(self._answers)
        if isinstance(found, ApiError):
            raise found
        return found

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def wait(self, timeout_seconds: float | None = None) -> DrainReport:
        waiting = Waiting(
            interval_seconds=10,
            timeout_seconds=timeout_seconds,
            clock=lambda: self.now,
            sleep=self.sleep,
        )
        tell: Callable[[DrainReport | ApiError], None] = self.told.append
        return wait_until_it_may(self.ask, waiting, tell)


def test_a_yes_ends_it_at_once() -> None:
    script = Script(YES)

    assert script.wait() == YES
    assert script.asked_at == [0]


def test_it_asks_again_after_each_interval_until_a_yes() -> None:
    script = Script(NOT_YET, UNKNOWN, YES)

    assert script.wait() == YES
    assert script.asked_at == [0, 11, 22]


def test_it_asks_a_last_time_at_the_end_of_the_time() -> None:
    script = Script(NOT_YET, NOT_YET, NOT_YET)

    assert script.wait(timeout_seconds=15) == NOT_YET
    assert script.asked_at == [0, 11, 15]


def test_without_any_time_it_asks_once() -> None:
    script = Script(NOT_YET)

    assert script.wait(timeout_seconds=0) == NOT_YET


def test_it_tells_what_changes_and_nothing_twice() -> None:
    other = answer(May.NOT_YET, "another")
    script = Script(NOT_YET, NOT_YET, other, YES)

    script.wait()

    assert script.told == [NOT_YET, other, YES]


def test_an_api_server_that_is_away_is_waited_for() -> None:
    script = Script(NOT_YET, AWAY, AWAY, YES)

    assert script.wait() == YES
    assert script.told == [NOT_YET, AWAY, AWAY, YES]


def test_the_time_ends_while_it_is_away() -> None:
    script = Script(NOT_YET, AWAY, AWAY)

    assert script.wait(timeout_seconds=20) == NOT_YET
    assert script.asked_at == [0, 11, 20]


def test_the_first_failure_is_an_error() -> None:
    with pytest.raises(ApiError):
        Script(AWAY).wait()
