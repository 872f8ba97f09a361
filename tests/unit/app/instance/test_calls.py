"""What the leader notes of kube-scheduler's calls, for the annotations of the Lease."""

from datetime import UTC, datetime, timedelta

import pytest

from app.instance.calls import (
    LAST_PRIORITIZE_AT,
    LAST_REQUEST_AT,
    MOST_CANDIDATES,
    Calls,
    read_last,
    read_most,
)
from app.serving.wire import ExtenderRequest, Verb
from extender import PodRef
from extender.kubernetes import PodStatus
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


NOW, LATER = "2026-03-01T12:00:00Z", "2026-03-01T12:01:30Z"
EARLIER_LEADER = {MOST_CANDIDATES: "3"}
NOTES: dict[str, tuple[str, dict[str, str], dict[str, str]]] = {
    "last-call-and-most-candidates": (
        "filter 5, later, filter 2", {}, {LAST_REQUEST_AT: LATER, MOST_CANDIDATES: "5"}),
    "last-call-of-each-verb": (
        "filter 3, prioritize 2, later, filter 3", {},
        {LAST_REQUEST_AT: LATER, LAST_PRIORITIZE_AT: NOW, MOST_CANDIDATES: "3"}),
    # The leader before it answered the call of /filter.
    "scores-alone": (
        "prioritize 2", EARLIER_LEADER, {LAST_PRIORITIZE_AT: NOW, MOST_CANDIDATES: "3"}),
    "trial-without-candidates": ("filter 0", {}, {}),
    # It may lead again after another one has noted later calls.
    "instance-that-leads-no-more": ("filter 3, forget", {}, {}),
}  # fmt: skip


@pytest.mark.parametrize(("steps", "found", "expected"), NOTES.values(), ids=NOTES)
def test_calls_that_are_noted(steps, found, expected):
    clock = Clock()
    calls = Calls(clock)

    for step in steps.split(", "):
        match step.split():
            case ["later"]:
                clock.now += timedelta(seconds=90)
            case ["forget"]:
                calls.forget()
            case verb, count:
                calls.note(Verb(verb), request(int(count)))

    assert calls.annotations(found) == expected


@pytest.mark.parametrize(
    ("found", "most"),
    [("7", "7"), ("3", "3"), ("2", "3"), ("", "3"), ("many", "3"), ("-9", "3"), ("9" * 5000, "3")],
)
def test_most_of_earlier_leaders_stands_if_it_can_be_read(found, most):
    calls = Calls(Clock())
    calls.note(Verb.FILTER, request(3))

    assert calls.annotations({MOST_CANDIDATES: found})[MOST_CANDIDATES] == most


def test_trial_without_uid_is_not_noted():
    calls = Calls(Clock())

    calls.note(Verb.FILTER, request(uid=""))

    assert calls.annotations({}) == {}


@pytest.mark.parametrize("verb", Verb)
def test_notes_can_be_read_again(verb):
    calls = Calls(Clock())
    calls.note(verb, request(4))
    noted = calls.annotations({})

    assert (read_last(noted, verb), read_most(noted)) == (START, 4)
    assert {read_last(noted, other) for other in Verb if other is not verb} == {None}


@pytest.mark.parametrize("text", ["", "yesterday", "2026-03-01", "2026-03-01T12:00:00+01:00"])
def test_time_that_cannot_be_read_is_none(text):
    assert read_last({LAST_REQUEST_AT: text}, Verb.FILTER) is None
