"""Leases, their settings and clocks for tests: every default is a lease that is fine."""

from datetime import UTC, datetime, timedelta
from typing import Any

from leader import LeaseSettings

NAME, NAMESPACE = "extender", "longhorn-system"
RENEWED = "2026-03-01T10:00:00.000000Z"
ACQUIRED = "2026-03-01T09:00:00.000000Z"

_START = datetime(2026, 3, 1, 12, tzinfo=UTC)


def lease_settings(
    identity: str = "us", *, duration: int = 8, renew_deadline: float = 5.0, retry: float = 1.0
) -> LeaseSettings:
    return LeaseSettings(
        name=NAME,
        namespace=NAMESPACE,
        identity=identity,
        duration_seconds=duration,
        renew_deadline_seconds=renew_deadline,
        retry_seconds=retry,
    )


def lease(
    holder: object = "them",
    *,
    duration: object = 8,
    acquired: object = ACQUIRED,
    renewed: object = RENEWED,
    transitions: object = 3,
    version: str = "7",
    **metadata: Any,
) -> dict[str, Any]:
    """Build a lease as it is read; whatever else stands in its metadata is given by name."""
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": NAME,
            "namespace": NAMESPACE,
            "resourceVersion": version,
            **metadata,
        },
        "spec": {
            "holderIdentity": holder,
            "leaseDurationSeconds": duration,
            "acquireTime": acquired,
            "renewTime": renewed,
            "leaseTransitions": transitions,
        },
    }


class Clock:
    """Seconds that pass when they are told to."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def wall(self) -> datetime:
        return _START + timedelta(seconds=self.now)

    def advance(self, seconds: float) -> None:
        self.now += seconds
