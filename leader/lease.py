"""The lease that one replica of the service holds, and what to do about it. All of it is pure.

Semantics are those of client-go's tools/leaderelection: a holder is alive as long as its record
keeps changing, measured by the observer's own clock from when it saw the last change. The times
in the record come from another machine and are never compared.
"""

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from enum import Enum
from typing import Any, TypeGuard

import msgspec

API_VERSION = "coordination.k8s.io/v1"

_LIMIT = 2**31
"""Numbers in a lease have 32 bit."""


class LeaseSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Which lease, as whom, and the three durations of client-go."""

    name: str
    namespace: str
    identity: str
    """Unique for every start of a process: a restarted one is another candidate."""
    duration_seconds: int = 8
    """Others take over when the holder has not renewed for so long."""
    renew_deadline_seconds: float = 5.0
    """The holder acts for so long after the start of its last successful renewal."""
    retry_seconds: float = 1.0
    """Pause between two renewals; candidates look somewhat more often."""

    def __post_init__(self) -> None:
        """Check the relations that safety and progress rest on."""
        if not self.identity:
            raise ValueError("a candidate for the lease needs an identity")
        if not self.duration_seconds > self.renew_deadline_seconds > 2 * self.retry_seconds > 0:
            raise ValueError(
                f"lease duration {self.duration_seconds} s must exceed the renew deadline "
                f"{self.renew_deadline_seconds} s, and that twice the retry period "
                f"{self.retry_seconds} s"
            )


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """What the lease says: its spec, without what we do not use."""

    holder: str
    duration_seconds: int
    acquire_time: str
    renew_time: str
    transitions: int


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """A record, and since when it has stood unchanged by our own clock."""

    record: Record
    seen_at: float
    metadata: Mapping[str, Any]
    """As read, to be written back; with the resourceVersion. Empty if the lease was deleted."""

    @property
    def expires_at(self) -> float:
        """When the holder is to be taken for dead, if the record does not change before."""
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
    """Take in what was read (None: no lease), keeping the time of the last change.

    A deleted lease does not make its holder stop, who may have renewed it since it was last seen,
    or be another one by now. So the record seen last counts from when the lease is first found
    deleted, and for as long as a lease of ours would.
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
    """Say what to do about the lease.

    Args:
        observed: What was last read.
        identity: Ours.
        written: The renewTimes we wrote or may have written. A record under our name with another
            one is somebody else's, who acts under our name.
        now: By the clock that `observe` was given.
    """
    if observed is None or not observed.record.holder:
        return Action.ACQUIRE
    if is_ours(observed, identity=identity, written=written):
        return Action.RENEW
    return Action.ACQUIRE if now >= observed.expires_at else Action.WAIT


def is_ours(observed: Observed, *, identity: str, written: Collection[str]) -> bool:
    """Say whether the record is one that we wrote."""
    return observed.record.holder == identity and observed.record.renew_time in written


def claimed(
    observed: Observed | None, *, action: Action, wall_time: datetime, settings: LeaseSettings
) -> dict[str, Any]:
    """Return the lease as it is to be written to hold it.

    `leaseTransitions` grows by one whenever the holder changes; a new lease begins at 0, as does
    the count when it has reached what the field holds.
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
    """Return the lease as it is to be written for anyone to take at once."""
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
    """Return *lease* as it is to be written, with what *annotate* makes of its annotations.

    What it returns is added to those found; the ones it does not name stay as they are.
    """
    found = lease["metadata"].get("annotations") or {}
    added = annotate(found)
    if not added:
        return dict(lease)
    return {**lease, "metadata": {**lease["metadata"], "annotations": {**found, **added}}}


def micro_time(moment: datetime) -> str:
    """Write a UTC time as the API server writes it for a lease: six digits, then Z.

    Fewer digits are refused, and another spelling would come back changed.
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
    """Read a lease; what is missing or makes no sense counts as what a lease of ours would have."""
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
