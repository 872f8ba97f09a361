"""What a lease means to an instance, and what it writes over it."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leader import LeaseSettings
from leader.lease import (
    Action,
    Observed,
    Record,
    annotated,
    claimed,
    decide,
    micro_time,
    observe,
    released,
)
from tests.unit.leader.leases import ACQUIRED, NAME, NAMESPACE, RENEWED, lease, lease_settings

NOW = datetime(2026, 3, 1, 12, 0, 0, 1200, tzinfo=UTC)
WRITTEN = "2026-03-01T12:00:00.001200Z"
LATER = "2026-03-01T10:00:01.000000Z"
LARGEST = 2**31 - 1


def seen(
    body: dict[str, Any] | None = None, *, after: Observed | None = None, now: float = 100.0
) -> Observed:
    observed = observe(after, lease() if body is None else body, now=now, settings=lease_settings())
    assert observed is not None
    return observed


def missed(after: Observed | None, *, now: float) -> Observed | None:
    """Look, and find no lease."""
    return observe(after, None, now=now, settings=lease_settings())


def decided(observed: Observed | None, now: float, written: Collection[str] = ()) -> Action:
    return decide(observed, identity="us", written=written, now=now)


def claim(observed: Observed | None, action: Action) -> dict[str, Any]:
    return claimed(observed, action=action, wall_time=NOW, settings=lease_settings())


def test_what_is_read_is_kept():
    observed = seen(lease(uid="u"), now=100.0)

    assert observed == Observed(
        record=Record(
            holder="them",
            duration_seconds=8,
            acquire_time=ACQUIRED,
            renew_time=RENEWED,
            transitions=3,
        ),
        seen_at=100.0,
        metadata={"name": NAME, "namespace": NAMESPACE, "resourceVersion": "7", "uid": "u"},
    )


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"metadata": {"name": NAME, "resourceVersion": "7"}}, id="no-spec"),
        pytest.param({**lease(), "spec": None}, id="null-spec"),
        pytest.param({**lease(), "spec": {}}, id="empty-spec"),
        pytest.param(
            lease(None, duration=None, acquired=None, renewed=None, transitions=None), id="nulls"
        ),
        pytest.param(lease(7, duration="8", acquired=1, renewed=[], transitions="3"), id="types"),
    ],
)
def test_a_lease_that_says_nothing_is_free_and_lasts_as_long_as_ours(body):
    observed = seen(body)

    assert observed.record == Record(
        holder="", duration_seconds=8, acquire_time="", renew_time="", transitions=0
    )
    assert decided(observed, now=100.0) is Action.ACQUIRE


@pytest.mark.parametrize(
    ("found", "seconds", "transitions"),
    [
        pytest.param(1, 1, 1, id="one"),
        pytest.param(LARGEST, LARGEST, LARGEST, id="largest-that-fits-the-field"),
        pytest.param(0, 8, 0, id="zero"),
        pytest.param(-1, 8, 0, id="negative"),
        pytest.param(2**31, 8, 0, id="does-not-fit-the-field"),
        pytest.param(10**400, 8, 0, id="no-float-is-so-large"),
        pytest.param(1.5, 8, 0, id="fraction"),
        pytest.param(True, 8, 0, id="boolean"),
        pytest.param({"seconds": 15}, 8, 0, id="object"),
    ],
)
def test_numbers_that_make_no_sense_are_those_of_a_new_lease(found, seconds, transitions):
    observed = seen(lease(duration=found, transitions=found), now=100.0)

    assert observed.record.duration_seconds == seconds
    assert observed.record.transitions == transitions
    assert observed.expires_at == 100.0 + seconds


def test_an_annotation_does_not_prolong_a_record_but_its_version_is_taken():
    first = seen(lease(version="7"), now=100.0)

    again = seen(lease(version="8", annotations={"note": "a"}), after=first, now=104.0)

    assert again.seen_at == 100.0
    assert again.metadata["resourceVersion"] == "8"
    assert again.metadata["annotations"] == {"note": "a"}


@pytest.mark.parametrize(
    "change",
    [{"holder": "us"}, {"duration": 9}, {"acquired": ""}, {"renewed": "1970"}, {"transitions": 4}],
    ids=lambda change: next(iter(change)),
)
def test_any_change_of_the_record_begins_its_time_anew(change):
    first = seen(lease(), now=100.0)

    assert seen(lease(**change), after=first, now=104.0).seen_at == 104.0


@pytest.mark.parametrize("duration", [1, 8, 3600])
def test_a_deleted_lease_counts_from_when_it_is_first_missed_as_long_as_ours_would(duration):
    gone = missed(seen(lease(duration=duration), now=100.0), now=105.0)

    assert decided(missed(gone, now=112.9), now=112.9) is Action.WAIT
    assert decided(missed(gone, now=113.0), now=113.0) is Action.ACQUIRE


def test_a_deleted_lease_is_created_and_not_replaced():
    gone = missed(seen(lease(uid="u", annotations={"note": "a"})), now=105.0)

    assert claim(gone, Action.ACQUIRE)["metadata"] == {"name": NAME, "namespace": NAMESPACE}


def test_a_lease_that_comes_back_is_observed_as_any_other():
    gone = missed(seen(now=100.0), now=105.0)

    back = seen(lease("others", version="9"), after=gone, now=106.0)

    assert back == seen(lease("others", version="9"), now=106.0)


@pytest.mark.parametrize(
    ("observed", "now", "expected"),
    [
        pytest.param(missed(None, now=99.0), 100.0, Action.ACQUIRE, id="no-lease-yet"),
        pytest.param(seen(lease("")), 100.0, Action.ACQUIRE, id="emptied"),
        pytest.param(missed(seen(lease("")), now=101.0), 101.0, Action.ACQUIRE, id="free-deleted"),
        pytest.param(seen(lease()), 107.999, Action.WAIT, id="theirs-and-fresh"),
        pytest.param(seen(lease()), 108.0, Action.ACQUIRE, id="theirs-and-just-expired"),
        pytest.param(seen(lease(renewed="1970")), 107.9, Action.WAIT, id="times-do-not-count"),
        pytest.param(seen(lease(renewed="2999")), 108.0, Action.ACQUIRE, id="whichever-they-are"),
        pytest.param(seen(lease(duration=15)), 114.9, Action.WAIT, id="by-their-duration"),
        pytest.param(seen(lease(duration=15)), 115.0, Action.ACQUIRE, id="by-their-duration-out"),
        pytest.param(seen(lease("us")), 200.0, Action.RENEW, id="ours-even-if-expired"),
        pytest.param(missed(seen(lease("us")), now=101.0), 101.0, Action.RENEW, id="ours-deleted"),
        pytest.param(seen(lease("us", renewed=LATER)), 107.9, Action.WAIT, id="in-our-name"),
        pytest.param(seen(lease("us", renewed=LATER)), 108.0, Action.ACQUIRE, id="in-our-name-out"),
        pytest.param(seen(lease("us", renewed=None)), 107.9, Action.WAIT, id="ours-without-a-time"),
        pytest.param(seen(lease("US")), 107.9, Action.WAIT, id="another-spelling"),
    ],
)
def test_decide(observed, now, expected):
    assert decided(observed, now, written={RENEWED}) is expected


@pytest.mark.parametrize(
    ("transitions", "action", "expected"),
    [
        pytest.param(LARGEST - 1, Action.ACQUIRE, LARGEST, id="last-that-fits"),
        pytest.param(LARGEST, Action.RENEW, LARGEST, id="last-renewed"),
        pytest.param(LARGEST, Action.ACQUIRE, 0, id="begun-again"),
    ],
)
def test_transitions_begin_again_when_the_field_is_full(transitions, action, expected):
    body = claim(seen(lease(transitions=transitions)), action)

    assert body["spec"]["leaseTransitions"] == expected


def test_a_new_lease_is_ours_from_now():
    assert claim(None, Action.ACQUIRE) == {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": NAME, "namespace": NAMESPACE},
        "spec": {
            "holderIdentity": "us",
            "leaseDurationSeconds": 8,
            "acquireTime": WRITTEN,
            "renewTime": WRITTEN,
            "leaseTransitions": 0,
        },
    }


NOTED: dict[str, Any] = {
    "uid": "u",
    "annotations": {"note": "a"},
    "labels": {"team": "storage"},
    "finalizers": ["example.com/kept"],
    "somethingNew": {"from": "a later release"},
}


def test_a_renewal_changes_nothing_but_its_time_and_how_long_it_lasts():
    body = claim(seen(lease("us", duration=1, **NOTED)), Action.RENEW)

    assert body == lease("us", renewed=WRITTEN, **NOTED)


def test_a_take_over_keeps_nothing_of_the_old_holder():
    body = claim(seen(lease(duration=30, **NOTED)), Action.ACQUIRE)

    assert body == lease("us", acquired=WRITTEN, renewed=WRITTEN, transitions=4, **NOTED)


def test_a_released_lease_is_free_at_once():
    body = released(seen(lease("us", **NOTED)), wall_time=NOW, settings=lease_settings())

    assert body == lease("", duration=1, acquired=WRITTEN, renewed=WRITTEN, **NOTED)
    assert decided(seen(body, now=100.0), now=100.0) is Action.ACQUIRE


@pytest.mark.parametrize("found", [{}, {"annotations": None}, {"annotations": {"count": "1"}}])
def test_annotations_are_added_to_those_found(found):
    def count(notes: Mapping[str, str]) -> dict[str, str]:
        return {f"after-{len(notes)}": "x"}

    body = lease(**found)

    notes = found.get("annotations") or {}
    assert annotated(body, count) == lease(annotations={**notes, f"after-{len(notes)}": "x"})
    assert annotated(body, lambda _: {}) == body == lease(**found)


@given(st.datetimes(min_value=datetime(2000, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001
def test_a_time_has_six_digits_and_a_zone_and_reads_back_as_it_was(moment):
    written = micro_time(moment)

    assert len(written) == len(WRITTEN)
    assert written.endswith("Z")
    assert datetime.fromisoformat(written) == moment


@pytest.mark.parametrize(
    ("duration", "deadline", "retry"),
    [
        pytest.param(8, 8.0, 1.0, id="deadline-as-long-as-the-lease"),
        pytest.param(8, 9.0, 1.0, id="deadline-longer-than-the-lease"),
        pytest.param(8, 5.0, 2.5, id="deadline-of-two-retries"),
        pytest.param(8, 5.0, 4.0, id="retry-close-to-the-deadline"),
        pytest.param(8, 5.0, 0.0, id="no-retry-period"),
        pytest.param(0, -1.0, -2.0, id="all-negative"),
        pytest.param(8, float("nan"), 1.0, id="no-number"),
    ],
)
def test_durations_that_are_not_safe_are_refused(duration, deadline, retry):
    with pytest.raises(ValueError, match=rf"lease duration {duration} s .* retry period {retry} s"):
        lease_settings(duration=duration, renew_deadline=deadline, retry=retry)


def test_the_defaults_and_durations_that_just_leave_room_are_safe():
    assert LeaseSettings(name=NAME, namespace=NAMESPACE, identity="us") == lease_settings()
    assert lease_settings(duration=1, renew_deadline=0.99, retry=0.49).duration_seconds == 1


def test_an_instance_needs_an_identity():
    with pytest.raises(ValueError, match="needs an identity"):
        lease_settings("")
