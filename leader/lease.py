"""The lease that one instance of the service holds, and what to do with it: pure functions.

The rules are those of client-go's tools/leaderelection: a holder counts as alive while its record
keeps changing. The observer measures this by its own clock, from when it saw the last change. The
times in the record come from another machine, and are never compared with this clock.
"""

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from enum import Enum
from typing import Any, TypeGuard

import msgspec

API_VERSION = "coordination.k8s.io/v1"

_LIMIT = 2**31
"""Numbers in a lease are signed and have 32 bits."""


class LeaseSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Which lease, under which identity, and the three durations of client-go."""

    name: str
    namespace: str
    identity: str
    """Different for every start of a process: one that restarts is a new instance."""
    duration_seconds: int = 8
    """Another instance takes the lease when its holder has not renewed it for this long."""
    renew_deadline_seconds: float = 6.5
    """The holder acts for this long, from the start of its last successful renewal."""
    retry_seconds: float = 1.0
    """The pause between two renewals. Instances that do not lead read somewhat more often."""

    def __post_init__(self) -> None:
        """Check what safety and progress need: an identity, and durations of the right order."""
        if not self.identity:
            raise ValueError("an instance needs an identity to take the lease")
        if not self.duration_seconds > self.renew_deadline_seconds > 2 * self.retry_seconds > 0:
            raise ValueError(
                f"lease duration {self.duration_seconds} s must exceed the renew deadline "
                f"{self.renew_deadline_seconds} s, and that twice the retry period "
                f"{self.retry_seconds} s"
            )


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of the lease's spec that we use."""

    holder: str
    duration_seconds: int
    acquire_time: str
    renew_time: str
    transitions: int


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """A record, and since when it has not changed, by our own clock."""

    record: Record
    seen_at: float
    metadata: Mapping[str, Any]
    """As read, with the resourceVersion, to be written back. Empty if the lease was deleted."""

    @property
    def expires_at(self) -> float:
        """When the holder counts as dead, unless the record changes before."""
        return self.seen_at + self.record.duration_seconds


class Action(Enum):
    """What to do next."""

    RENEW = "renew"
    ACQUIRE = "acquire"
    WAIT = "wait"


def observe(
    previous: Observed | None,
    body: Mapping[str, Any] | None,
    *,
    now: float,
    settings: LeaseSettings,
) -> Observed | None:
    """Return what is known after a read (None: there is no lease), with the last change's time.

    When a lease is deleted, its holder goes on acting for a while. It may have renewed the lease
    since we last read it, and the holder may be another one by now. So the record we saw last
    counts on, from when we first find the lease deleted, for the duration that ours has.
    """
    if body is None:
        if previous is None or not previous.metadata:
            return previous
        record = msgspec.structs.replace(
            previous.record, duration_seconds=settings.duration_seconds
        )
        return Observed(record=record, seen_at=now, metadata={})
    record = _record(body, settings)
    unchanged = previous is not None and previous.record == record
    return Observed(
        record=record,
        seen_at=previous.seen_at if previous is not None and unchanged else now,
        metadata=body["metadata"],
    )


def decide(
    observed: Observed | None, *, identity: str, written: Collection[str], now: float
) -> Action:
    """Say what to do with the lease.

    Args:
        observed: What the last read gave; None if there has never been a lease.
        identity: Ours.
        written: The renewTimes that we wrote or may have written. A record with our identity and
            another renewTime was written by another process that uses our identity.
        now: Seconds of the clock that `observe` was given.
    """
    if observed is None or not observed.record.holder:
        return Action.ACQUIRE
    if is_ours(observed, identity=identity, written=written):
        return Action.RENEW
    return Action.ACQUIRE if now >= observed.expires_at else Action.WAIT


def is_ours(observed: Observed, *, identity: str, written: Collection[str]) -> bool:
    """Say whether we wrote the record."""
    return observed.record.holder == identity and observed.record.renew_time in written


def claimed(
    observed: Observed | None, *, action: Action, wall_time: datetime, settings: LeaseSettings
) -> dict[str, Any]:
    """Return the lease to write in order to hold it.

    `leaseTransitions` grows by one whenever the holder changes. It begins at 0 with a new lease,
    and again after the largest number the field can have.
    """
    record = observed.record if observed else None
    renewed = action is Action.RENEW
    transitions = 0 if record is None else (record.transitions + (0 if renewed else 1)) % _LIMIT
    written_at = micro_time(wall_time)
    spec = {
        "holderIdentity": settings.identity,
        "leaseDurationSeconds": settings.duration_seconds,
        "acquireTime": record.acquire_time if record and renewed else written_at,
        "renewTime": written_at,
        "leaseTransitions": transitions,
    }
    return _lease(observed, spec, settings)


def released(observed: Observed, *, wall_time: datetime, settings: LeaseSettings) -> dict[str, Any]:
    """Return the lease to write so that anyone may take it at once."""
    written_at = micro_time(wall_time)
    spec = {
        "holderIdentity": "",
        "leaseDurationSeconds": 1,
        "acquireTime": written_at,
        "renewTime": written_at,
        "leaseTransitions": observed.record.transitions,
    }
    return _lease(observed, spec, settings)


def annotated(
    lease: Mapping[str, Any], annotate: Callable[[Mapping[str, str]], Mapping[str, str]]
) -> dict[str, Any]:
    """Return *lease* with what *annotate* returns added to its annotations.

    *annotate* is called with the annotations of the lease. Those it does not name stay.
    """
    found = lease["metadata"].get("annotations") or {}
    added = annotate(found)
    if not added:
        return dict(lease)
    return {**lease, "metadata": {**lease["metadata"], "annotations": {**found, **added}}}


def micro_time(moment: datetime) -> str:
    """Format a UTC time as the API server does for a lease: six decimals of a second, then Z.

    The API server refuses fewer decimals, and would return another format changed.
    """
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _lease(
    observed: Observed | None, spec: Mapping[str, Any], settings: LeaseSettings
) -> dict[str, Any]:
    known = observed.metadata if observed else {}
    return {
        "apiVersion": API_VERSION,
        "kind": "Lease",
        "metadata": known or {"name": settings.name, "namespace": settings.namespace},
        "spec": spec,
    }


def _record(body: Mapping[str, Any], settings: LeaseSettings) -> Record:
    """Read a lease. What is missing or makes no sense becomes what a new lease of ours has."""
    spec = body.get("spec") or {}
    duration = spec.get("leaseDurationSeconds")
    transitions = spec.get("leaseTransitions")
    return Record(
        holder=_text(spec.get("holderIdentity")),
        duration_seconds=duration
        if _is_count(duration) and duration
        else settings.duration_seconds,
        acquire_time=_text(spec.get("acquireTime")),
        renew_time=_text(spec.get("renewTime")),
        transitions=transitions if _is_count(transitions) else 0,
    )


def _is_count(value: object) -> TypeGuard[int]:
    return type(value) is int and 0 <= value < _LIMIT


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
