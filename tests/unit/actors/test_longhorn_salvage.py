"""The played Longhorn gives replicas up as the real one does, and takes them again."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from tests.actors import api as kinds
from tests.actors.api import Object
from tests.actors.longhorn import instance_manager, longhorn_node, salvage
from tests.actors.longhorn.draft import merged
from tests.actors.longhorn.objects import condition, disk_uuid
from tests.actors.longhorn.records import Replica
from tests.unit.actors.world import GIB, VIRTUAL_TIME, World, running, world_of

pytestmark = VIRTUAL_TIME

ATTACHED = ("attached", "node-3")
DOWN = "KubernetesNodeNotReady"
EARLY, LATER, LAST = (f"2026-01-01T00:0{at}Z" for at in ("0:00", "1:00", "1:59"))


def node(ready: str = "", **disk: Any) -> Object:
    """Build node-1 with one disk; *ready* says why it is not."""
    found = longhorn_node("node-1", {"disk": GIB})
    if ready:
        found["status"]["conditions"] = [condition("Ready", "False", reason=ready)]
    return merged(found, {"status": {"diskStatus": {"disk": disk}}})


def with_disk(ready: str = "True", schedulable: str = "True", reason: str = "") -> Object:
    """Build a node whose disk has these conditions."""
    told = [condition("Ready", ready, reason=reason), condition("Schedulable", schedulable)]
    return node(conditions=told)


def replica(name: str = "a", **facts: Any) -> Replica:
    """Build a replica with data on the only disk of node-1."""
    fields = {
        "name": name,
        "node": "node-1",
        "disk": disk_uuid("node-1", "disk"),
        "hard_node": "",
        "is_healthy": True,
        "has_data": True,
        "is_evicting": False,
        "is_running": False,
        "is_leaving": False,
    }
    return msgspec.convert({**fields, **facts}, Replica)


def failed(name: str = "a", at: str = LAST, **facts: Any) -> Replica:
    return replica(name, is_failed=True, is_healthy=False, failed_at=at, **facts)


UNABLE: dict[str, tuple[Object | None, bool | None, bool]] = {
    "all runs": (node(), True, False),
    "node gone": (None, True, True),
    "node down": (node(DOWN), True, True),
    "node lost": (node("KubernetesNodeGone"), None, True),
    "manager away": (node("ManagerPodDown"), True, False),
    "instance manager dead": (node(), False, True),
    "other disk": (node(diskUUID="other"), True, True),
    "disk not ready": (with_disk("False", reason="DiskFilesystemChanged"), True, True),
    "disk of a node whose manager is away": (
        with_disk("False", reason="NodeNotReady"),
        True,
        False,
    ),
    "disk full": (with_disk(schedulable="False"), True, False),
}


@pytest.mark.parametrize(("there", "launches", "is_unable"), UNABLE.values(), ids=UNABLE)
def test_a_replica_that_cannot_be_started_fails(there, launches, is_unable):
    nodes = {"node-1": there} if there else {}

    found = salvage.unable([replica()], nodes, lambda _: launches, needs_disk=True)

    assert found == (["a"] if is_unable else [])


OTHERS = {
    "failed": failed(),
    "without a place": replica(node=""),
    "running": replica(is_running=True),
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_other_replicas_do_not_fail_for_want_of_an_instance_manager(other):
    assert not salvage.unable([other], {"node-1": node()}, lambda _: False, needs_disk=True)


def test_disks_of_data_engine_v2_are_not_looked_at():
    nodes = {"node-1": node(diskUUID="other")}

    assert not salvage.unable([replica()], nodes, lambda _: True, needs_disk=False)


NOWHERE = {
    "up": (node(), replica(), True),
    "up and failed": (node(), failed(), True),
    "down": (node(DOWN), replica(), False),
    "it runs": (node(), replica(is_running=True), False),
    "no place": (node(), replica(node=""), False),
}


@pytest.mark.parametrize(("there", "one", "nowhere"), NOWHERE.values(), ids=NOWHERE)
def test_a_volume_attaches_nowhere_without_an_instance_manager_where_a_replica_is(
    there, one, nowhere
):
    assert salvage.attaches_nowhere([one], {"node-1": there}, lambda _: None) is nowhere


FAULTED: dict[str, tuple[list[Replica], bool]] = {
    "none": ([], True),
    "one is left": ([replica(), failed("b")], False),
    "all failed": ([failed()], True),
    "only an empty one": ([failed(), replica("b", has_data=False, is_healthy=False)], True),
    "new": ([replica(has_data=False, is_healthy=False)], False),
    "new and failed": ([failed(has_data=False)], True),
}


@pytest.mark.parametrize(("replicas", "faulted"), FAULTED.values(), ids=FAULTED)
def test_a_volume_is_faulted_if_all_with_data_have_failed(replicas, faulted):
    assert salvage.is_faulted(replicas) is faulted


A, B, C = failed("a", EARLY), failed("b", LATER), failed("c", LAST)
SALVAGED: dict[str, tuple[list[Replica], Object, str]] = {
    "one": ([failed()], node(), "a"),
    "failed in the last minute": ([A, B, C], node(), "b c"),
    "failed a minute ago": ([A, B], node(), "b"),
    "the last is away": ([A, failed("b", LAST, node="node-2")], node(), "a"),
    "no data": ([failed(has_data=False)], node(), ""),
    "node down": ([failed()], node(DOWN), ""),
    "other disk": ([failed()], node(diskUUID="other"), ""),
    "disk takes none": ([failed()], with_disk(schedulable="False"), ""),
}


@pytest.mark.parametrize(("replicas", "there", "taken"), SALVAGED.values(), ids=SALVAGED)
def test_which_replicas_are_salvaged(replicas, there, taken):
    assert salvage.salvaged(replicas, {"node-1": there}) == taken.split()


@asynccontextmanager
async def detached(
    *, replicas: int = 1, settings: Mapping[str, str] | None = None
) -> AsyncIterator[World]:
    """Run a volume that was written to on node-3; its replicas are on node-1, and on node-2."""
    world = world_of(100, 100 if replicas > 1 else 1, 1, settings=settings)
    for name in ("node-1", "node-2", "node-3"):
        world.put(kinds.INSTANCE_MANAGERS, instance_manager(name))
    async with running(world):
        of_class = {"dataLocality": "disabled", "numberOfReplicas": str(replicas)}
        await world.use("data", "node-3", pod="first", within=20, **of_class)
        await world.leave("first", "data", within=20)
        yield world


def robustness(world: World) -> str:
    return str(world.volume("data")["status"]["robustness"])


def have(world: World, what: str, *, work: bool) -> None:
    """Have a part of node-1 work, or not."""
    match what:
        case "node":
            world.longhorn.set_ready("node-1", "" if work else DOWN)
        case "disk":
            [found] = [each for each in world.nodes() if each["metadata"]["name"] == "node-1"]
            uuid = disk_uuid("node-1", "disk-1") if work else "other"
            status = {"diskStatus": {"disk-1": {"diskUUID": uuid}}}
            world.put(kinds.LONGHORN_NODES, merged(found, {"status": status}))
        case "manager":
            state = "running" if work else "error"
            world.put(kinds.INSTANCE_MANAGERS, instance_manager("node-1", state))


@pytest.mark.parametrize("what", ["node", "disk", "manager"])
async def test_a_volume_whose_only_replica_cannot_be_started_is_faulted_until_it_can(what):
    async with detached() as world:
        have(world, what, work=False)
        await world.until(lambda: what != "node" or len(world.ready_nodes()) == 2, within=10)
        world.run_pod("web", "node-3", "data")

        await world.until(lambda: robustness(world) == "faulted", within=10)
        await world.hold(lambda: world.state("data") != ATTACHED, seconds=60)
        assert world.places("data") == ["node-1"]
        have(world, what, work=True)
        await world.attached("data", "node-3")
        [kept] = world.replicas("data")
        assert not kept["spec"]["failedAt"]
        assert kept["spec"]["lastFailedAt"]


async def test_a_volume_is_not_salvaged_if_the_setting_is_off():
    async with detached(settings={"auto-salvage": "false"}) as world:
        have(world, "manager", work=False)
        world.run_pod("web", "node-3", "data")
        await world.until(lambda: robustness(world) == "faulted", within=10)

        have(world, "manager", work=True)
        await world.hold(lambda: robustness(world) == "faulted", seconds=60)


async def test_a_volume_attaches_with_the_replicas_that_can_be_started():
    async with detached(replicas=2) as world:
        have(world, "node", work=False)
        await world.until(lambda: len(world.ready_nodes()) == 2, within=10)
        world.run_pod("web", "node-3", "data")

        await world.attached("data", "node-3", within=20)
        lost = [each for each in world.replicas() if each["spec"]["failedAt"]]
        assert [each["spec"]["nodeID"] for each in lost] == ["node-1"]


async def test_a_volume_waits_for_an_instance_manager_where_there_is_none():
    async with detached(replicas=2) as world:
        name = instance_manager("node-1")["metadata"]["name"]
        world.server.delete("instancemanagers.longhorn.io", name, "longhorn-system")
        world.run_pod("web", "node-3", "data")

        await world.until(lambda: world.volume("data")["spec"]["nodeID"] == "node-3", within=10)
        await world.hold(lambda: world.state("data") == ("detached", ""), seconds=60)
        world.put(kinds.INSTANCE_MANAGERS, instance_manager("node-1", "starting"))
        await world.hangs("data", "attaching")
        world.put(kinds.INSTANCE_MANAGERS, instance_manager("node-1"))
        await world.attached("data", "node-3")


async def test_an_attached_volume_is_left_alone_when_a_node_goes():
    async with detached() as world:
        world.run_pod("web", "node-3", "data")
        await world.attached("data", "node-3")

        have(world, "node", work=False)
        have(world, "manager", work=False)
        await world.hold(lambda: world.state("data") == ATTACHED, seconds=60)
