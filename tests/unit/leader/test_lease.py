"""What a lease means to a candidate, and what it writes over it."""

from collections.abc import Collection
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
    claimed,
    decide,
    is_ours,
    micro_time,
    observe,
    released,
)
from tests.unit.leader.leases import (
    ACQUIRED,
    NAME,
    NAMESPACE,
    RENEWED,
    lease,
    lease_settings,
)

NOW = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
WRITTEN = "2026-03-01T12:00:00.123456Z"
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


def without(field: str) -> dict[str, Any]:
    body = lease()
    del body["spec"][field]
    return body


def test_what_is_read_is_kept() -> None:
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
        pytest.param({**lease(), "spec": {"preferredHolder": "them"}}, id="unknown-field-only"),
        pytest.param(
            lease(None, duration=None, acquired=None, renewed=None, transitions=None),
            id="null-fields",
        ),
        pytest.param(
            lease(7, duration="8", acquired=1, renewed=[], transitions="3"), id="wrong-types"
        ),
    ],
)
def test_a_lease_that_says_nothing_is_free_and_lasts_as_long_as_ours(body: dict[str, Any]) -> None:
    observed = seen(body)

    assert observed.record == Record(
        holder="", duration_seconds=8, acquire_time="", renew_time="", transitions=0
    )
    assert decided(observed, now=100.0) is Action.ACQUIRE


@pytest.mark.parametrize(
    ("duration", "seconds"),
    [
        pytest.param(1, 1, id="shortest"),
        pytest.param(15, 15, id="longer-than-ours"),
        pytest.param(LARGEST, LARGEST, id="longest-that-fits-the-field"),
        pytest.param(0, 8, id="zero"),
        pytest.param(-1, 8, id="negative"),
        pytest.param(2**31, 8, id="does-not-fit-the-field"),
        pytest.param(10**400, 8, id="no-float-is-so-large"),
        pytest.param(None, 8, id="null"),
        pytest.param(1.5, 8, id="fraction"),
        pytest.param("15", 8, id="text"),
        pytest.param(True, 8, id="boolean"),
        pytest.param({"seconds": 15}, 8, id="object"),
    ],
)
def test_a_duration_that_makes_no_sense_is_ours(duration: object, seconds: int) -> None:
    observed = seen(lease(duration=duration), now=100.0)

    assert observed.record.duration_seconds == seconds
    assert type(observed.record.duration_seconds) is int
    assert observed.expires_at == 100.0 + seconds


def test_a_missing_duration_is_ours() -> None:
    assert seen(without("leaseDurationSeconds")).record.duration_seconds == 8


@pytest.mark.parametrize(
    ("transitions", "counted"),
    [
        pytest.param(0, 0, id="none-yet"),
        pytest.param(LARGEST, LARGEST, id="largest-that-fits-the-field"),
        pytest.param(2**31, 0, id="does-not-fit-the-field"),
        pytest.param(-1, 0, id="negative"),
        pytest.param(None, 0, id="null"),
        pytest.param("3", 0, id="text"),
        pytest.param(2.5, 0, id="fraction"),
        pytest.param(True, 0, id="boolean"),
    ],
)
def test_transitions_that_cannot_be_counted_begin_again(transitions: object, counted: int) -> None:
    record = seen(lease(transitions=transitions)).record

    assert record.transitions == counted
    assert type(record.transitions) is int


def test_a_record_ages_from_when_it_was_first_seen() -> None:
    first = seen(lease(version="7"), now=100.0)

    again = seen(lease(version="7"), after=first, now=104.0)

    assert again == first


