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
    name: str = ""
    labels: Mapping[str, str] = {}
    body: Object = {}
    deadline_seconds: float


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

    def apply(self, request: Request) -> Answer:
        """Do what a client asks for."""
        found = self.get(request.collection, request.name)
        match request.verb:
            case Verb.READ:
                return Absent() if found is None else Stored(body=found)
            case Verb.SELECT:
                return Listed(bodies=self._matching(request))
            case Verb.CREATE if found is not None:
                return Conflict()
            case Verb.CREATE:
                return self._written(request, None)
        if found is None:
            return Absent()
        given = request.body["metadata"].get("resourceVersion")
        if given is not None and given != found["metadata"]["resourceVersion"]:
            return Conflict()
        if request.verb is Verb.REPLACE:
            return self._written(request, found)
        self.remove(request.collection, request.name)
        return Stored(body=found)

    def _matching(self, request: Request) -> list[Object]:
        return [
            {field: kept for field, kept in _copied(body).items() if field not in _NOT_LISTED}
            for (collection, _), body in sorted(self._kept.items())
            if collection is request.collection
            and request.labels.items() <= (body["metadata"].get("labels") or {}).items()
        ]

    def _written(self, request: Request, found: Object | None) -> Answer:
        refusal = _refusal(request, found)
        if refusal:
            return Failed(why=f"422 {refusal}")
        return Stored(body=self.put(request.collection, request.body))


def _copied(body: Body) -> Object:
    """Return what arrives at the other end of a connection."""
    return msgspec.json.decode(msgspec.json.encode(body), type=dict[str, Any])


def _refusal(request: Request, found: Object | None) -> str:
    """Return why the API server would not store the body, "" if it would."""
    body = request.body
    if request.collection is Collection.LEASES:
        return _lease_refusal(body["spec"])
    if request.collection is Collection.ENDPOINT_SLICES:
        if found is not None and found["addressType"] != body["addressType"]:
            return "addressType is immutable"
        for owner in body["metadata"].get("ownerReferences") or ():
            if not owner["uid"] or not owner["name"]:
                return "an owner needs a name and a uid"
        for endpoint in body["endpoints"]:
            for text in endpoint["addresses"]:
                if f"IPv{ip_address(text).version}" != body["addressType"]:
                    return f"{text} is not of the family {body['addressType']}"
    return ""


def _lease_refusal(spec: Mapping[str, Any]) -> str:
    if not 1 <= spec["leaseDurationSeconds"] < 2**31:
        return "leaseDurationSeconds must be a positive int32"
    if not 0 <= spec["leaseTransitions"] < 2**31:
        return "leaseTransitions must be an int32 and not negative"
    for field in ("acquireTime", "renewTime"):
        if not _MICRO_TIME.fullmatch(spec[field]):
            return f"{field} is no MicroTime"
    return ""


class _Requests:
    """An `ObjectStore` whose calls all become requests."""

    async def read(
        self, collection: Collection, name: str, *, deadline_seconds: float
    ) -> Stored | Absent | Failed:
        answer = await self._ask(
            Request(
                verb=Verb.READ, collection=collection, name=name, deadline_seconds=deadline_seconds
            )
        )
        assert isinstance(answer, Stored | Absent | Failed)
        return answer

    async def select(
        self, collection: Collection, labels: Mapping[str, str], *, deadline_seconds: float
    ) -> Listed | Failed:
        answer = await self._ask(
            Request(
                verb=Verb.SELECT,
                collection=collection,
                labels=labels,
                deadline_seconds=deadline_seconds,
            )
        )
        assert isinstance(answer, Listed | Failed)
        return answer

    async def create(
        self, collection: Collection, body: Body, *, deadline_seconds: float
    ) -> Stored | Conflict | Failed:
        answer = await self._write(Verb.CREATE, collection, body, deadline_seconds)
        assert not isinstance(answer, Absent)
        return answer

    async def replace(
        self, collection: Collection, body: Body, *, deadline_seconds: float
    ) -> Stored | Absent | Conflict | Failed:
        return await self._write(Verb.REPLACE, collection, body, deadline_seconds)

    async def delete(
        self, collection: Collection, body: Body, *, deadline_seconds: float
    ) -> Stored | Absent | Conflict | Failed:
        return await self._write(Verb.DELETE, collection, body, deadline_seconds)

    async def _write(
        self, verb: Verb, collection: Collection, body: Body, deadline_seconds: float
    ) -> Stored | Absent | Conflict | Failed:
        answer = await self._ask(
            Request(
                verb=verb,
                collection=collection,
                name=body["metadata"]["name"],
                body=_copied(body),
                deadline_seconds=deadline_seconds,
            )
        )
        assert not isinstance(answer, Listed)
        return answer

    async def _ask(self, request: Request) -> Answer:
        raise NotImplementedError


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """What happens to one request: something before, the request itself or not, another answer."""

    verb: Verb
    before: Callable[[], None] | None = None
    applied: bool = True
    after: Callable[[], None] | None = None
    answer: Answer | None = None


class InstantStore(_Requests):
    """Answers at once. Each fault waits for the next request of its verb."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self.faults: list[Fault] = []
        self.asked: list[Request] = []

    @property
    def verbs(self) -> list[Verb]:
        """What was asked, in order."""
        return [request.verb for request in self.asked]

    async def _ask(self, request: Request) -> Answer:
        self.asked.append(request)
        fault = next((fault for fault in self.faults if fault.verb is request.verb), None)
        if fault is None:
            return self._objects.apply(request)
        self.faults.remove(fault)
        if fault.before:
            fault.before()
        answer = self._objects.apply(request) if fault.applied else UNANSWERED
        if fault.after:
            fault.after()
        return fault.answer or answer


class _Suspension:
    def __init__(self, request: Request) -> None:
        self._request = request

    def __await__(self) -> Generator[Request, Answer, Answer]:
        return (yield self._request)


class SuspendedStore(_Requests):
    """Yields every request to whoever drives the coroutine, and returns what is sent back."""

    async def _ask(self, request: Request) -> Answer:
        return await _Suspension(request)
