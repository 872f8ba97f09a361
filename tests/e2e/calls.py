"""Calls of filter: made out in the bytes that pass on a connection, and kept as lines of a file.

Read is what kube-scheduler and the service send: HTTP/1.1, bodies with a Content-Length, one
request at a time. Anything else passes all the same; there is only less to tell of it.
"""

import re
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

GAVE_UP = "client gave up"
PROXY_ENDED = "proxy ended"
REFUSED = "refused"
RESET = "reset"

_REQUEST = re.compile(r"[A-Z]+ \S+ HTTP/1\.[01]")
_ANSWER = re.compile(r"HTTP/1\.[01] [0-9]{3}( .*)?")
_LENGTH = re.compile(r"[0-9]{1,15}")
_HEAD_LIMIT_BYTES = 65536
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


def read_calls(path: Path) -> list[Call]:
    """Read what was recorded so far; a last line that is being written is left out."""
    *lines, _ = path.read_bytes().split(b"\n")
    return [msgspec.json.decode(line, type=Call) for line in lines]


class Message(msgspec.Struct):
    """A request or an answer."""

    start: str
    """Its first line."""
    length: int
    body: bytearray = msgspec.field(default_factory=bytearray)
    is_whole: bool = False
    arrived: float = 0.0
    """When it was whole, by the clock of the event loop."""

    @property
    def is_filter(self) -> bool:
        method, target, _ = self.start.split(" ")
        return method == "POST" and target.partition("?")[0].endswith("/filter")


class Messages:
    """Cuts what passes in one direction into messages. After what is no HTTP it finds no more.

    Args:
        start: What the first line of each looks like.
    """

    def __init__(self, start: re.Pattern[str]) -> None:
        self._start = start
        self._head = b""
        self._message: Message | None = None
        self._is_lost = False

    def feed(self, data: bytes) -> Iterator[Message]:
        """Yield each message twice: as soon as its head is there, and when it is whole."""
        data = self._head + data
        self._head = b""
        while data and not self._is_lost:
            if self._message is None:
                head, end, rest = data.partition(b"\r\n\r\n")
                if not end:
                    self._head = data
                    self._is_lost = len(data) > _HEAD_LIMIT_BYTES
                    return
                self._message = _message(head, self._start)
                if self._message is None:
                    self._is_lost = True
                    return
                data = rest
                yield self._message
            message = self._message
            taken = data[: message.length - len(message.body)]
            message.body += taken
            data = data[len(taken) :]
            if len(message.body) == message.length:
                message.is_whole = True
                self._message = None
                yield message


class Watcher:
    """Follows the requests and answers of one connection, and tells of the calls of filter.

    Args:
        backend: Where the connection leads.
        record: Told of each call once: when it is answered or has failed.
    """

    def __init__(self, backend: str, record: Callable[[Call], None]) -> None:
        self._backend = backend
        self._record = record
        self._requests = Messages(_REQUEST)
        self._answers = Messages(_ANSWER)
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
            status = int(message.start.split(" ")[1])
            if message.is_whole and status >= 200 and self._asked:
                self._tell(self._asked.popleft(), _outcome(status, message.body), now)

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


def _message(head: bytes, first_line: re.Pattern[str]) -> Message | None:
    """Read a head; None if it is not one. Without a Content-Length there is no body."""
    start, *lines = head.decode("latin-1").split("\r\n")
    fields = (line.partition(":") for line in lines)
    length = {name.lower(): value.strip() for name, _, value in fields}.get("content-length", "0")
    if not first_line.fullmatch(start) or not _LENGTH.fullmatch(length):
        return None
    return Message(start, int(length))


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