def test_an_annotation_does_not_prolong_a_record_but_its_version_is_taken() -> None:
    first = seen(lease(version="7"), now=100.0)

    again = seen(lease(version="8", annotations={"note": "a"}), after=first, now=104.0)

    assert again.seen_at == 100.0
    assert again.metadata["resourceVersion"] == "8"
    assert again.metadata["annotations"] == {"note": "a"}


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(lease("others"), id="holder"),
        pytest.param(lease(duration=9), id="duration"),
        pytest.param(lease(acquired=LATER), id="acquired"),
        pytest.param(lease(renewed=LATER), id="renewed"),
        pytest.param(lease(renewed="2026-03-01T09:00:00.000000Z"), id="renewed-earlier"),
        pytest.param(lease(transitions=4), id="transitions"),
        pytest.param(lease(None), id="emptied"),
    ],
)
def test_any_change_of_the_record_begins_its_time_anew(body: dict[str, Any]) -> None:
    first = seen(lease(), now=100.0)

    assert seen(body, after=first, now=104.0).seen_at == 104.0


def test_the_times_in_the_lease_are_never_compared() -> None:
    ancient, future = "1970-01-01T00:00:00.000000Z", "2999-01-01T00:00:00.000000Z"

    assert decided(seen(lease(renewed=ancient)), now=107.9) is Action.WAIT
    assert decided(seen(lease(renewed=future)), now=108.0) is Action.ACQUIRE


def test_without_a_lease_there_is_nothing_to_observe() -> None:
    assert missed(None, now=100.0) is None


@pytest.mark.parametrize("duration", [1, 8, 3600])
def test_a_deleted_lease_counts_after_it_is_missed_as_long_as_ours_would(duration: int) -> None:
    last = seen(lease(duration=duration), now=100.0)

    gone = missed(last, now=105.0)

    assert decided(gone, now=112.9) is Action.WAIT
    assert decided(gone, now=113.0) is Action.ACQUIRE


def test_a_deleted_lease_is_not_missed_anew_at_every_look() -> None:
    gone = missed(seen(now=100.0), now=105.0)

    assert missed(gone, now=112.0) == gone
    assert decided(missed(gone, now=113.0), now=113.0) is Action.ACQUIRE


def test_a_deleted_lease_is_created_anew_and_not_replaced() -> None:
    gone = missed(seen(lease(uid="u", annotations={"note": "a"})), now=105.0)

    body = claimed(gone, action=Action.ACQUIRE, wall_time=NOW, settings=lease_settings())

    assert body["metadata"] == {"name": NAME, "namespace": NAMESPACE}


def test_a_lease_that_comes_back_is_observed_as_any_other() -> None:
    gone = missed(seen(now=100.0), now=105.0)

    back = seen(lease("others", version="9"), after=gone, now=106.0)

    assert back.seen_at == 106.0
    assert back.metadata["resourceVersion"] == "9"
    assert decided(back, now=113.9) is Action.WAIT


@pytest.mark.parametrize(
    ("observed", "now", "expected"),
    [
        pytest.param(None, 100.0, Action.ACQUIRE, id="no-lease-yet"),
        pytest.param(seen(lease("")), 100.0, Action.ACQUIRE, id="emptied"),
        pytest.param(seen(lease(None)), 100.0, Action.ACQUIRE, id="null-holder"),
        pytest.param(seen(lease("", duration=1)), 100.0, Action.ACQUIRE, id="released"),
        pytest.param(missed(seen(lease("")), now=101.0), 101.0, Action.ACQUIRE, id="free-deleted"),
        pytest.param(seen(lease()), 100.0, Action.WAIT, id="theirs-and-new"),
        pytest.param(seen(lease()), 107.999, Action.WAIT, id="theirs-and-fresh"),
        pytest.param(seen(lease()), 108.0, Action.ACQUIRE, id="theirs-and-just-expired"),
        pytest.param(seen(lease(duration=15)), 114.9, Action.WAIT, id="by-their-duration"),
        pytest.param(seen(lease(duration=15)), 115.0, Action.ACQUIRE, id="by-their-duration-out"),
        pytest.param(seen(lease(duration=1)), 101.0, Action.ACQUIRE, id="a-short-one-out"),
        pytest.param(seen(lease(duration=LARGEST)), 10.0**9, Action.WAIT, id="a-huge-one"),
        pytest.param(seen(lease("us")), 100.0, Action.RENEW, id="ours"),
        pytest.param(seen(lease("us")), 200.0, Action.RENEW, id="ours-and-expired-but-not-taken"),
        pytest.param(missed(seen(lease("us")), now=101.0), 101.0, Action.RENEW, id="ours-deleted"),
        pytest.param(seen(lease("us", renewed=LATER)), 100.0, Action.WAIT, id="in-our-name"),
        pytest.param(seen(lease("us", renewed=LATER)), 108.0, Action.ACQUIRE, id="in-our-name-out"),
        pytest.param(seen(lease("us", renewed=None)), 107.9, Action.WAIT, id="ours-without-a-time"),
        pytest.param(seen(lease("US")), 107.9, Action.WAIT, id="another-spelling"),
    ],
)
def test_decide(observed: Observed | None, now: float, expected: Action) -> None:
    assert decided(observed, now, written={RENEWED}) is expected


