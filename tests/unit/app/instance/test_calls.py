"""What the leader notes of kube-scheduler's calls, for the annotations of the Lease."""

from datetime import UTC, datetime, timedelta

import pytest

from app.instance.calls import LAST_REQUEST_AT, MOST_CANDIDATES, Calls, read_last, read_most
from app.serving.wire import ExtenderRequest
from extender import PodRef, PodStatus
from longhorn import NodeName

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Clock:
    """A wall clock that is set by hand."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


def request(candidates: int = 3, *, uid: str = "uid") -> ExtenderRequest:
    return ExtenderRequest(
        pod=PodRef(namespace="default", name="pod", uid=uid, claims=()),
        status=PodStatus(),
        candidates=[NodeName(f"node-{number}") for number in range(candidates)],
        nodes=None,
    )


def test_the_last_call_and_the_most_candidates_are_noted() -> None:
    clock = Clock()
    calls = Calls(clock)

    calls.note(request(5))
    clock.now += timedelta(seconds=90)
    calls.note(request(2))

    assert calls.annotations({}) == {LAST_REQUEST_AT: "2026-03-01T12:01:30Z", MOST_CANDIDATES: "5"}


@pytest.mark.parametrize(
    ("found", "most"),
    [("7", "7"), ("3", "3"), ("2", "3"), ("", "3"), ("many", "3"), ("-9", "3"), ("9" * 5000, "3")],
)
def test_the_most_of_earlier_leaders_stands_if_it_can_be_read(found: str, most: str) -> None:
    calls = Calls(Clock())
    calls.note(request(3))

    assert calls.annotations({MOST_CANDIDATES: found})[MOST_CANDIDATES] == most


@pytest.mark.parametrize("tried", [request(uid=""), request(0)], ids=["no-uid", "no-candidate"])
def test_who_tries_whether_it_answers_is_not_noted(tried: ExtenderRequest) -> None:
    calls = Calls(Clock())

    calls.note(tried)

    assert calls.annotations({}) == {}


def test_who_leads_no_more_forgets_its_calls() -> None:
    """It may lead again after another one has noted later calls."""
    calls = Calls(Clock())
    calls.note(request())

    calls.forget()

    assert calls.annotations({}) == {}


def test_what_is_noted_can_be_read_again() -> None:
    calls = Calls(Clock())
    calls.note(request(4))
    noted = calls.annotations({})

    assert (read_last(noted), read_most(noted)) == (START, 4)


@pytest.mark.parametrize("text", ["", "yesterday", "2026-03-01", "2026-03-01T12:00:00+01:00"])
def test_a_time_that_cannot_be_read_is_none(text: str) -> None:
    assert read_last({LAST_REQUEST_AT: text}) is None
