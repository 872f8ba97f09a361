"""One reflector at work on an in-memory API server, and what it made of it."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from app.kube.connection import Connection
from app.kube.feed import Source
from app.kube.longhorn.resources import VOLUMES
from app.kube.mirror import Change, Known
from app.kube.reflector import CAUSES, Reflector
from longhorn import Unreadable
from tests.builders import document, read
from tests.fakes import Call, FakeApiServer, Fault

NAMESPACE = "longhorn-system"
PLURAL = "volumes.longhorn.io"
LONGEST_PAUSE_SECONDS = 8.0
SOURCE = Source(resource=VOLUMES, namespace=NAMESPACE)


class Follower:
    """Takes in the changes a reflector reports, and checks that each fits the ones before."""

    def __init__(
        self,
        server: FakeApiServer,
        connection: Connection,
        source: Source,
        on_changes: Callable[[Sequence[Change]], None],
    ) -> None:
        self._on_changes = on_changes
        self.known: dict[str, Known] = {}
        self.batches: list[list[Change]] = []
        self.restarts: list[str] = []
        """Why something was begun anew."""
        self.server = server
        self.reflector = Reflector(
            connection,
            source,
            on_changes=self._take,
            on_restart=self._restart,
            clock=asyncio.get_running_loop().time,
            random=random.Random(1),
        )

    @property
    def causes(self) -> list[str]:
        """Why something was begun anew, ordinary ends of watches left out."""
        return [cause for cause in self.restarts if cause != "ended"]

    @property
    def age_seconds(self) -> float:
        assert self.reflector.heard_at is not None
        return asyncio.get_running_loop().time() - self.reflector.heard_at

    @property
    def is_right(self) -> bool:
        """Whether what is known is what the server has."""
        return self.known == expected(self.server)

    @property
    def calls(self) -> list[Call]:
        return self.server.calls

    def _take(self, changes: Sequence[Change]) -> None:
        self._on_changes(changes)
        self.batches.append(list(changes))
        for old, new in changes:
            named = new or old
            assert named is not None
            name = str(getattr(named, "name", ""))
            assert self.known.get(name) == old
            if new is None:
                del self.known[name]
            else:
                self.known[name] = new

    def _restart(self, cause: str) -> None:
        assert cause in CAUSES
        self.restarts.append(cause)


@asynccontextmanager
async def at_work(*loops: Coroutine[Any, Any, object]) -> AsyncIterator[None]:
    """Run *loops* until the block ends; none may end before."""
    tasks = [asyncio.create_task(loop) for loop in loops]
    try:
        yield
        assert not any(task.done() for task in tasks), "one has ended"
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error


@asynccontextmanager
async def following(
    server: FakeApiServer,
    source: Source = SOURCE,
    *,
    on_changes: Callable[[Sequence[Change]], None] = lambda _: None,
) -> AsyncIterator[Follower]:
    """Follow Longhorn's volumes, or another source, until the block ends."""
    async with server.client("us") as client:
        follower = Follower(server, Connection(client), source, on_changes)
        async with at_work(follower.reflector.run()):
            yield follower


def expected(server: FakeApiServer) -> dict[str, Known]:
    """Return the records of what the server has."""
    return {each["metadata"]["name"]: read(each) for each in server.list(PLURAL, NAMESPACE)}


def put(server: FakeApiServer, *names: str, size: str = "1", **fields: Any) -> None:
    """Create or change volumes."""
    for name in names:
        server.put(document("Volume", name, spec={"size": size}, **fields))


def delete(server: FakeApiServer, *names: str) -> None:
    for name in names:
        server.delete(PLURAL, name, NAMESPACE)


def event(type_: str, object_: object) -> bytes:
    """Build a line of a watch."""
    return msgspec.json.encode({"type": type_, "object": object_}) + b"\n"


def failure(code: int | None, reason: str = "", message: str = "") -> dict[str, Any]:
    """Build the Status that comes with a refusal."""
    return {"kind": "Status", "status": "Failure", "reason": reason, "message": message} | (
        {"code": code} if code is not None else {}
    )


def verbs(calls: Sequence[Call]) -> Counter[str]:
    return Counter(call.verb for call in calls)


def broken_names(follower: Follower) -> list[str]:
    return sorted(name for name, known in follower.known.items() if isinstance(known, Unreadable))


def is_list(call: Call) -> bool:
    """Whether a call begins a list, or goes on with one."""
    return call.verb == "list" or call.query.get("sendInitialEvents") == "true"


def is_plain_watch(call: Call) -> bool:
    return call.verb == "watch" and "sendInitialEvents" not in call.query


async def interrupted(server: FakeApiServer, *faults: Fault, seconds: float = 0.01) -> None:
    """Break all watches for a moment; *faults* meet what is asked after that."""
    server.faults += faults
    with server.outage():
        await asyncio.sleep(seconds)


async def recovered(follower: Follower, *, within_seconds: float = LONGEST_PAUSE_SECONDS) -> None:
    """Wait, and check that all is well then."""
    await asyncio.sleep(within_seconds + 0.1)
    assert follower.is_right
    put(follower.server, "afterwards")
    await asyncio.sleep(0.1)
    assert "afterwards" in follower.known
    assert follower.reflector.trouble == ""