def test_a_restarted_process_does_not_take_its_predecessors_lease_for_its_own() -> None:
    assert decided(seen(lease("us")), now=107.9, written=()) is Action.WAIT


def test_a_record_is_ours_by_both_name_and_time() -> None:
    ours, theirs = seen(lease("us")), seen(lease("them"))

    assert is_ours(ours, identity="us", written={RENEWED, LATER})
    assert not is_ours(ours, identity="us", written={LATER})
    assert not is_ours(theirs, identity="us", written={RENEWED})


@pytest.mark.parametrize(
    ("observed", "action", "expected"),
    [
        pytest.param(None, Action.ACQUIRE, 0, id="created"),
        pytest.param(seen(lease(transitions=3)), Action.RENEW, 3, id="renewed"),
        pytest.param(seen(lease(transitions=3)), Action.ACQUIRE, 4, id="taken-over"),
        pytest.param(seen(lease("", transitions=3)), Action.ACQUIRE, 4, id="taken-when-free"),
        pytest.param(seen(lease(transitions=None)), Action.ACQUIRE, 1, id="taken-uncounted"),
        pytest.param(seen(lease(transitions=None)), Action.RENEW, 0, id="renewed-uncounted"),
        pytest.param(
            seen(lease(transitions=LARGEST - 1)), Action.ACQUIRE, LARGEST, id="last-that-fits"
        ),
        pytest.param(seen(lease(transitions=LARGEST)), Action.RENEW, LARGEST, id="last-renewed"),
        pytest.param(seen(lease(transitions=LARGEST)), Action.ACQUIRE, 0, id="begun-again"),
    ],
)
def test_transitions(observed: Observed | None, action: Action, expected: int) -> None:
    body = claimed(observed, action=action, wall_time=NOW, settings=lease_settings())

    assert body["spec"]["leaseTransitions"] == expected


