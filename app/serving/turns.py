"""One request begins at a time, and clients take turns."""

import asyncio
from collections import deque


class Turns:
    """Who begins when more requests are there than can be answered at once.

    One begins in each round of the event loop, so that the lease and everything else get their
    time in between. Clients take turns, however many requests each of them has: kube-scheduler
    waits for at most one request of each other client.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        """By client; the first client is next."""
        self._is_taken = False
        """Whether a request has begun in this round."""

    async def take(self, client: str) -> bool:
        """Wait for *client*'s turn; return whether there was a wait."""
        loop = asyncio.get_running_loop()
        if not self._is_taken:
            self._is_taken = True
            loop.call_soon(self._next)
            return False
        turn = loop.create_future()
        self._waiting.setdefault(client, deque()).append(turn)
        await turn
        return True

    def _next(self) -> None:
        """Give the turn of this round."""
        while self._waiting:
            client, turns = next(iter(self._waiting.items()))
            del self._waiting[client]
            turn = turns.popleft()
            if turns:
                self._waiting[client] = turns
            if not turn.done():  # as it is if the request was cancelled
                turn.set_result(None)
                asyncio.get_running_loop().call_soon(self._next)
                return
        self._is_taken = False
