"""One request begins at a time, and clients take turns; those not known get a share."""

import asyncio
from collections import deque
from collections.abc import Callable

from app.budget import Budget

_SHARE, _MOST_SECONDS = 0.1, 0.15
"""Of the time, for clients that are not known, and so much at once."""
_SHORTEST_REST_SECONDS = 0.001


class Queue:
    """Requests that wait, a client after the other."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        """By client; the first client is next."""

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def join(self, client: str) -> asyncio.Future[None]:
        """Return what is done when it is *client*'s turn."""
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(client, deque()).append(turn)
        return turn

    def give(self) -> bool:
        """Give a turn to who is next; return whether somebody has it."""
        while self._waiting:
            client, turns = next(iter(self._waiting.items()))
            del self._waiting[client]
            turn = turns.popleft()
            if turns:
                self._waiting[client] = turns
            if not turn.done():  # as it is if the request was cancelled
                turn.set_result(None)
                return True
        return False


class Turns:
    """Who begins when more requests are there than can be answered at once.

    One begins in each round of the event loop, so that the lease and everything else get their
    time in between. Clients take turns, however many requests each of them has: kube-scheduler
    waits for at most one request of each other client that is known. Those that are not known come
    after these, and together take no more than a tenth of the time.

    Args:
        is_known: Whether a client is likely to be kube-scheduler.
        clock: Monotonic seconds.
    """

    def __init__(self, is_known: Callable[[str], bool], clock: Callable[[], float]) -> None:
        self._is_known = is_known
        self._clock = clock
        self._known = Queue()
        self._others = Queue()
        self._budget = Budget(_SHARE, _MOST_SECONDS)
        """Of the others."""
        self._is_taken = False
        """Whether a request has begun in this round."""
        self._others_since: float | None = None
        """Since when that is one of the others."""

    async def take(self, client: str) -> bool:
        """Wait for *client*'s turn; return whether there was a wait."""
        is_known = self._is_known(client)
        if not self._is_taken and (is_known or not self._rest_seconds()):
            self._begin(is_known=is_known)
            return False
        if not self._is_taken and not self._others:
            self._rest()
        await (self._known if is_known else self._others).join(client)
        return True

    def _begin(self, *, is_known: bool) -> None:
        """Note that a request begins in this round."""
        self._is_taken = True
        self._others_since = None if is_known else self._clock()
        asyncio.get_running_loop().call_soon(self._next)

    def _next(self) -> None:
        """Give the turn of this round."""
        if self._others_since is not None:
            now = self._clock()
            self._budget.spend(now - self._others_since, now)
        self._is_taken, self._others_since = False, None
        if self._known.give():
            self._begin(is_known=True)
        elif self._others and self._rest_seconds():
            self._rest()
        elif self._others.give():
            self._begin(is_known=False)

    def _rest(self) -> None:
        seconds = max(self._rest_seconds(), _SHORTEST_REST_SECONDS)
        asyncio.get_running_loop().call_later(seconds, self._end_rest)

    def _end_rest(self) -> None:
        if not self._is_taken:
            self._next()

    def _rest_seconds(self) -> float:
        return self._budget.wait_seconds(self._clock())