def test_a_new_lease_is_ours_from_now() -> None:
    assert claimed(None, action=Action.ACQUIRE, wall_time=NOW, settings=lease_settings()) == {
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


def test_a_renewal_changes_nothing_but_its_time() -> None:
    body = claimed(seen(lease("us")), action=Action.RENEW, wall_time=NOW, settings=lease_settings())

    assert body == lease("us", renewed=WRITTEN)


def test_a_renewal_says_how_long_ours_lasts_now() -> None:
    body = claimed(
        seen(lease("us", duration=1)), action=Action.RENEW, wall_time=NOW, settings=lease_settings()
    )

    assert body["spec"]["leaseDurationSeconds"] == 8


def test_a_take_over_keeps_nothing_of_the_old_holder() -> None:
    observed = seen(lease(duration=30, transitions=3))

    body = claimed(observed, action=Action.ACQUIRE, wall_time=NOW, settings=lease_settings())

    assert body == lease("us", acquired=WRITTEN, renewed=WRITTEN, transitions=4)


def test_a_released_lease_is_free_at_once() -> None:
    body = released(seen(lease("us")), wall_time=NOW, settings=lease_settings())

    assert body == lease("", duration=1, acquired=WRITTEN, renewed=WRITTEN, transitions=3)
    assert decided(seen(body, now=100.0), now=100.0) is Action.ACQUIRE


def test_what_is_written_carries_all_metadata_that_was_read() -> None:
    noted = {
        "uid": "u",
        "annotations": {"note": "a"},
        "labels": {"team": "storage"},
        "finalizers": ["example.com/kept"],
        "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}],
        "managedFields": [{"manager": "kubectl", "operation": "Update"}],
        "somethingNew": {"from": "a later release"},
    }
    read = lease(version="41", **noted)

    renewed = claimed(seen(read), action=Action.RENEW, wall_time=NOW, settings=lease_settings())
    taken = claimed(seen(read), action=Action.ACQUIRE, wall_time=NOW, settings=lease_settings())
    given_back = released(seen(read), wall_time=NOW, settings=lease_settings())

    assert renewed["metadata"] == taken["metadata"] == given_back["metadata"] == read["metadata"]


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        pytest.param(NOW, "2026-03-01T12:00:00.123456Z", id="six-digits"),
        pytest.param(NOW.replace(microsecond=0), "2026-03-01T12:00:00.000000Z", id="none"),
        pytest.param(NOW.replace(microsecond=1), "2026-03-01T12:00:00.000001Z", id="leading-zeros"),
        pytest.param(
            NOW.replace(microsecond=100_000), "2026-03-01T12:00:00.100000Z", id="trailing"
        ),
        pytest.param(
            datetime(2024, 2, 29, 23, 59, 59, 999_999, tzinfo=UTC),
            "2024-02-29T23:59:59.999999Z",
            id="end-of-a-leap-day",
        ),
    ],
)
def test_a_time_has_six_digits_and_a_zone(moment: datetime, expected: str) -> None:
    assert micro_time(moment) == expected


@given(st.datetimes(min_value=datetime(2000, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001
def test_a_time_reads_back_as_it_was(moment: datetime) -> None:
    assert datetime.fromisoformat(micro_time(moment)) == moment


@pytest.mark.parametrize(
    ("duration", "deadline", "retry"),
    [
        pytest.param(8, 8.0, 1.0, id="deadline-as-long-as-the-lease"),
        pytest.param(8, 9.0, 1.0, id="deadline-longer-than-the-lease"),
        pytest.param(8, 5.0, 2.5, id="deadline-of-two-retries"),
        pytest.param(8, 5.0, 4.0, id="retry-close-to-the-deadline"),
        pytest.param(8, 5.0, 0.0, id="no-retry-period"),
        pytest.param(8, 5.0, -1.0, id="negative-retry-period"),
        pytest.param(0, -1.0, -2.0, id="all-negative"),
        pytest.param(8, float("nan"), 1.0, id="no-number"),
    ],
)
def test_durations_that_are_not_safe_are_refused(
    duration: int, deadline: float, retry: float
) -> None:
    with pytest.raises(ValueError, match=rf"lease duration {duration} s .* retry period {retry} s"):
        lease_settings(duration=duration, renew_deadline=deadline, retry=retry)


@pytest.mark.parametrize(
    ("duration", "deadline", "retry"),
    [(8, 5.0, 1.0), (15, 10.0, 2.0), (8, 7.9, 3.9), (1, 0.5, 0.1), (3600, 5.0, 1.0)],
)
def test_durations_that_are_safe_are_taken(duration: int, deadline: float, retry: float) -> None:
    taken = lease_settings(duration=duration, renew_deadline=deadline, retry=retry)

    assert (taken.duration_seconds, taken.renew_deadline_seconds) == (duration, deadline)


def test_the_defaults_are_safe() -> None:
    assert LeaseSettings(name=NAME, namespace=NAMESPACE, identity="us") == lease_settings()


def test_a_candidate_needs_an_identity() -> None:
    with pytest.raises(ValueError, match="needs an identity"):
        lease_settings("")
