"""Objects as an API server keeps them, in memory, and two ways to reach them.

`InstantStore` answers at once and can be told to misbehave; `SuspendedStore` stops at each request
until whoever drives the coroutine sends an answer.
"""

import re
from collections.abc import Callable, Generator, Mapping
from enum import StrEnum
from ipaddress import ip_address
from typing import Any

import msgspec

from leader import Absent, Body, Collection, Conflict, Failed, Listed, Stored

Answer = Stored | Listed | Absent | Conflict | Failed
Object = dict[str, Any]

UNANSWERED = Failed(why="no answer")

_NOT_LISTED = ("apiVersion", "kind")
_MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


class Verb(StrEnum):
    """What is asked of an object."""

    READ = "read"
    SELECT = "select"
    CREATE = "create"
    REPLACE = "replace"
    DELETE = "delete"


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a store."""

    verb: Verb
    collection: Collection
    deadline_seconds: float = 1.0
    name: str = ""
    labels: Mapping[str, str] = {}
    body: Object = {}


class Objects:
    """The objects of one namespace, with versions that grow with every write."""

    def __init__(self) -> None:
        self._kept: dict[tuple[Collection, str], Object] = {}
        self._version = 0

    def get(self, collection: Collection, name: str) -> Object | None:
        """Return a copy of an object."""
        found = self._kept.get((collection, name))
        return None if found is None else _copied(found)

    def put(self, collection: Collection, body: Body) -> Object:
        """Write an object as somebody else, over whatever is there."""
        name = body["metadata"]["name"]
        self._version += 1
        kept = self._kept.get((collection, name), {"metadata": {"uid": f"uid-{self._version}"}})
        written = _copied(body)
        written["metadata"]["resourceVersion"] = str(self._version)
        written["metadata"].setdefault("uid", kept["metadata"]["uid"])
        if collection is Collection.ENDPOINT_SLICES:
            written["endpoints"] = written.get("endpoints") or None  # as the real one shows it
        self._kept[collection, name] = written
        return _copied(written)

    def edit(self, collection: Collection, name: str, change: Callable[[Object], None]) -> None:
        """Change an object that exists as somebody else."""
        body = self.get(collection, name)
        assert body is not None
        change(body)
        self.put(collection, body)

    def remove(self, collection: Collection, name: str) -> None:
        """Delete an object as somebody else."""
        del self._kept[collection, name]

    def select(self, collection: Collection, labels: Mapping[str, str]) -> list[Object]:
        """Return copies of the objects with these labels, as a list shows them."""
        return [
            {field: kept for field, kept in _copied(body).items() if field not in _NOT_LISTED}
            for (of, _), body in sorted(self._kept.items())
            if of is collection and labels.items() <= (body["metadata"].get("labels") or {}).items()
        ]

    def apply(self, request: Request) -> Answer:
        """Do what a client asks for. What an API server would refuse as invalid is a failure."""
        if request.verb is Verb.SELECT:
            return Listed(bodies=self.select(request.collection, request.labels))
        found = self.get(request.collection, request.name)
        if request.verb is Verb.CREATE:
            return Conflict() if found else self._written(request, {})
        if found is None:
            return Absent()
        if request.verb is Verb.READ:
            return Stored(body=found)
        version = request.body["metadata"].get("resourceVersion")
        if version is not None and version != found["metadata"]["resourceVersion"]:
            return Conflict()
        if request.verb is Verb.REPLACE:
            return self._written(request, found)
        self.remove(request.collection, request.name)
        return Stored(body=found)

    def _written(self, request: Request, found: Object) -> Stored:
        if request.collection is Collection.LEASES:
            _check_lease(request.body["spec"])
        else:
            _check_slice(request.body, found)
        return Stored(body=self.put(request.collection, request.body))


def _copied(body: Body) -> Object:
    """Return what arrives at the other end of a connection."""
    return msgspec.json.decode(msgspec.json.encode(body), type=dict[str, Any])


def _check_lease(spec: Mapping[str, Any]) -> None:
    assert 1 <= spec["leaseDurationSeconds"] < 2**31
    assert 0 <= spec["leaseTransitions"] < 2**31
    assert _MICRO_TIME.fullmatch(spec["acquireTime"])
    assert _MICRO_TIME.fullmatch(spec["renewTime"])


def _check_slice(body: Body, found: Body) -> None:
    family = body["addressType"]
    assert family == found.get("addressType", family), "addressType is immutable"
    assert all(owner["uid"] and owner["name"] for owner in body["metadata"]["ownerReferences"])
    addresses = [text for endpoint in body["endpoints"] for text in endpoint["addresses"]]
    assert all(f"IPv{ip_address(text).version}" == family for text in addresses)


class _Requests:
    """An `ObjectStore` whose calls all become requests."""

    async def read(self, collection: Collection, name: str, *, deadline_seconds: float) -> Any:
        return await self._ask(Verb.READ, collection, deadline_seconds, name=name)

    async def select(
        self, collection: Collection, labels: Mapping[str, str], *, deadline_seconds: float
    ) -> Any:
        return await self._ask(Verb.SELECT, collection, deadline_seconds, labels=labels)

    async def create(self, collection: Collection, body: Body, *, deadline_seconds: float) -> Any:
        return await self._write(Verb.CREATE, collection, body, deadline_seconds)

    async def replace(self, collection: Collection, body: Body, *, deadline_seconds: float) -> Any:
        return await self._write(Verb.REPLACE, collection, body, deadline_seconds)

    async def delete(self, collection: Collection, body: Body, *, deadline_seconds: float) -> Any:
        return await self._write(Verb.DELETE, collection, body, deadline_seconds)

    async def _write(self, verb: Verb, collection: Collection, body: Body, seconds: float) -> Any:
        name = body["metadata"]["name"]
        return await self._ask(verb, collection, seconds, name=name, body=_copied(body))

    async def _ask(self, verb: Verb, collection: Collection, seconds: float, **what: Any) -> Answer:
        return await self._answer(
            Request(verb=verb, collection=collection, deadline_seconds=seconds, **what)
        )

    async def _answer(self, request: Request) -> Answer:
        raise NotImplementedError


class _Fault(msgspec.Struct, frozen=True, kw_only=True):
    verb: Verb
    before: Callable[[], None] | None = None
    applied: bool = True
    after: Callable[[], None] | None = None
    answer: Answer | None = None


class InstantStore(_Requests):
    """Answers at once, unless there is a fault for the request."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._faults: list[_Fault] = []
        self.asked: list[Request] = []

    @property
    def verbs(self) -> list[Verb]:
        """What was asked, in order."""
        return [request.verb for request in self.asked]

    def fault(self, verb: Verb, **what: Any) -> None:
        """Misbehave at the next request of this verb that no earlier fault is for.

        Do something *before* and *after* it, do not let it be *applied*, or give another *answer*.
        """
        self._faults.append(_Fault(verb=verb, **what))

    def lose(self, verb: Verb, *, times: int = 1, applied: bool = False) -> None:
        """Leave requests unanswered."""
        for _ in range(times):
            self.fault(verb, applied=applied, answer=UNANSWERED)

    async def _answer(self, request: Request) -> Answer:
        self.asked.append(request)
        fault = next((fault for fault in self._faults if fault.verb is request.verb), None)
        if fault is None:
            return self._objects.apply(request)
        self._faults.remove(fault)
        if fault.before:
            fault.before()
        answer = self._objects.apply(request) if fault.applied else UNANSWERED
        if fault.after:
            fault.after()
        return fault.answer or answer


class _Suspension(msgspec.Struct, frozen=True):
    request: Request

    def __await__(self) -> Generator[Request, Answer, Answer]:
        return (yield self.request)


class SuspendedStore(_Requests):
    """Yields every request to whoever drives the coroutine, and returns what is sent back."""

    async def _answer(self, request: Request) -> Answer:
        return await _Suspension(request)
