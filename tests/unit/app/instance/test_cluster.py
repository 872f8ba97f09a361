"""What is known of a live cluster, how well, and which settings are in force."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from math import isnan
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from app.config import NAME
from app.instance.cluster import LiveCluster
from app.instance.live_settings import LiveSettings
from app.kube.connection import Connection
from app.kube.reflector import CAUSES
from app.process.surroundings import Surroundings
from app.serving.metrics import Metrics
from app.settings import Settings
from cli.kube.view import build_view
from extender.view_builder import NODES_AT_ONCE
from tests.builders import core_document, document, node_document, objects_of, read
from tests.fakes import DISK_SCHEDULES, Answer, FakeApiServer, Fault, WatchCut

pytestmark = pytest.mark.looptime

NAMESPACE = "extender"
KINDS = [
    "persistentvolumeclaims",
    "persistentvolumes",
    "storageclasses.storage.k8s.io",
    "nodes.longhorn.io",
    "volumes.longhorn.io",
    "replicas.longhorn.io",
    "backingimages.longhorn.io",
    "settings.longhorn.io",
    "diskschedules.longhorn.io",
    "configmaps",
]
ADVISORY = [
    "csinodes.storage.k8s.io",
    "engineimages.longhorn.io",
    "instancemanagers.longhorn.io",
    "shards.longhorn.io",
    "instancemanagerupgrades.longhorn.io",
    "nodes",
]
"""Those that decisions do without."""
ENABLED = "scheduler-extender-enabled"
POD = "scheduler-extender-pod-scheduling-timeout"
PREFIX = "longhorn_scheduler_extender_"
BROKEN_REPLICA = document("Replica", "r", spec={"nodeID": "node-1", "volumeSize": "x"})


@pytest.fixture(params=[True, False], ids=["streamed", "paged"])
def server(request: pytest.FixtureRequest) -> FakeApiServer:
    server = FakeApiServer(random.Random(4), streaming_lists=request.param, chop=0.2)
    server.add_resource(DISK_SCHEDULES)
    for each in (
        node_document("node-1"),
        node_document("node-2"),
        document("Volume", "vol", spec={"size": "1"}),
        document("Replica", "vol-r-1", spec={"volumeName": "vol", "nodeID": "node-1"}),
        core_document("PersistentVolumeClaim", "data"),
    ):
        server.put(each)
    return server


class Running:
    """A cluster that is followed, and its metrics."""

    def __init__(self, connection: Connection, settings: Settings) -> None:
        self.metrics = Metrics(CollectorRegistry(), version="1")
        date, self._clock = datetime(2026, 1, 1, tzinfo=UTC), asyncio.get_running_loop().time
        around = Surroundings(connection, self._clock, lambda: date, random.Random(2))
        self.cluster = LiveCluster(around, settings, self.metrics)

    @property
    def settings(self) -> LiveSettings:
        return self.cluster.live_settings

    @property
    def nodes(self) -> set[str]:
        return {*self.cluster.view.spaces}

    @property
    def gaps(self) -> dict[str, str]:
        return {gap.kind: gap.why for gap in self.cluster.gaps(self._clock())}

    @property
    def troubles(self) -> dict[str, str]:
        return {gap.kind: str(gap.trouble) for gap in self.cluster.gaps(self._clock())}

    def value(self, name: str, **labels: str) -> float | None:
        return self.metrics.registry.get_sample_value(f"{PREFIX}{name}", labels)


@asynccontextmanager
async def live(server: FakeApiServer, **settings: Any) -> AsyncIterator[Running]:
    """Follow everything until the block ends."""
    async with server.client("us") as client:
        running = Running(Connection(client), Settings(namespace=NAMESPACE, **settings))
        tasks = [asyncio.create_task(loop) for loop in running.cluster.loops()]
        try:
            yield running
            assert not any(task.done() for task in tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)


def config_map(data: object, *, name: str = NAME, namespace: str = NAMESPACE) -> dict[str, Any]:
    metadata, given = {"namespace": namespace}, {} if data is None else {"data": data}
    return core_document("ConfigMap", name, metadata=metadata, **given)


async def test_view_is_that_of_the_same_objects_read_at_once(server):
    async with live(server) as running:
        await asyncio.sleep(1)
        server.put(document("Replica", "new", spec={"volumeName": "vol", "nodeID": "node-2"}))
        server.delete("replicas.longhorn.io", "vol-r-1", "longhorn-system")
        await asyncio.sleep(1)

        listed = [
            each
            for kind in KINDS[:8]
            for each in server.list(kind, "longhorn-system" if "longhorn" in kind else "")
        ]
        expected, view = build_view(objects_of(*map(read, listed))), running.cluster.view
        for field in ("spaces", "claims", "volumes", "replicas"):
            assert getattr(view, field) == getattr(expected, field)


async def test_every_kind_is_a_gap_before_it_is_listed(server):
    async with live(server) as running:
        assert running.gaps == dict.fromkeys([*KINDS, *ADVISORY], "not listed yet")
        await asyncio.sleep(1)

        assert running.gaps == {}


@pytest.mark.parametrize("kind", ADVISORY)
@pytest.mark.parametrize("is_served", [True, False], ids=["forbidden", "not-served"])
async def test_cluster_is_complete_without_a_kind_that_it_does_without(server, kind, *, is_served):
    plural, _, group = kind.partition(".")
    if is_served:
        server.authorize = lambda call: (call.resource, call.group) != (plural, group)
    else:
        server.remove_resource(group, plural)
    async with live(server) as running:
        await asyncio.sleep(5)

        assert running.gaps == {}
        [reflector] = [each for each in running.cluster.reflectors if each.name == kind]
        assert reflector.is_done_without or reflector.is_absent
        assert reflector.trouble == ""


@pytest.mark.parametrize("kind", KINDS)
async def test_cluster_is_complete_once_all_kinds_are_listed(server, kind):
    """One kind is forbidden; the others are known meanwhile, and no settings are followed."""
    plural, _, group = kind.partition(".")
    server.authorize = lambda call: (call.resource, call.group) != (plural, group)
    server.put(config_map({ENABLED: "false"}))
    async with live(server) as running:
        await asyncio.sleep(30)
        assert running.gaps == {kind: "not listed yet"}
        assert "forbidden" in running.troubles[kind]

        server.authorize = None
        await asyncio.sleep(10)
        assert running.gaps == {}
        assert running.nodes == {"node-1", "node-2"}
        assert running.settings == LiveSettings(enabled=False)


async def test_what_was_not_heard_of_for_too_long_is_a_gap_of_constant_text(server):
    async with live(server, view_age_limit_seconds=120.0) as running:
        await asyncio.sleep(1)
        with server.outage():
            await asyncio.sleep(110)
            assert running.gaps == {}
            late = dict.fromkeys([*KINDS, *ADVISORY], "not heard of for more than 120 s")
            for _ in range(20):
                await asyncio.sleep(15)
                assert running.gaps == late
            assert all("reached" in trouble for trouble in running.troubles.values())
            assert running.nodes == {"node-1", "node-2"}
        await asyncio.sleep(10)
        assert running.gaps == {}


async def test_settings_follow_the_config_map(server):
    """With nonsense the last good value stays. Each problem counts once, however long it lasts."""
    thirty, off = {POD: "30"}, LiveSettings(enabled=False)
    default, seconds = LiveSettings(), LiveSettings(pod_scheduling_timeout_seconds=30)
    later = {POD: "later", ENABLED: "true"}
    async with live(server) as running:
        await asyncio.sleep(1)
        for data, expected, errors in (
            ({ENABLED: "false\n"}, off, 0),
            (None, default, 0),
            (thirty, seconds, 0),
            ({POD: "soon"}, seconds, 1),
            ({POD: "soon", ENABLED: "true"}, seconds, 1),  # the same problem
            (later, seconds, 2),
            ({POD: "later", ENABLED: "perhaps"}, seconds, 3),
            ({POD: "later", ENABLED: "perhaps", "typo": "1"}, seconds, 4),
        ):
            server.put(config_map(data))
            await asyncio.sleep(1)
            assert (running.settings, running.gaps) == (expected, {})
            assert running.value("settings_errors_total") == errors

        server.put(document("Setting", "storage-network", value="x"))  # read anew, nothing of ours
        with server.outage():
            await asyncio.sleep(1)
        await asyncio.sleep(10)
        assert running.value("settings_errors_total") == 4

        server.delete("configmaps", NAME, NAMESPACE)
        await asyncio.sleep(1)
        assert running.settings == default


@pytest.mark.parametrize("broken", [5, {ENABLED: 5}], ids=str)
async def test_config_map_that_cannot_be_read_keeps_the_last_values(server, broken):
    server.put(config_map({ENABLED: "false"}))
    async with live(server) as running:
        await asyncio.sleep(1)
        server.put(config_map(broken))
        await asyncio.sleep(1)
        assert running.settings == LiveSettings(enabled=False)
        assert running.value("unreadable_objects", kind="configmaps") == 1

        server.delete("configmaps", NAME, NAMESPACE)
        await asyncio.sleep(1)
        assert running.settings == LiveSettings()


async def test_other_config_maps_are_not_read(server):
    server.put(config_map({ENABLED: "false"}, name="another"))
    server.put(config_map({ENABLED: "false"}, namespace="default"))
    async with live(server) as running:
        await asyncio.sleep(1)

        assert running.settings == LiveSettings()
        assert running.value("objects", kind="configmaps") == 0
        asked = [call.name for call in server.calls if call.resource == "configmaps"]
        assert set(asked) == {NAME}


async def test_settings_of_longhorns_own_extender_are_shown_and_change_nothing(server):
    server.put(config_map({POD: "30"}))
    async with live(server) as running:
        for value, state in (("false", "off"), ("true", "on"), ("perhaps", "off"), ("", "absent")):
            if value:
                server.put(document("Setting", ENABLED, value=value))
                server.put(document("Setting", POD, value="nonsense"))
            else:
                server.delete("settings.longhorn.io", ENABLED, "longhorn-system")
            await asyncio.sleep(1)

            assert running.settings == LiveSettings(pod_scheduling_timeout_seconds=30)
            assert running.cluster.own_extender == state
            for each in ("absent", "off", "on"):
                assert running.value("longhorn_own_extender", state=each) == (each == state)
        assert running.value("settings_errors_total") == 0


async def test_metrics_show_every_kind_from_the_start(server):
    async with live(server) as running:
        for kind in KINDS:
            assert isnan(running.value("view_age_seconds", kind=kind) or 0)
            assert running.value("objects", kind=kind) == 0
            for cause in CAUSES:
                assert running.value("watch_restarts_total", kind=kind, cause=cause) == 0


async def test_metrics_follow_what_is_known(server):
    server.put(BROKEN_REPLICA)
    async with live(server) as running:
        await asyncio.sleep(20)

        counts = [running.value("objects", kind=kind) for kind in KINDS]
        assert counts == [1, 0, 0, 2, 1, 2, 0, 0, 0, 0]
        assert running.value("unreadable_objects", kind="replicas.longhorn.io") == 1
        assert 15 <= (running.value("view_age_seconds", kind="volumes.longhorn.io") or 0) <= 20


async def test_restarts_are_counted_by_kind_and_cause(server):
    def watch_of(plural):
        return lambda call: (
            call.resource == plural and call.verb == "watch" and "resourceVersion" in call.query
        )

    server.faults += [
        Fault(Answer(410), watch_of("volumes")),
        Fault(Answer(503), watch_of("replicas"), times=2),
        Fault(WatchCut(), watch_of("settings")),
    ]
    async with live(server) as running:
        await asyncio.sleep(1)
        with server.outage():
            await asyncio.sleep(0.01)
        await asyncio.sleep(40)

        for plural, cause, count in (
            ("volumes", "expired", 1),
            ("replicas", "status", 2),
            ("nodes", "expired", 0),
            ("nodes", "status", 0),
        ):
            kind = f"{plural}.longhorn.io"
            assert running.value("watch_restarts_total", kind=kind, cause=cause) == count
        cut = running.value("watch_restarts_total", kind="settings.longhorn.io", cause="connection")
        assert (cut or 0) >= 1
        assert running.gaps == {}


async def test_node_with_a_broken_replica_is_rejected_until_it_is_mended(server):
    server.put(BROKEN_REPLICA)
    async with live(server) as running:
        await asyncio.sleep(1)
        assert (running.nodes, running.cluster.view.unreadable_nodes) == ({"node-2"}, {"node-1"})

        mended = {"nodeID": "node-1", "volumeSize": "5", "volumeName": "vol"}
        server.put(document("Replica", "r", spec=mended))
        await asyncio.sleep(1)
        assert running.nodes == {"node-1", "node-2"}
        assert running.cluster.view.unreadable_nodes == set()
        assert running.value("unreadable_objects", kind="replicas.longhorn.io") == 0


OVER_PROVISIONING = "storage-over-provisioning-percentage"
TOTAL = 2 * NODES_AT_ONCE + 50


def put_many_nodes(server: FakeApiServer) -> None:
    """Add nodes until there are `TOTAL`."""
    for number in range(TOTAL - len(server.list("nodes.longhorn.io", "longhorn-system"))):
        server.put(node_document(f"node-{number:03}"))


def with_half_the_limit(running: Running) -> int:
    """Return how many nodes are worked out with an over-provisioning of 50 %."""
    spaces = [space.disks[0] for space in running.cluster.view.spaces.values()]
    return sum(2 * space.limit_bytes == space.disk.maximum_bytes for space in spaces)


async def test_nodes_are_worked_out_piece_by_piece_before_the_cluster_is_complete(server):
    put_many_nodes(server)
    async with live(server) as running:
        gaps = dict[int, dict[str, str]]()
        while not gaps or running.gaps:
            gaps[len(running.cluster.view.spaces)] = running.gaps
            await asyncio.sleep(0)

        assert gaps.keys() == {0, NODES_AT_ONCE, 2 * NODES_AT_ONCE, TOTAL}
        assert gaps[NODES_AT_ONCE] == {"nodes.longhorn.io": "not worked out yet"}


async def test_a_changed_setting_is_worked_out_piece_by_piece(server):
    put_many_nodes(server)
    async with live(server) as running:
        await asyncio.sleep(1)
        told = list[int]()
        running.cluster.listeners.append(lambda _: told.append(with_half_the_limit(running)))
        server.put(document("Setting", OVER_PROVISIONING, value="50"))
        seen, gaps = set[int](), list[dict[str, str]]()
        while len(seen) < 4:
            seen.add(with_half_the_limit(running))
            gaps.append(running.gaps)
            await asyncio.sleep(0)

        assert seen == {0, NODES_AT_ONCE, 2 * NODES_AT_ONCE, TOTAL}
        assert not any(gaps)
        assert told == [0, TOTAL]
