"""What can go wrong between a client and the in-memory API server, and what was asked of it."""

from collections.abc import Callable, Mapping
from typing import Any

import aiohttp
import msgspec
from aiohttp.client_reqrep import ConnectionKey


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One request, in the words of RBAC.

    A list or watch whose field selector singles out one object has that object's name, as in the
    real authorizer (k8s.io/apiserver `pkg/endpoints/request/requestinfo.go`).
    """

    verb: str
    group: str
    resource: str
    namespace: str = ""
    name: str = ""
    client: str
    at: float
    query: Mapping[str, str] = {}
    headers: Mapping[str, str] = {}
    body: Any = None


class Refused(msgspec.Struct, frozen=True):
    """Nobody listens: the connection is refused, nothing is applied."""


class Delay(msgspec.Struct, frozen=True):
    """The request arrives late; afterwards all goes well."""

    seconds: float


class LostAnswer(msgspec.Struct, frozen=True):
    """The request is applied, then the connection breaks, or with *hang* stays silent."""

    hang: bool = False


class Hang(msgspec.Struct, frozen=True):
    """The request is swallowed: nothing is applied, nothing is answered."""


class Answer(msgspec.Struct, frozen=True):
    """Something in between answers instead, such as a proxy or a rate limit."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = {}


class CutAnswer(msgspec.Struct, frozen=True):
    """The request is applied, but the body of the answer breaks off half way."""


class WatchCut(msgspec.Struct, frozen=True):
    """The connection breaks after some events."""

    after_events: int = 0


class WatchHang(msgspec.Struct, frozen=True):
    """After some events nothing comes any more, not even the end."""

    after_events: int = 0


class WatchGarbage(msgspec.Struct, frozen=True):
    """After some events comes what is no event; then the watch goes on."""

    data: bytes
    after_events: int = 0


class WatchEndsAtOnce(msgspec.Struct, frozen=True):
    """The stream ends normally before its first event."""


WatchFaultKind = WatchCut | WatchHang | WatchGarbage | WatchEndsAtOnce
FaultKind = Refused | Delay | LostAnswer | Hang | Answer | CutAnswer | WatchFaultKind


def any_call(_: Call) -> bool:
    """Match every call."""
    return True


class Fault(msgspec.Struct):
    """A fault for the next *times* calls that match; None means for all of them.

    The kinds for watches never apply to other calls.
    """

    kind: FaultKind
    matches: Callable[[Call], bool] = any_call
    times: int | None = 1

    def take(self, call: Call) -> bool:
        """Tell whether the fault strikes this call, and count it if so."""
        if self.times == 0 or not _applies(self.kind, call) or not self.matches(call):
            return False
        if self.times is not None:
            self.times -= 1
        return True


def _applies(kind: FaultKind, call: Call) -> bool:
    return call.verb == "watch" or not isinstance(kind, WatchFaultKind)


def connection_refused() -> aiohttp.ClientConnectorError:
    """Build what aiohttp raises when nobody listens."""
    parts = dict.fromkeys(ConnectionKey._fields)
    key = ConnectionKey(**{**parts, "host": "fake", "port": 80, "is_ssl": False, "ssl": True})  # type: ignore[arg-type]  # the rest is optional
    return aiohttp.ClientConnectorError(key, ConnectionRefusedError(111, "Connect call failed"))
