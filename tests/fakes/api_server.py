"""An API server in memory, for tests under virtual time.

It stands behind `kubernetes_asyncio.client.ApiClient` in place of the HTTP session, so the
library's own code builds URLs, headers and bodies. It opens no socket, starts no thread and asks no
clock but the running loop's; all chance comes from one `random.Random`, so a seed gives the same
run again. What it must have in common with a real server is in `tests/contract/`.

kmock 0.8 was looked at first. Its emulator keeps objects, but has no resourceVersion and so no 409
for a stale update, no bookmarks, no 410 and no pages, which is what the code under test is about;
and it is reached over real sockets, which do not wait for a clock that jumps.

Not here: subresources other than the binding and the status of pods, of which the latter can only
be patched, and can be written with the whole pod as well, and the status of DiskSchedules;
finalizers, grace periods and owner
references, admission other than "the namespace exists", defaults and validation of other kinds than
Lease and EndpointSlice, generateName, deletecollection, lists of old versions, patches other than
merge patches, server-side apply, dry run, selectors other than equalities, Table and metadata-only
answers, discovery beyond the kinds of a version, OpenAPI, gzip, and the library's
`_request_timeout` (the code under test uses `asyncio.timeout`).
"""

import asyncio
import copy
import random
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial

import aiohttp
from kubernetes_asyncio.client import ApiClient

from tests.fakes.faults import (
    Answer,
    Call,
    CutAnswer,
    Delay,
    Fault,
    FaultKind,
    Hang,
    LostAnswer,
    Refused,
    WatchFaultKind,
    connection_refused,
)
from tests.fakes.outages import Outage, Outages
from tests.fakes.reading import present
from tests.fakes.resources import RESOURCES, Object, Resource
from tests.fakes.serving import Api, Target, describe, parse_path, refusal
from tests.fakes.status import StatusError
from tests.fakes.storage import Change, Key
from tests.fakes.transport import JSON, Request, Response, ResponseMaker, build_client
from tests.fakes.watching import Conditions

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
NAMESPACES = ("default", "kube-system", "longhorn-scheduler", "longhorn-system")


