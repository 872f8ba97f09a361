"""What makes a task behave like a part of a process: it can be stopped, and what it sent is sent.

A stopped process (SIGSTOP, a node that hangs) runs no line of code while the world and the clocks
go on. When it goes on, timers that have run out strike first, as they do in asyncio, which looks
at its timers before it wakes anybody.
"""

import asyncio
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context, ContextVar, copy_context
from functools import partial
from typing import Any, TypeVar

from aiohttp import ClientConnectionError
from kubernetes_asyncio.client import ApiClient

Result = TypeVar("Result")


class Gate:
    """Lets the tasks of one process run, or not."""

    def __init__(self) -> None:
        self._waiting: list[asyncio.Future[None]] | None = None

    @property
    def is_shut(self) -> bool:
        return self._waiting is not None

    def shut(self) -> None:
        self._waiting = self._waiting or []

    def open(self) -> None:
        """Let go on who waits, in the order they came."""
        waiting, self._waiting = self._waiting or [], None
        for each in waiting:
            if not each.done():
                each.set_result(None)

    def opened(self) -> asyncio.Future[None]:
        """Return what is done when the gate is opened."""
        future = asyncio.get_running_loop().create_future()
        if self._waiting is None:
            future.set_result(None)
        else:
            self._waiting.append(future)
        return future


class Gated(Coroutine[Any, Any, Result]):
    """A coroutine that makes no step while its gate is shut.

    What it is woken with meanwhile, a cancellation above all, reaches it when the gate opens.
    """

    def __init__(self, gate: Gate, coroutine: Coroutine[Any, Any, Result]) -> None:
        self._gate = gate
        self._coroutine = coroutine
        self._step: Callable[[], Any] | None = None

    def send(self, value: Any) -> Any:
        if self._step is None:
            self._step = partial(self._coroutine.send, value)
        return self._go_on()

    def throw(self, *error: Any) -> Any:
        self._step = partial(self._coroutine.throw, *error)
        return self._go_on()

    def close(self) -> None:
        self._coroutine.close()

    def __await__(self) -> Generator[Any, Any, Result]:
        return self._coroutine.__await__()

    def _go_on(self) -> Any:
        if self._gate.is_shut:
            return next(self._gate.opened().__await__())
        step, self._step = self._step, None
        assert step is not None
        return step()


_GATE: ContextVar[Gate] = ContextVar("gate")


def start_process(gate: Gate, main: Coroutine[Any, Any, Result]) -> asyncio.Task[Result]:
    """Run a process behind a gate: *main*, and all tasks that it and they begin."""
    loop = asyncio.get_running_loop()
    loop.set_task_factory(_gated_task)
    context = copy_context()
    context.run(_GATE.set, gate)
    return loop.create_task(main, context=context)


def _gated_task(
    loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any
) -> asyncio.Task[Any]:
    context = options.get("context")
    gate = (copy_context() if context is None else context).get(_GATE)  # an empty one is false
    if gate is not None:
        coroutine = Gated(gate, coroutine)
    return asyncio.Task(coroutine, loop=loop, **options)


class Line:
    """The way of one process to the API server, in place of its HTTP session.

    A request that was sent arrives, whatever becomes of its sender.

    Attributes:
        error: Raised to whoever sends the next request.
        is_closed: Whether the process has closed it.
    """

    def __init__(self, client: ApiClient) -> None:
        self._session: Any = client.rest_client.pool_manager
        self.error: Exception | None = None
        self.is_closed = False
        self._is_cut = False
        self._sent: dict[asyncio.Task[Any], None] = {}
        client.rest_client.pool_manager = self  # type: ignore[assignment]  # the part that is used

    async def request(self, **arguments: Any) -> Any:
        error, self.error = self.error, None
        if error is not None:
            raise error
        if self._is_cut:
            raise ClientConnectionError("the way to the API server is cut")
        outside = Context()  # of the process
        sent = asyncio.create_task(self._session.request(**arguments), context=outside)
        self._sent[sent] = None
        sent.add_done_callback(self._arrived)
        await asyncio.wait([sent])
        if sent.cancelled():
            raise ClientConnectionError("the way to the API server was cut")
        return sent.result()

    async def close(self) -> None:
        self.is_closed = True
        await self._session.close()

    async def cut(self) -> None:
        """Let nothing through any more; for the end of a test."""
        self._is_cut = True
        sent = [*self._sent]
        for each in sent:
            each.cancel()
        if sent:
            await asyncio.wait(sent)

    def _arrived(self, sent: asyncio.Task[Any]) -> None:
        del self._sent[sent]
        if not sent.cancelled():
            sent.exception()  # the sender may have gone, and then nobody asks
