"""The connections of clients on one port: how many there are, and how much they leave unread.

uvicorn limits neither: an answer that a client does not read is kept for ever.
"""

from collections import Counter
from typing import TYPE_CHECKING

from app.config import ProcessSettings
from app.metrics import ProcessMetrics

if TYPE_CHECKING:
    from app.process.http import Connection

MOST_UNSENT_BYTES = 32 * 2**20
"""Of answers that clients do not read. One with the names of 5,000 nodes is at most 0.7 MB."""


class Connections:
    """All open connections on one port.

    A connection is *answering* once a whole request has arrived on it, and *waiting* before. Above
    the limit, the connection that has waited longest is closed; above that on one address, the one
    of this address. So a client that opens many connections loses its own ones, and the next
    request of kube-scheduler still gets in.

    A connection is *blocked* while its client reads its answer more slowly than it is sent. If that
    keeps too much, the client that keeps most loses what it has not read.
    """

    def __init__(self, settings: ProcessSettings, metrics: ProcessMetrics) -> None:
        self.settings = settings
        self._metrics = metrics
        self._open: set[Connection] = set()
        self._hosts = Counter[str]()
        self._waiting: dict[Connection, None] = {}
        """In the order in which they began to wait."""
        self._blocked: set[Connection] = set()

    def __len__(self) -> int:
        return len(self._open)

    def add(self, connection: "Connection") -> None:
        """Add a new connection, which waits; close another one if there are too many."""
        self._open.add(connection)
        self._hosts[connection.host] += 1
        self._waiting[connection] = None
        if len(self._open) > self.settings.connection_limit:
            next(iter(self._waiting)).end("displaced")
        elif self._hosts[connection.host] > self.settings.address_limit:
            next(each for each in self._waiting if each.host == connection.host).end("displaced")

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
        if connection in self._open:
            self._open.discard(connection)
            self._hosts -= Counter([connection.host])
        self._waiting.pop(connection, None)
        self._blocked.discard(connection)

    def count_end(self, cause: str) -> None:
        """Count a connection that the service closes, by *cause*, one of `CONNECTION_ENDS`."""
        self._metrics.connections_ended_total.labels(cause).inc()
