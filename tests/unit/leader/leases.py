"""Leases and their settings for tests: every default is a lease that is fine."""

from typing import Any

from leader import LeaseSettings

NAME, NAMESPACE = "extender", "longhorn-system"
RENEWED = "2026-03-01T10:00:00.000000Z"
ACQUIRED = "2026-03-01T09:00:00.000000Z"


def lease_settings(
    identity: str = "us", *, duration: int = 8, renew_deadline: float = 6.5, retry: float = 1.0
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