class FakeApiServer:
    """The server, the network around it, and a way past both for tests.

    Attributes:
        calls: Every request that was sent, in order, also those that a fault swallowed.
        faults: What strikes next; the first that matches a call is taken.
        interfere: Asked after *faults*, for tests that draw their faults.
        authorize: Whether a call is allowed; None allows all.
        latency: Seconds on the way to the server and back.
        watch_delay: Seconds that news takes to a watch.
        streaming_lists: Whether the WatchList feature gate is on.
        observers: Told of each change as it is made.
    """

    def __init__(
        self,
        rng: random.Random,
        *,
        streaming_lists: bool = True,
        bookmark_seconds: float = 60.0,
        chop: float = 0.0,
        resources: Iterable[Resource] = RESOURCES,
    ) -> None:
        """Start empty but for the usual namespaces.

        Args:
            rng: All chance: uids, the order of initial events, pieces of what is read.
            streaming_lists: Whether the WatchList feature gate is on.
            bookmark_seconds: Time between two bookmarks.
            chop: Probability that what is read breaks off somewhere, the rest following.
            resources: What is served; `namespaces` must be among it.
        """
        self.calls: list[Call] = []
        self.faults: list[Fault] = []
        self.interfere: Callable[[Call], FaultKind | None] | None = None
        self.authorize: Callable[[Call], bool] | None = None
        self.latency: Callable[[Call], tuple[float, float]] = _no_latency
        self.watch_delay: Callable[[Call], float] = _no_delay
        self._rng = rng
        self._bookmark_seconds = bookmark_seconds
        self._chop = chop
        self._started_at: float | None = None
        self._api = Api(resources, rng, self._timestamp)
        self.observers: list[Callable[[Resource, Change], None]] = self._api.storage.observers
        self._outages = Outages(self._api.storage.changed.fire)
        self._responses = ResponseMaker(rng, chop)
        self.streaming_lists = streaming_lists
        for name in NAMESPACES:
            self.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})

    @property
    def version(self) -> int:
        """The version of the last write."""
        return self._api.storage.version

    @property
    def streaming_lists(self) -> bool:
        return self._api.streaming_lists

    @streaming_lists.setter
    def streaming_lists(self, enabled: bool) -> None:
        self._api.streaming_lists = enabled

    def client(self, name: str) -> ApiClient:
        """Build a client with its own connection; *name* is its user and its token."""
        return build_client(name, partial(self._receive, name))

    def put(self, obj: Mapping[str, object]) -> Object:
        """Create or replace an object, whatever its version; its namespace is created with it."""
        resource = self._of_kind(str(obj["apiVersion"]), str(obj["kind"]))
        stored = self._api.writer.put(resource, copy.deepcopy(dict(obj)))
        return copy.deepcopy(present(resource, stored))

    def get(self, resource: str, name: str, namespace: str = "") -> Object | None:
        """Return an object, or None; *resource* is like "pods" or "leases.coordination.k8s.io"."""
        found = self._api.resources[resource]
        obj = self._api.storage.get(found, Key.of(namespace, name))
        return None if obj is None else copy.deepcopy(present(found, obj))

    def list(self, resource: str, namespace: str = "") -> list[Object]:
        """Return the objects of a kind, of all namespaces or one, ordered by key."""
        found = self._api.resources[resource]
        objects = self._api.storage.at(found, self.version).values()
        return [
            copy.deepcopy(present(found, obj))
            for obj in objects
            if namespace in ("", obj["metadata"].get("namespace"))
        ]

    def delete(self, resource: str, name: str, namespace: str = "") -> None:
        """Delete an object.

        Raises:
            StatusError: There is none (404).
        """
        self._api.writer.delete(self._api.resources[resource], namespace, name, None)

    def compact(self) -> None:
        """Forget every version but the newest; watches that are running do not notice."""
        self._api.storage.compacted = self.version

    def add_resource(self, resource: Resource) -> None:
        """Serve a kind, as when its CustomResourceDefinition is installed."""
        self._api.resources[resource.key] = resource

    def remove_resource(self, group: str, plural: str) -> Resource:
        """Stop serving a kind and drop its objects; its watches end. Gives back what to add again.

        The real server sends DELETED for the objects first, if it comes to that.
        """
        key = f"{plural}.{group}" if group else plural
        resource = self._api.resources.pop(key)
        self._api.storage.forget(resource)
        return resource

    def outage(self, client: str | None = None, *, silent: bool = False) -> Outage:
        """Cut a client (or all) off, until `end` or the end of a with block."""
        outage = Outage(self._outages, client, silent=silent)
        outage.begin()
        return outage

    async def _receive(self, client: str, request: Request) -> Response:
        now = asyncio.get_running_loop().time()
        target = parse_path(request.path)
        if target is None:
            await asyncio.sleep(0)
            return self._responses.no_such_page()
        call = describe(request, target, client, now)
        self.calls.append(call)
        fault = self._draw_fault(call)
        await asyncio.sleep(0)
        before, after = self.latency(call)
        await _sleep(before)
        early = await self._strike_early(client, fault)
        if early is not None:
            return early
        response = await self._answer(call, target, fault)
        await asyncio.sleep(0)
        await _sleep(after)
        await self._strike_late(client, fault)
        return response

    def _draw_fault(self, call: Call) -> FaultKind | None:
        for fault in self.faults:
            if fault.take(call):
                return fault.kind
        return self.interfere(call) if self.interfere is not None else None

    async def _strike_early(self, client: str, fault: FaultKind | None) -> Response | None:
        """Do what happens to a request before the server sees it."""
        outage = self._outages.of(client)
        if isinstance(fault, Hang) or (outage is not None and outage.silent):
            await _hang()
        if isinstance(fault, Refused) or outage is not None:
            raise connection_refused()
        if isinstance(fault, Delay):
            await asyncio.sleep(fault.seconds)
        if isinstance(fault, Answer):
            return self._responses.plain(fault.status, fault.headers, fault.body)
        return None

    async def _strike_late(self, client: str, fault: FaultKind | None) -> None:
        """Do what happens to an answer on its way back; the request is applied."""
        outage = self._outages.of(client)
        lost = isinstance(fault, LostAnswer)
        if (isinstance(fault, LostAnswer) and fault.hang) or (outage and outage.silent):
            await _hang()
        if lost or outage is not None:
            raise aiohttp.ServerDisconnectedError

    async def _answer(self, call: Call, target: Target, fault: FaultKind | None) -> Response:
        if not target.plural:  # everybody may ask this: the role system:discovery
            kinds = self._api.discover(target)
            if kinds is None:
                return self._responses.no_such_page()
            return self._responses.json(200, kinds, cut=isinstance(fault, CutAnswer))
        resource = self._api.find(target)
        try:
            if self.authorize is not None and not self.authorize(call):
                raise refusal(call, target, resource)
            if resource is None:
                return self._responses.no_such_page()
            if call.verb == "watch":
                stream = self._api.watch(call, resource, self._conditions(call, resource, fault))
                return Response(200, JSON, stream)
            answered = self._api.answer(call, resource)
        except StatusError as error:
            return self._responses.refusal(error)
        cut = isinstance(fault, CutAnswer)
        return self._responses.json(answered.status, answered.body, cut=cut)

    def _conditions(self, call: Call, resource: Resource, fault: FaultKind | None) -> Conditions:
        client = call.client
        breaks = self._outages.breaks(client)
        return Conditions(
            rng=self._rng,
            chop=self._chop,
            bookmark_seconds=self._bookmark_seconds,
            delay=lambda: self.watch_delay(call),
            silenced=lambda: self._outages.of(client) is not None,
            broken=lambda: self._outages.breaks(client) != breaks,
            served=lambda: self._api.resources.get(resource.key) is resource,
            fault=fault if isinstance(fault, WatchFaultKind) else None,
        )

    def _of_kind(self, api_version: str, kind: str) -> Resource:
        served = self._api.resources.values()
        found = [r for r in served if (r.api_version, r.kind) == (api_version, kind)]
        assert found, f"the fake API server does not know {api_version} {kind}; add_resource it"
        return found[0]

    def _timestamp(self) -> str:
        """Tell the time of creation: a fixed day plus the loop's seconds since the first object."""
        try:
            now = asyncio.get_running_loop().time()
        except RuntimeError:  # a test puts objects before the loop runs
            return f"{EPOCH:%Y-%m-%dT%H:%M:%SZ}"
        if self._started_at is None:
            self._started_at = now
        moment = EPOCH + timedelta(seconds=now - self._started_at)
        return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


async def _sleep(seconds: float) -> None:
    if seconds:
        await asyncio.sleep(seconds)


async def _hang() -> None:
    await asyncio.get_running_loop().create_future()


def _no_latency(_: Call) -> tuple[float, float]:
    return 0.0, 0.0


def _no_delay(_: Call) -> float:
    return 0.0
