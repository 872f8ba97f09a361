"""The connections of clients: limited in number, and in how long each may keep us waiting.

uvicorn limits neither. A client may send headers byte by byte for ever, and an answer that it does
not read is kept for ever. The limits on bodies are in `app/serving/body.py`.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping
from typing import Any

import h11
import msgspec
import structlog
from starlette.responses import Response
from uvicorn.protocols.http.h11_impl import H11Protocol

from app.config import ProcessSettings
from app.metrics import ProcessMetrics

log = structlog.get_logger()

MOST_UNSENT_BYTES = 32 * 2**20
"""Of answers that clients do not read. One with the names of 5,000 nodes is at most 0.7 MB."""
_SHOWN_NAMES_LENGTH = 200
"""Of the names in a certificate, in characters. Whoever asks for one may have chosen them."""


class Connections:
    """All open connections, on any port.

    A connection is *answering* once a whole request has arrived on it, and *waiting* before. Above
    the limit, the connection that has waited longest is closed. So a client that opens many
    connections loses its own ones, and the next request of kube-scheduler still gets in.

    A connection is *blocked* while its client reads its answer more slowly than it is sent. If that
    keeps too much, the client that keeps most loses what it has not read.
    """

    def __init__(self, settings: ProcessSettings, metrics: ProcessMetrics) -> None:
        self.settings = settings
        self._metrics = metrics
        self._open: set[Connection] = set()
        self._waiting: dict[Connection, None] = {}
        """In the order in which they began to wait."""
        self._blocked: set[Connection] = set()
        metrics.connections.set_function(lambda: len(self._open))

    def add(self, connection: "Connection") -> None:
        """Add a new connection, which waits; close another one if there are too many."""
        self._open.add(connection)
        self._waiting[connection] = None
        if len(self._open) > self.settings.connection_limit:
            next(iter(self._waiting)).end("displaced")

    def set_waiting(self, connection: "Connection") -> None:
        """Note that a connection has got its answer and waits for the next request."""
        if connection in self._open:
            self._waiting[connection] = None

    def set_answering(self, connection: "Connection") -> None:
        """Note that a whole request has arrived."""
        self._waiting.pop(connection, None)

    def block(self, connection: "Connection") -> None:
        """Note that a client reads its answer more slowly than it is sent."""
        self._blocked.add(connection)
        unsent = Counter[str]()
        for each in self._blocked:
            unsent[each.host] += each.transport.get_write_buffer_size()
        if unsent.total() > MOST_UNSENT_BYTES:
            [(host, _)] = unsent.most_common(1)
            for each in [each for each in self._blocked if each.host == host]:
                each.end("answer_not_taken")

    def unblock(self, connection: "Connection") -> None:
        """Note that the client has read enough for the rest to be sent."""
        self._blocked.discard(connection)

    def remove(self, connection: "Connection") -> None:
        """Forget a connection."""
        self._open.discard(connection)
        self._waiting.pop(connection, None)
        self._blocked.discard(connection)

    def count_end(self, cause: str) -> None:
        """Count a connection that the service closes, by *cause*, one of `CONNECTION_ENDS`."""
        self._metrics.connections_ended_total.labels(cause).inc()


class Connection(H11Protocol):
    """HTTP with one client, who must send headers and read answers within a time.

    It uses h11, which limits the size of headers. httptools would read them at any length.

    Args:
        connections: All of them.
        allowed: Names of which the client's certificate must have one; if there are none, any
            client is answered that got so far.
        of_uvicorn: What uvicorn's protocol needs.
    """

    def __init__(
        self, connections: Connections, allowed: frozenset[str] = frozenset(), **of_uvicorn: Any
    ) -> None:
        super().__init__(**of_uvicorn)
        self._connections = connections
        self._allowed = allowed
        self._rest_clock: asyncio.TimerHandle | None = None
        self._answer_clock: asyncio.TimerHandle | None = None

    @property
    def host(self) -> str:
        """Where the client is."""
        return self.client[0] if self.client else ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request for as long as between two requests.

        The client of kube-scheduler opens connections before it needs them.
        """
        super().connection_made(transport)
        if self._allowed:
            self._check_names(transport)
        self._keep_alive()
        self._connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop all clocks and forget the connection."""
        super().connection_lost(exc)
        self._unset_keepalive_if_required()
        self._stop_rest_clock()
        self._stop_answer_clock()
        self._connections.remove(self)

    def data_received(self, data: bytes) -> None:
        """Read what has arrived, and start or stop the clock for what is missing."""
        super().data_received(data)
        self._set_rest_clock()

    def on_response_complete(self) -> None:
        """Wait for the next request, which may be there already."""
        super().on_response_complete()
        self._connections.set_waiting(self)
        self._set_rest_clock()
        if not self.flow.write_paused:
            self._stop_answer_clock()

    def pause_writing(self) -> None:
        """Start the clock for reading the answer."""
        super().pause_writing()
        if self._answer_clock is None:
            seconds = self._connections.settings.answer_timeout_seconds
            self._answer_clock = self.loop.call_later(seconds, self.end, "answer_not_taken")
        self._connections.block(self)

    def resume_writing(self) -> None:
        """Stop the clock for reading the answer, unless there is more of it."""
        super().resume_writing()
        self._connections.unblock(self)
        if self.cycle is None or self.cycle.response_complete:
            self._stop_answer_clock()

    def end(self, cause: str) -> None:
        """Close at once and drop what is not sent yet."""
        self._connections.count_end(cause)
        self._connections.remove(self)
        self.transport.abort()

    def _check_names(self, transport: asyncio.Transport) -> None:
        """Have each request refused unless the client's certificate has an allowed name."""
        names = names_of(transport.get_extra_info("peercert") or {})
        if names & self._allowed:
            return
        shown = ", ".join(sorted(names))[:_SHOWN_NAMES_LENGTH] or "nobody"
        text = f"the client's certificate is for {shown}; EXTENDER_CLIENT_NAMES has none of it"
        log.warning("tls.not_named", error=text, client=self.client and self.client[0])
        self._connections.count_end("client_not_named")
        self.app = Response(
            msgspec.json.encode({"error": text}),
            403,
            {"Connection": "close"},
            media_type="application/json",
        )

    def _set_rest_clock(self) -> None:
        """Start or stop the clock for the rest of what the client has begun to send."""
        if self.transport.is_closing():
            return
        is_answered = self.cycle is None or self.cycle.response_complete
        if not is_answered and not self.cycle.more_body:
            self._connections.set_answering(self)
        if self._is_rest_missing(is_answered=is_answered):
            if self._rest_clock is None:
                seconds = self._connections.settings.body_timeout_seconds
                self._rest_clock = self.loop.call_later(seconds, self.end, "headers_late")
            return
        self._stop_rest_clock()
        if is_answered and self.timeout_keep_alive_task is None:
            self._keep_alive()

    def _is_rest_missing(self, *, is_answered: bool) -> bool:
        """Whether the rest of the headers is missing, or of a body that is answered already.

        The rest of such a body is read and dropped, since many clients read the answer only after
        they have sent all of the request.
        """
        if self.conn.their_state is h11.SEND_BODY:
            return is_answered
        return self.conn.their_state is h11.IDLE and bool(self.conn.trailing_data[0])

    def _keep_alive(self) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(
            self.timeout_keep_alive, self.timeout_keep_alive_handler
        )

    def _stop_rest_clock(self) -> None:
        if self._rest_clock is not None:
            self._rest_clock.cancel()
            self._rest_clock = None

    def _stop_answer_clock(self) -> None:
        if self._answer_clock is not None:
            self._answer_clock.cancel()
            self._answer_clock = None


def names_of(certificate: Mapping[str, Any]) -> set[str]:
    """Return the names that a certificate is for, as `ssl.SSLSocket.getpeercert` tells it.

    These are its common names, and its subject alternative names of every kind but whole
    directory names.
    """
    subject = {
        value
        for part in certificate.get("subject", ())
        for field, value in part
        if field == "commonName"
    }
    others = (value for _, value in certificate.get("subjectAltName", ()))
    return subject | {value for value in others if isinstance(value, str)}
