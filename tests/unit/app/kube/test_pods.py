"""Single pods are followed from what is known of them, all that wait are listed, one is woken."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from random import Random
from typing import Any

import msgspec
import pytest

from app.kube import objects
from app.kube.connection import Connection
from app.kube.errors import StatusError
from app.kube.pods import FollowedPods, list_pending, wake
from app.kube.translate import Pod, pod_record
from extender import PodRef
from extender.kubernetes import PodStatus
from tests.builders import core_document
from tests.fakes import Call, FakeApiServer, Object
from tests.unit.app.kube.following import at_work

pytestmark = pytest.mark.looptime

MOST_WATCHES = 500
WOKEN_AT = "longhorn-scheduler-extender/woken-at"


@pytest.fixture(params=[True, False], ids=["streamed", "paged"])
def server(request: pytest.FixtureRequest) -> FakeApiServer:
    """A server that offers streamed lists, or does not; what is read comes in pieces."""
    return FakeApiServer(Random(3), streaming_lists=request.param, chop=0.3)


class Following:
    """Followed pods of one server, and what was told of them."""

    def __init__(self, server: FakeApiServer, connection: Connection) -> None:
        self.server = server
        self.told: list[tuple[str, PodStatus | None]] = []
        self.causes: list[str] = []
        self.pods = FollowedPods(
            connection,
            on_seen=lambda uid, status: self.told.append((uid, status)),
            on_restart=self.causes.append,
            clock=asyncio.get_running_loop().time,
            random=Random(1),
        )

    def follow(self, pod: Pod, *, version: int | None = None, after_seconds: float = 0.0) -> None:
        """Follow a pod from what is known of it; version 0 stands for nothing."""
        asked = pod.status
        if version is not None:
            asked = msgspec.structs.replace(asked, version=version)
        self.pods.follow(pod.ref, asked, after_seconds=after_seconds)

    @property
    def nominated(self) -> list[str | None]:
        """The nominations that were told, in order."""
        return [status.nominated if status else "gone" for _, status in self.told]


@asynccontextmanager
async def following(server: FakeApiServer) -> AsyncIterator[Following]:
    async with server.client("us") as client:
        found = Following(server, Connection(client))
        async with at_work(found.pods.run()):
            yield found


def put(server: FakeApiServer, name: str = "pod", **status: Any) -> Pod:
    """Create or change a pod; return it as it is then."""
    server.put(core_document("Pod", name, spec={}, status={"phase": "Pending", **status}))
    return get(server, name)


def get(server: FakeApiServer, name: str = "pod") -> Pod:
    found = server.get("pods", name, "default")
    assert found is not None
    return pod_record(msgspec.convert(found, objects.Pod))


def nominate(server: FakeApiServer, node: str, name: str = "pod") -> Pod:
    return put(server, name, nominatedNodeName=node)


def delete(server: FakeApiServer, name: str = "pod") -> None:
    server.delete("pods", name, "default")


def watches(server: FakeApiServer) -> list[Call]:
    return [call for call in server.calls if call.verb == "watch"]


async def test_what_changed_before_the_watch_began_is_told(server):
    async with following(server) as found:
        found.follow(put(server), after_seconds=5.0)
        nominate(server, "node-1")
        await asyncio.sleep(4.9)
        assert watches(server) == []

        await asyncio.sleep(0.2)

        assert found.nominated == ["node-1"]
        assert len(watches(server)) == 1


async def test_no_more_is_asked_than_one_watch_of_one_pod(server):
    async with following(server) as found:
        pod = put(server)
        put(server, "other")
        found.follow(pod)
        await asyncio.sleep(1)
        nominate(server, "node-1", "other")
        await asyncio.sleep(1)

        [call] = server.calls
        assert (call.verb, call.namespace, call.name) == ("watch", "default", "pod")
        assert call.query["resourceVersion"] == str(pod.status.version)
        assert found.told == []


async def test_a_pod_of_which_nothing_is_known_is_told_of_as_it_is(server):
    async with following(server) as found:
        pod = nominate(server, "node-1")
        found.follow(pod, version=0)
        await asyncio.sleep(1)

        assert found.told == [(pod.ref.uid, pod.status)]


@pytest.mark.parametrize("version", [0, None], ids=["nothing-known", "known"])
@pytest.mark.parametrize("is_another", [False, True], ids=["absent", "another-of-its-name"])
async def test_a_pod_that_is_gone_is_told_of_as_gone(server, version, is_another):
    async with following(server) as found:
        pod = put(server)
        delete(server)
        if is_another:
            put(server)
        found.follow(pod, version=version)
        await asyncio.sleep(1)
        if is_another:
            nominate(server, "node-1")
            await asyncio.sleep(1)

        assert set(found.told) == {(pod.ref.uid, None)}
        assert len(found.told) == 1 or is_another


async def test_a_version_that_is_too_old_is_no_trouble(server):
    async with following(server) as found:
        pod = put(server)
        nominate(server, "node-1")
        put(server, "other")
        server.compact()
        found.follow(pod)
        await asyncio.sleep(0.1)

        assert found.nominated == ["node-1"]
        assert found.causes == []

        nominate(server, "node-2")
        await asyncio.sleep(0.1)
        assert found.nominated == ["node-1", "node-2"]


async def test_a_pod_that_cannot_be_read_is_not_told_of_until_it_can(server):
    async with following(server) as found:
        pod = put(server)
        found.follow(pod)
        await asyncio.sleep(1)
        server.put(core_document("Pod", "pod", spec={}, status="?"))
        await asyncio.sleep(1)
        assert found.told == []

        nominated = nominate(server, "node-1")
        await asyncio.sleep(1)

        assert found.told == [(pod.ref.uid, nominated.status)]


@pytest.mark.parametrize("after_seconds", [0.0, 0.05, 0.5])
async def test_a_pod_may_be_forgotten_before_its_watch_has_begun(server, after_seconds):
    server.latency = lambda _: (0.1, 0.1)
    async with following(server) as found:
        pod = nominate(server, "node-1")
        found.follow(pod, version=0, after_seconds=after_seconds)
        await asyncio.sleep(0.15)

        found.pods.forget(pod.ref)
        await asyncio.sleep(5)

        assert found.told == []
        assert len(found.pods) == 0


async def test_a_pod_forgotten_and_followed_at_once_is_told_of_once(server):
    async with following(server) as found:
        pod = put(server)
        found.follow(pod)
        await asyncio.sleep(1)
        for _ in range(3):
            found.pods.forget(pod.ref)
            found.follow(pod)

        nominate(server, "node-1")
        await asyncio.sleep(1)

        assert found.nominated == ["node-1"]
        assert len(found.pods) == 1


async def test_more_pods_than_may_be_watched_wait_their_turn():
    server = FakeApiServer(Random(3))
    async with following(server) as found:
        pods = [put(server, f"pod-{number:03}") for number in range(MOST_WATCHES + 20)]
        for pod in pods:
            found.follow(pod, after_seconds=0.1)
        for pod in pods:
            nominate(server, "node-1", pod.ref.name)
        await asyncio.sleep(1)
        assert len(found.pods) == MOST_WATCHES
        assert len(found.told) == MOST_WATCHES

        for pod in pods[:15]:
            found.pods.forget(pod.ref)
        await asyncio.sleep(1)

        uids = {uid for uid, _ in found.told[MOST_WATCHES:]}
        assert uids == {pod.ref.uid for pod in pods[MOST_WATCHES:][:15]}
        assert len(found.pods) == MOST_WATCHES

        lonely = put(server, "lonely")
        found.follow(lonely)  # no other source reports it
        nominate(server, "node-1", "lonely")
        await asyncio.sleep(1)
        assert found.told[-1][0] == lonely.ref.uid
        assert len(found.pods) == MOST_WATCHES + 1


async def test_all_pods_that_have_not_begun_to_run_are_listed(server):
    for name in ("a", "c"):
        put(server, name)
    server.put(core_document("Pod", "b", spec={}, status={"phase": "Pending", "conditions": 1}))
    for phase in ("Running", "Succeeded", "Failed"):
        put(server, phase.lower(), phase=phase)
    async with server.client("us") as client:
        found = await list_pending(Connection(client))

    assert [pod.ref.name for pod in found] == ["a", "c"]


async def wake_pod(server: FakeApiServer, pod: PodRef) -> None:
    async with server.client("us") as client:
        await wake(Connection(client), pod, datetime(2026, 1, 2, 3, 4, 5, 6000, tzinfo=UTC))


def stored(server: FakeApiServer, name: str = "pod") -> Object:
    found = server.get("pods", name, "default")
    assert found is not None
    return found


async def test_waking_sets_an_annotation_and_nothing_else(server):
    nominate(server, "node-1")
    before = stored(server)
    before["metadata"]["annotations"] = {"other": "kept"}
    server.put(before)
    before = stored(server)

    await wake_pod(server, get(server).ref)

    after = stored(server)
    assert after["metadata"].pop("annotations") == {
        "other": "kept",
        WOKEN_AT: "2026-01-02T03:04:05.006000+00:00",
    }
    del before["metadata"]["annotations"]
    assert after["metadata"].pop("resourceVersion") > before["metadata"].pop("resourceVersion")
    assert after == before


async def test_another_pod_of_the_name_is_not_woken(server):
    pod = put(server)
    delete(server)
    put(server)

    with pytest.raises(StatusError) as raised:
        await wake_pod(server, pod.ref)

    assert raised.value.status in (409, 422)
    assert "annotations" not in stored(server)["metadata"]
    assert server.calls[-1].body["metadata"]["uid"] == pod.ref.uid
