"""Which instance answers: the Lease, and the EndpointSlices that point at its holder."""

from leader.election import Election, Leadership
from leader.lease import LeaseSettings
from leader.publisher import Publisher, PublisherSettings
from leader.store import (
    Absent,
    Body,
    Collection,
    Conflict,
    Failed,
    Listed,
    ObjectStore,
    Stored,
)

__all__ = [
    "Absent",
    "Body",
    "Collection",
    "Conflict",
    "Election",
    "Failed",
    "Leadership",
    "LeaseSettings",
    "Listed",
    "ObjectStore",
    "Publisher",
    "PublisherSettings",
    "Stored",
]
