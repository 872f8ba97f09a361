"""HTTP with one client: what it may send, and how long it may keep us waiting.

uvicorn limits neither. A client may send headers byte by byte for ever. The limits on bodies are in
`app/serving/body.py`.
"""

import asyncio
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

import msgspec
import structlog
from httptools import HttpParserError
from starlette.responses import Response
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from app.process.connections import Connections

log = structlog.get_logger()

MOST_HEADERS, MOST_HEAD_BYTES = 100, 64 * 2**10
"""Of a request, with its first line. kube-scheduler sends seven headers."""
_SHOWN_NAMES_LENGTH = 200
"""Of the names in a certificate, in characters. Whoever asks for one may have chosen them."""


class Connection(HttpToolsProtocol):
    """HTTP with one client, who must send headers and read answers within a time.

    What is parsed in one go is what one read of the socket gives, 256 KiB at most. httptools limits
    neither the number nor the size of headers, so this does. One request comes after the other:
    what comes before its turn ends the connection. A body has a Content-Length: of one in chunks,
    each byte could be a chunk.

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
        self._head_bytes: int | None = None
        """What has come since the last request, while all headers of the next are not there."""
        self._is_body_missing = False
        self._take: Callable[[bytes], bool] | None = None
        """Where parts of the body go."""
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
        if self._allowed and self.scheme == "https":
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
        if self.transport.is_closing():
            return
        if self._head_bytes is not None:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._head_bytes is not None and self._head_bytes > MOST_HEAD_BYTES:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        self._set_rest_clock()

    def on_message_begin(self) -> None:
        """Begin a request, if the one before is answered."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.end("not_its_turn")
            raise HttpParserError
        super().on_message_begin()
        self._head_bytes = 0

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header, if there are not too many."""
        if len(self.headers) >= MOST_HEADERS:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
            raise HttpParserError
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Begin to answer, if the body has a length."""
        self._head_bytes, self._is_body_missing = None, True
        if any(name == b"transfer-encoding" for name, _ in self.headers):
            self._refuse(HTTPStatus.LENGTH_REQUIRED)
            raise HttpParserError
        super().on_headers_complete()
        self.scope["extensions"] = {"rest_of_body": self._rest_of_body}  # type: ignore[dict-item]

    def on_body(self, body: bytes) -> None:
        """Take a part of a body: to where that is wanted, or until it is."""
        if self._take is None:
            super().on_body(body)
        elif not self._take(body):
            self._take = _drop
            self.cycle.message_event.set()

    def on_message_complete(self) -> None:
        """Note that all of a request has arrived."""
        self._is_body_missing = False
        super().on_message_complete()

    async def _rest_of_body(self, take: Callable[[bytes], bool]) -> bool:
        """Give what comes of a body to *take*, as it comes; return whether the client has stayed.

        ASGI would copy it twice, and have a task woken for each part. If *take* says so, what comes
        then is dropped.
        """
        cycle = self.cycle
        if not take(bytes(cycle.body)):
            return True
        cycle.body, self._take = bytearray(), take
        try:
            self.flow.resume_reading()
            while cycle.more_body and self._take is take and not cycle.disconnected:
                cycle.message_event.clear()
                await cycle.message_event.wait()
        finally:
            self._take = None
        return not cycle.disconnected

    def on_response_complete(self) -> None:
        """Wait for the next request."""
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

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP, unless the connection is ended already."""
        del msg
        self._refuse(HTTPStatus.BAD_REQUEST)

    def _refuse(self, status: HTTPStatus) -> None:
        """Answer a request that no application sees, and close."""
        if self.transport.is_closing():
            return
        log.warning("http.refused", client=self.host, error=status.phrase.lower())
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            self.transport.write(refusal(status, status.phrase.lower()))
        self.transport.close()

    def _check_names(self, transport: asyncio.Transport) -> None:
        """Have each request refused unless the client's certificate has an allowed name."""
        names = names_of(transport.get_extra_info("peercert") or {})
        if names & self._allowed:
            return
        shown = ", ".join(sorted(names))[:_SHOWN_NAMES_LENGTH] or "nobody"
        text = f"the client's certificate is for {shown}; EXTENDER_CLIENT_NAMES has none of it"
        log.warning("tls.not_named", error=text, client=self.host)
        self._connections.count_end("client_not_named")
        self.app = Response(
            msgspec.json.encode({"error": text}),
            403,
            {"Connection": "close"},
            media_type="application/json",
        )

    def _set_rest_clock(self) -> None:
        """Start or stop the clock for the rest of what the client has begun to send.

        The rest of a body that is answered already is read and dropped, since many clients read the
        answer only after they have sent all of the request.
        """
        if self.transport.is_closing():
            return
        is_answered = self.cycle is None or self.cycle.response_complete
        if not is_answered and not self._is_body_missing:
            self._connections.set_answering(self)
        if self._head_bytes is not None or (is_answered and self._is_body_missing):
            if self._rest_clock is None:
                seconds = self._connections.settings.body_timeout_seconds
                self._rest_clock = self.loop.call_later(seconds, self.end, "headers_late")
            return
        self._stop_rest_clock()
        if is_answered and self.timeout_keep_alive_task is None:
            self._keep_alive()

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


def _drop(_: bytes) -> bool:
    return True


def refusal(status: HTTPStatus, text: str) -> bytes:
    """Return a whole answer that says why there is no other, after which the connection closes."""
    body = msgspec.json.encode({"error": text})
    head = (
        f"HTTP/1.1 {status} {status.phrase}\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
    )
    return head.encode() + body


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
