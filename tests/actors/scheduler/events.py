"""What the scheduler tells of itself, to who watches it."""

from collections.abc import Sequence

import msgspec

from tests.actors.api import Object


class Asked(msgspec.Struct, frozen=True):
    """The extender is asked about a pod, as it is known here."""

    pod: Object
    candidates: Sequence[str]


class Answered(msgspec.Struct, frozen=True):
    """The call is over; with *error* it failed."""

    pod: Object
    accepted: Sequence[str]
    error: str = ""


class Assumed(msgspec.Struct, frozen=True):
    """A node was chosen: from here on the pod counts there."""

    pod: Object
    node: str


class Forgotten(msgspec.Struct, frozen=True):
    """Binding failed, and the pod no longer counts on its node."""

    pod: Object
    node: str
    why: str


class Bound(msgspec.Struct, frozen=True):
    """The API server took the binding."""

    pod: Object
    node: str


class Refused(msgspec.Struct, frozen=True):
    """The pod found no node; *reason* is that of its condition."""

    pod: Object
    reason: str
    message: str


Event = Asked | Answered | Assumed | Forgotten | Bound | Refused
