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


def test_the_last_call_and_the_most_candidates_are_noted():
    clock = Clock()
    calls = Calls(clock)

    calls.note(Verb.FILTER, request(5))
    clock.now += timedelta(seconds=90)
    calls.note(Verb.FILTER, request(2))

    assert calls.annotations({}) == {LAST_REQUEST_AT: "2026-03-01T12:01:30Z", MOST_CANDIDATES: "5"}


@pytest.mark.parametrize(
    ("found", "most"),
    [("7", "7"), ("3", "3"), ("2", "3"), ("", "3"), ("many", "3"), ("-9", "3"), ("9" * 5000, "3")],
)
def test_the_most_of_earlier_leaders_stands_if_it_can_be_read(found, most):
    calls = Calls(Clock())
    calls.note(Verb.FILTER, request(3))

    assert calls.annotations({MOST_CANDIDATES: found})[MOST_CANDIDATES] == most


def test_the_last_call_of_each_verb_is_noted():
    clock = Clock()
    calls = Calls(clock)

    calls.note(Verb.FILTER, request(3))
    calls.note(Verb.PRIORITIZE, request(2))
    clock.now += timedelta(seconds=90)
    calls.note(Verb.FILTER, request(3))

    assert calls.annotations({}) == {
        LAST_REQUEST_AT: "2026-03-01T12:01:30Z",
        LAST_PRIORITIZE_AT: "2026-03-01T12:00:00Z",
        MOST_CANDIDATES: "3",
    }


def test_who_was_asked_for_scores_alone_notes_no_other_call():
    """The leader before it answered the call of /filter."""
    calls = Calls(Clock())

    calls.note(Verb.PRIORITIZE, request(2))

    assert calls.annotations({MOST_CANDIDATES: "3"}) == {
        LAST_PRIORITIZE_AT: "2026-03-01T12:00:00Z",
        MOST_CANDIDATES: "3",
    }


@pytest.mark.parametrize("tried", [request(uid=""), request(0)], ids=["no-uid", "no-candidate"])
def test_who_tries_whether_it_answers_is_not_noted(tried):
    calls = Calls(Clock())

    calls.note(Verb.FILTER, tried)

    assert calls.annotations({}) == {}


def test_who_leads_no_more_forgets_its_calls():
    """It may lead again after another one has noted later calls."""
    calls = Calls(Clock())
    calls.note(Verb.FILTER, request())

    calls.forget()

    assert calls.annotations({}) == {}


@pytest.mark.parametrize("verb", Verb)
def test_what_is_noted_can_be_read_again(verb):
    calls = Calls(Clock())
    calls.note(verb, request(4))
    noted = calls.annotations({})

    assert (read_last(noted, verb), read_most(noted)) == (START, 4)
    assert {read_last(noted, other) for other in Verb if other is not verb} == {None}


@pytest.mark.parametrize("text", ["", "yesterday", "2026-03-01", "2026-03-01T12:00:00+01:00"])
def test_a_time_that_cannot_be_read_is_none(text):
    assert read_last({LAST_REQUEST_AT: text}, Verb.FILTER) is None
