"""What the leader election needs from the cluster: objects, written only over the version read.

Answers are values and not exceptions, because what to do next differs for each of them.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Protocol

import msgspec

Body = Mapping[str, Any]
"""An object as its JSON has it. Fields that we do not know are written back as they were read."""


class Collection(StrEnum):
    """The kinds of objects we use, by the plural in their paths."""

    LEASES = "leases"
    ENDPOINT_SLICES = "endpointslices"
    SERVICES = "services"
    PODS = "pods"


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """The object as the cluster has it now."""

    body: Body


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """All objects that were asked for."""

    bodies: Sequence[Body]


class Absent(msgspec.Struct, frozen=True, kw_only=True):
    """There is no such object."""


class Conflict(msgspec.Struct, frozen=True, kw_only=True):
    """Nothing was written: the object exists already, or changed since it was read."""


class Failed(msgspec.Struct, frozen=True, kw_only=True):
    """There was no answer, or an error. It is not known whether something was written."""

    why: str


class ObjectStore(Protocol):
    """The objects of one namespace. Every call ends within its deadline, and none raises."""

    async def read(
        self, collection: Collection, name: str, *, deadline_seconds: float
    ) -> Stored | Absent | Failed:
        """Return one object."""

    async def select(
        self, collection: Collection, labels: Mapping[str, str], *, deadline_seconds: float
    ) -> Listed | Failed:
        """Return the objects that have these labels."""

    async def create(
        self, collection: Collection, body: Body, *, deadline_seconds: float
    ) -> Stored | Conflict | Failed:
        """Create an object."""

    async def replace(
        self, collection: Collection, body: Body, *, deadline_seconds: float
    ) -> Stored | Absent | Conflict | Failed:
        """Replace an object, if it still has the resourceVersion that *body* has."""

    async def delete(
        self, collection: Collection, body: Body, *, deadline_seconds: float
    ) -> Stored | Absent | Conflict | Failed:
        """Delete an object, if it still has the resourceVersion that *body* has."""
