"""Lets clients in on one port: with TLS, those alone that show a certificate.

Until a client has shown one, it is a stranger: it has a socket and no connection, there are few of
them, and of one address fewer. So strangers displace strangers, and never kube-scheduler.
"""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable
from http import HTTPStatus

import structlog

from app.config import ProcessSettings
from app.metrics import ProcessMetrics
from app.process.http import MOST_HEAD_BYTES, Connection, refusal

log = structlog.get_logger()

MOST_STRANGERS, MOST_OF_AN_ADDRESS = 100, 20
"""Sockets whose handshake is not over. kube-scheduler opens one connection for each pod that it
binds while all others are in use."""
_HANDSHAKE = b"\x16"
"""The first byte of TLS (RFC 8446, 5.1), and of no method of HTTP."""
_SECONDS_WITHOUT_FILES = 1.0
"""Before it accepts again when the process has no file descriptor left."""
_PLAIN = "this port is for HTTPS, with a certificate for the client (docs/tls.md)"


class PlainError(Exception):
    """A client speaks plain HTTP where it may not."""


class Door:
    """Accepts connections on one listening socket until it is closed.

    Args:
        listener: The socket.
        new_connection: Makes the protocol of a client that is let in.
        settings: How long a handshake may take.
        metrics: Counts handshakes that fail, and strangers that are displaced.
        tls: What clients are let in by; None: everybody is, over plain HTTP.
        is_plain_open: Whether plain HTTP is answered beside TLS at this moment.
    """

    def __init__(
        self,
        listener: socket.socket,
        new_connection: Callable[[], Connection],
        settings: ProcessSettings,
        metrics: ProcessMetrics,
        *,
        tls: ssl.SSLContext | None = None,
        is_plain_open: Callable[[], bool] = lambda: False,
    ) -> None:
        listener.settimeout(0)
        self._listener = listener
        self._new_connection = new_connection
        self._settings, self._metrics = settings, metrics
        self._tls, self._is_plain_open = tls, is_plain_open
        self._strangers: dict[asyncio.Task[None], str] = {}
        """With the address of each, the earliest first."""
        self._accepting = asyncio.get_running_loop().create_task(self._accept())

    def close(self) -> None:
        """Let nobody in any more."""
        for task in (self._accepting, *self._strangers):
            task.cancel()

    async def wait_closed(self) -> None:
        """Wait until nobody is on the way in."""
        await asyncio.wait([self._accepting, *self._strangers])

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                client, address = await loop.sock_accept(self._listener)
            except ConnectionError:  # it went away before its turn
                continue
            except OSError as error:
                log.error("door.not_accepting", error=error.strerror)  # noqa: TRY400 (no traceback)
                await asyncio.sleep(_SECONDS_WITHOUT_FILES)
                continue
            client.settimeout(0)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            task = loop.create_task(self._let_in(client, address[0]))
            self._strangers[task] = address[0]
            task.add_done_callback(self._forget)
            self._limit(address[0])

    def _limit(self, host: str) -> None:
        """Send a stranger away if there are too many, one of the same address if these are."""
        same = [task for task, of in self._strangers.items() if of == host]
        if len(same) > MOST_OF_AN_ADDRESS:
            self._send_away(same[0])
        elif len(self._strangers) > MOST_STRANGERS:
            self._send_away(next(iter(self._strangers)))

    def _send_away(self, stranger: asyncio.Task[None]) -> None:
        self._metrics.connections_ended_total.labels("displaced").inc()
        stranger.cancel()
        self._forget(stranger)

    def _forget(self, stranger: asyncio.Task[None]) -> None:
        self._strangers.pop(stranger, None)

    async def _let_in(self, client: socket.socket, host: str) -> None:
        is_let_in = False
        try:
            async with asyncio.timeout(self._settings.body_timeout_seconds):
                is_let_in = await self._connect(client)
        except (ssl.SSLError, TimeoutError, PlainError) as error:
            self._metrics.connections_ended_total.labels("handshake_failed").inc()
            log.warning("tls.refused", client=host, error=why(error) or "no certificate in time")
        except OSError:  # the client went away
            pass
        finally:
            if not is_let_in:
                client.close()

    async def _connect(self, client: socket.socket) -> bool:
        """Make a connection of a socket, unless its client wants plain HTTP and may not."""
        tls, seconds = self._tls, {}
        if tls is not None:
            first = await _first_byte(client)
            if first == _HANDSHAKE:
                seconds = {
                    "ssl_handshake_timeout": self._settings.body_timeout_seconds,
                    "ssl_shutdown_timeout": self._settings.answer_timeout_seconds,
                }
            elif self._is_plain_open():
                tls = None
            else:
                if first:
                    client.recv(MOST_HEAD_BYTES)  # what is not read would take the answer away
                    client.send(refusal(HTTPStatus.BAD_REQUEST, _PLAIN))
                    raise PlainError("HTTP request")
                return False
        loop = asyncio.get_running_loop()
        await loop.connect_accepted_socket(self._new_connection, client, ssl=tls, **seconds)
        return True


async def _first_byte(client: socket.socket) -> bytes:
    """Return the first byte that a client sends, which stays to be read; none if it hangs up."""
    loop = asyncio.get_running_loop()
    while True:
        readable = asyncio.Event()
        loop.add_reader(client, readable.set)
        try:
            await readable.wait()
        finally:
            loop.remove_reader(client)
        with contextlib.suppress(BlockingIOError):
            return client.recv(1, socket.MSG_PEEK)


def why(error: Exception) -> str:
    """Say why a certificate or a handshake is no good, in words for people."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"certificate verify failed: {error.verify_message}"
    reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
    return str(reason).lower().replace("_", " ")
