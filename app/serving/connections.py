"""The connections of clients: bounded in number, and in the time that each may keep us waiting.

uvicorn bounds neither: headers may arrive byte by byte for ever, and an answer that nobody takes
is kept for ever. What bounds the bodies is in `app/serving/body.py`.
"""

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from app.config import Settings
from app.metrics import Metrics


class Connections:
    """All connections that are open, on whatever port.

    One with a request that has arrived whole is owed its answer. The others are there on
    sufferance: beyond the limit, the one that has kept us waiting longest gives way, so that
    whoever opens many connections displaces his own and not the next request of kube-scheduler.
    """

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self.settings = settings
        self._metrics = metrics
        self._open: set[Connection] = set()
        self._waiting: dict[Connection, None] = {}
        """Those without a whole request, in the order in which they began to wait."""
        self._untaken: set[Connection] = set()
        """Those whose client does not take its answer as fast as it is sent."""
        metrics.connections.set_function(lambda: len(self._open))

    def unsent_bytes(self) -> int:
        """Return how much of answers is kept for clients that do not take them."""
        return sum(each.transport.get_write_buffer_size() for each in self._untaken)

    def opened(self, connection: "Connection") -> None:
        """Take in a connection; another one gives way if there are too many."""
        self._open.add(connection)
        self._waiting[connection] = None
        if len(self._open) > self.settings.connection_limit:
            next(iter(self._waiting)).end("displaced")

    def waits(self, connection: "Connection") -> None:
        """Take in that a connection has had its answer."""
        if connection in self._open:
            self._waiting[connection] = None

    def is_owed(self, connection: "Connection") -> None:
        """Take in that a request has arrived whole."""
        self._waiting.pop(connection, None)

    def is_untaken(self, connection: "Connection") -> None:
        """Take in that a client does not take its answer as fast as it is sent."""
        self._untaken.add(connection)

    def is_taken(self, connection: "Connection") -> None:
        """Take in that it has."""
        self._untaken.discard(connection)

    def closed(self, connection: "Connection") -> None:
        """Forget a connection."""
        self._open.discard(connection)
        self._waiting.pop(connection, None)
        self._untaken.discard(connection)

    def count_end(self, cause: str) -> None:
        """Count a connection that this side ends."""
        self._metrics.connections_ended_total.labels(cause).inc()


class Connection(H11Protocol):
    """HTTP to one client, with deadlines for its headers and for taking the answer.

    On h11, which bounds the size of headers; httptools would read them at any length.
    """

    def __init__(self, connections: Connections, **of_uvicorn: Any) -> None:
        super().__init__(**of_uvicorn)
        self._connections = connections
        self._rest_due: asyncio.TimerHandle | None = None
        self._taking_due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request, as long as between two requests.

        kube-scheduler's client opens connections that it needs only later.
        """
        super().connection_made(transport)
        self._keep_alive()
        self._connections.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Clean up."""
        super().connection_lost(exc)
        self._unset_keepalive_if_required()
        self._rest_came()
        self._was_taken()
        self._connections.closed(self)

    def data_received(self, data: bytes) -> None:
        """Read on."""
        super().data_received(data)
        self._look_what_is_due()

    def on_response_complete(self) -> None:
        """Wait for the next request, which may be there already."""
        super().on_response_complete()
        self._connections.waits(self)
        self._look_what_is_due()

    def pause_writing(self) -> None:
        """Give the client time to take its answer."""
        super().pause_writing()
        self._connections.is_untaken(self)
        seconds = self._connections.settings.answer_timeout_seconds
        self._taking_due = self.loop.call_later(seconds, self.end, "answer_not_taken")

    def resume_writing(self) -> None:
        """Stop the clock."""
        super().resume_writing()
        self._was_taken()

    def end(self, cause: str) -> None:
        """Close at once, whatever was not sent."""
        self._connections.count_end(cause)
        self._connections.closed(self)
        self.transport.abort()

    def _look_what_is_due(self) -> None:
        """Start or stop the clocks on what the client has to send, from its first byte on."""
        if self.transport.is_closing():
            return
        is_answered = self.cycle is None or self.cycle.response_complete
        if not is_answered and not self.cycle.more_body:
            self._connections.is_owed(self)
        if self._is_part_of_something(is_answered=is_answered):
            if self._rest_due is None:
                seconds = self._connections.settings.body_timeout_seconds
                self._rest_due = self.loop.call_later(seconds, self.end, "headers_late")
            return
        self._rest_came()
        if is_answered and self.timeout_keep_alive_task is None:
            self._keep_alive()

    def _is_part_of_something(self, *, is_answered: bool) -> bool:
        """Whether the client owes the rest of its headers, or of a body that nobody reads.

        The latter is thrown away as it comes, so that the client gets to read its answer.
        """
        if self.conn.their_state is h11.SEND_BODY:
            return is_answered
        return self.conn.their_state is h11.IDLE and bool(self.conn.trailing_data[0])

    def _keep_alive(self) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(
            self.timeout_keep_alive, self.timeout_keep_alive_handler
        )

    def _rest_came(self) -> None:
        if self._rest_due is not None:
            self._rest_due.cancel()
            self._rest_due = None

    def _was_taken(self) -> None:
        self._connections.is_taken(self)
        if self._taking_due is not None:
            self._taking_due.cancel()
            self._taking_due = None
