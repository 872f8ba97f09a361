"""Calls of filter: made out in the bytes that pass on a connection, and kept as lines of a file.

Read is what kube-scheduler and the service send: HTTP/1.1, one request at a time. Anything else
passes all the same; there is only less to tell of it.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

import h11
import msgspec

GAVE_UP = "client gave up"
PROXY_ENDED = "proxy ended"
REFUSED = "refused"
RESET = "reset"

_TEXT_LENGTH = 300


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A call of filter that was answered or failed; what could not be read is empty."""

    at: float
    """When the request had arrived, in seconds since the epoch; if it never did, when it ended."""
    seconds: float
    """From then until the whole answer was there, or the call had failed."""
    pod: str = ""
    """Namespace and name, with a slash between them."""
    uid: str = ""
    candidates: int = 0
    nominated: bool = False
    backend: str = ""
    """The address that was published, "" if there was none."""
    status: int = 0
    error: str = ""
    """What the answer says, or how the call failed."""
    accepted: list[str] = []
    rejected: dict[str, str] = {}


def read_calls(path: Path, *, skip_bytes: int = 0) -> list[Call]:
    """Read what was recorded so far; a last line that is being written is left out."""
    with path.open("rb") as file:
        file.seek(skip_bytes)
        *lines, _ = file.read().split(b"\n")
    return [msgspec.json.decode(line, type=Call) for line in lines]


class Message:
    """A request or an answer."""

    def __init__(self, head: h11.Request | h11.Response) -> None:
        self.head = head
        self.body = bytearray()
        self.is_whole = False
        self.arrived = 0.0
        """When it was whole, by the clock of the event loop."""

    @property
    def is_filter(self) -> bool:
        if not isinstance(self.head, h11.Request) or self.head.method != b"POST":
            return False
        return self.head.target.partition(b"?")[0].endswith(b"/filter")


class Messages:
    """Cuts what passes in one direction into messages. After what is no HTTP it finds no more.

    Args:
        role: Of who reads them: `h11.SERVER` for requests, `h11.CLIENT` for answers.
    """

    def __init__(self, role: type[h11.SERVER] | type[h11.CLIENT]) -> None:
        self._role = role
        self._connection = h11.Connection(role)
        self._message: Message | None = None
        self._is_lost = False

    def feed(self, data: bytes) -> Iterator[Message]:
        """Yield each message twice: as soon as its head is there, and when it is whole."""
        try:
            while data and not self._is_lost:
                self._connection.receive_data(data)
                data = b""
                while message := self._next():
                    yield message
                    if message.is_whole:
                        data, _ = self._connection.trailing_data
                        self._connection = h11.Connection(self._role)
                        break
        except h11.RemoteProtocolError:
            self._is_lost = True

    def _next(self) -> Message | None:
        """Read on to the next head or the next end; None if more must come in before."""
        while True:
            event = self._connection.next_event()
            if isinstance(event, h11.Request | h11.Response):
                self._message = Message(event)
                return self._message
            if self._message is None or not isinstance(event, h11.Data | h11.EndOfMessage):
                return None
            if isinstance(event, h11.EndOfMessage):
                self._message.is_whole = True
                return self._message
            self._message.body += event.data


class Watcher:
    """Follows the requests and answers of one connection, and tells of the calls of filter.

    Args:
        backend: Where the connection leads.
        record: Told of each call once: when it is answered or has failed.
    """

    def __init__(self, backend: str, record: Callable[[Call], None]) -> None:
        self._backend = backend
        self._record = record
        self._requests = Messages(h11.SERVER)
        self._answers = Messages(h11.CLIENT)
        self._asked: deque[Message] = deque()

    @property
    def is_asked(self) -> bool:
        """Whether a whole request waits for its answer."""
        return any(request.is_whole for request in self._asked)

    def request(self, data: bytes, now: float) -> None:
        """Take note of what the client sent."""
        for message in self._requests.feed(data):
            if message.is_whole:
                message.arrived = now
            else:
                self._asked.append(message)

    def answer(self, data: bytes, now: float) -> None:
        """Take note of what the backend sent; it may answer before the request is whole."""
        for message in self._answers.feed(data):
            if message.is_whole and self._asked and isinstance(message.head, h11.Response):
                outcome = _outcome(message.head.status_code, message.body)
                self._tell(self._asked.popleft(), outcome, now)

    def end(self, error: str, now: float) -> None:
        """Give up waiting for answers, for the reason given."""
        while self._asked:
            self._tell(self._asked.popleft(), _Outcome(error=error), now)

    def _tell(self, request: Message, outcome: "_Outcome", now: float) -> None:
        if not request.is_filter:
            return
        args = _decoded(request.body)
        metadata = args.pod.metadata
        seconds = now - request.arrived if request.is_whole else 0.0
        self._record(
            Call(
                at=time.time() - seconds,
                seconds=seconds,
                pod=f"{metadata.namespace}/{metadata.name}" if metadata.name else "",
                uid=metadata.uid,
                candidates=len(_names(args.nodes, args.node_names)),
                nominated=bool(args.pod.status.nominated_node_name),
                backend=self._backend,
                status=outcome.status,
                error=outcome.error,
                accepted=outcome.accepted,
                rejected=outcome.rejected,
            )
        )


class _Outcome(msgspec.Struct):
    error: str
    status: int = 0
    accepted: list[str] = []
    rejected: dict[str, str] = {}


class _Metadata(msgspec.Struct):
    name: str = ""
    namespace: str = ""
    uid: str = ""


class _Status(msgspec.Struct, rename="camel"):
    nominated_node_name: str = ""


class _Pod(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    status: _Status = msgspec.field(default_factory=_Status)


class _Node(msgspec.Struct):
    metadata: _Metadata


class _Nodes(msgspec.Struct):
    items: list[_Node] | None = None


class _Args(msgspec.Struct, rename="pascal"):
    pod: _Pod = msgspec.field(default_factory=_Pod)
    nodes: _Nodes | None = None
    node_names: list[str] | None = None


class _Result(msgspec.Struct, rename="pascal"):
    nodes: _Nodes | None = None
    node_names: list[str] | None = None
    failed_nodes: dict[str, str] | None = None
    failed_and_unresolvable_nodes: dict[str, str] | None = None
    error: str = ""


def _decoded(body: bytearray) -> _Args:
    try:
        return msgspec.json.decode(body, type=_Args)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _Args()


def _outcome(status: int, body: bytearray) -> _Outcome:
    if status != 200:
        return _Outcome(error=body.decode(errors="replace")[:_TEXT_LENGTH], status=status)
    try:
        result = msgspec.json.decode(body, type=_Result)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return _Outcome(error=f"the answer cannot be decoded: {error}", status=status)
    return _Outcome(
        error=result.error,
        status=status,
        accepted=_names(result.nodes, result.node_names),
        rejected={
            **(result.failed_nodes or {}),
            **(result.failed_and_unresolvable_nodes or {}),
        },
    )


def _names(nodes: _Nodes | None, node_names: list[str] | None) -> list[str]:
    if nodes is None:
        return node_names or []
    return [node.metadata.name for node in nodes.items or ()]
