"""The played Longhorn gives replicas up as the real one does, and takes them again."""

from typing import Any

import msgspec
import pytest

from tests.actors import api as kinds
from tests.actors.api import Object
from tests.actors.longhorn import instance_manager, longhorn_node, salvage, setting
from tests.actors.longhorn.draft import merged
from tests.actors.longhorn.objects import condition, disk_uuid
from tests.actors.longhorn.records import Replica
from tests.unit.actors.world import GIB, VIRTUAL_TIME, World, running

DOWN = "KubernetesNodeNotReady"
EARLY, LATER, LAST = (f"2026-01-01T00:0{at}Z" for at in ("0:00", "1:00", "1:59"))


def node(name: str, *, ready: str = "", **disk: Any) -> Object:
    """Build a node with one disk; *ready* says why it is not."""
    found = longhorn_node(name, {"disk": GIB})
    if ready:
        found["status"]["conditions"] = [condition("Ready", "False", reason=ready)]
    return merged(found, {"status": {"diskStatus": {"disk": disk}}})


def conditions(ready: str = "True", schedulable: str = "True", reason: str = "") -> list[Object]:
    return [condition("Ready", ready, reason=reason), condition("Schedulable", schedulable)]


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


@pytest.mark.parametrize(
    ("there", "launches", "is_unable"),
    [
        pytest.param(node("node-1"), True, False, id="all-runs"),
        pytest.param(None, True, True, id="node-gone"),
        pytest.param(node("node-1", ready=DOWN), True, True, id="node-down"),
        pytest.param(node("node-1", ready="KubernetesNodeGone"), None, True, id="node-lost"),
        pytest.param(node("node-1", ready="ManagerPodDown"), True, False, id="manager-away"),
        pytest.param(node("node-1"), False, True, id="instance-manager-dead"),
        pytest.param(node("node-1", diskUUID="other"), True, True, id="other-disk"),
        pytest.param(
            node("node-1", conditions=conditions("False", reason="DiskFilesystemChanged")),
            True,
            True,
            id="disk-not-ready",
        ),
        pytest.param(
            node("node-1", conditions=conditions("False", reason="NodeNotReady")),
            True,
            False,
            id="disk-of-a-node-whose-manager-is-away",
        ),
        pytest.param(
            node("node-1", conditions=conditions(schedulable="False")), True, False, id="disk-full"
        ),
    ],
)
def test_a_replica_that_cannot_be_started_fails(there, *, launches, is_unable):
    nodes = {"node-1": there} if there else {}

    found = salvage.unable([replica()], nodes, lambda _: launches, needs_disk=True)

    assert found == (["a"] if is_unable else [])


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(failed(), id="failed"),
        pytest.param(replica(node=""), id="without-a-place"),
        pytest.param(replica(is_running=True), id="running"),
    ],
)
def test_other_replicas_do_not_fail_for_want_of_an_instance_manager(other):
    nodes = {"node-1": node("node-1")}

    assert not salvage.unable([other], nodes, lambda _: False, needs_disk=True)


def test_disks_of_data_engine_v2_are_not_looked_at():
    nodes = {"node-1": node("node-1", diskUUID="other")}

    assert not salvage.unable([replica()], nodes, lambda _: True, needs_disk=False)


@pytest.mark.parametrize(
    ("there", "one", "nowhere"),
    [
        pytest.param(node("node-1"), replica(), True, id="up"),
        pytest.param(node("node-1"), failed(), True, id="up-and-failed"),
        pytest.param(node("node-1", ready=DOWN), replica(), False, id="down"),
        pytest.param(node("node-1"), replica(is_running=True), False, id="it-runs"),
        pytest.param(node("node-1"), replica(node=""), False, id="no-place"),
    ],
)
def test_a_volume_attaches_nowhere_without_an_instance_manager_where_a_replica_is(
    there, one, *, nowhere
):
    assert salvage.attaches_nowhere([one], {"node-1": there}, lambda _: None) is nowhere


@pytest.mark.parametrize(
    ("replicas", "faulted"),
    [
        pytest.param([], True, id="none"),
        pytest.param([replica(), failed("b")], False, id="one-is-left"),
        pytest.param([failed()], True, id="all-failed"),
        pytest.param(
            [failed(), replica("b", has_data=False, is_healthy=False)], True, id="only-an-empty-one"
        ),
        pytest.param([replica(has_data=False, is_healthy=False)], False, id="new"),
        pytest.param([failed(has_data=False)], True, id="new-and-failed"),
    ],
)
def test_a_volume_is_faulted_if_all_with_data_have_failed(replicas, *, faulted):
    assert salvage.is_faulted(replicas) is faulted


@pytest.mark.parametrize(
    ("replicas", "there", "taken"),
    [
        pytest.param([failed()], node("node-1"), ["a"], id="one"),
        pytest.param(
            [failed("a", EARLY), failed("b", LATER), failed("c", LAST)],
            node("node-1"),
            ["b", "c"],
            id="of-the-last-minute",
        ),
        pytest.param(
            [failed("a", EARLY), failed("b", LATER)], node("node-1"), ["b"], id="a-minute-is-long"
        ),
        pytest.param(
            [failed("a", EARLY), failed("b", LAST, node="node-2")],
            node("node-1"),
            ["a"],
            id="the-last-is-away",
        ),
        pytest.param([failed(has_data=False)], node("node-1"), [], id="no-data"),
        pytest.param([failed()], node("node-1", ready=DOWN), [], id="node-down"),
        pytest.param([failed()], node("node-1", diskUUID="other"), [], id="other-disk"),
        pytest.param(
            [failed()],
            node("node-1", conditions=conditions(schedulable="False")),
            [],
            id="disk-takes-none",
        ),
    ],
)
def test_which_replicas_are_salvaged(replicas, there, taken):
    assert salvage.salvaged(replicas, {"node-1": there}) == taken


def used_before(*, replicas: int = 1) -> World:
    """Replicas go to node-1, and to node-2 if there are two; pods run on node-3."""
    world = World()
    for name, gib in (("node-1", 100), ("node-2", 100 if replicas > 1 else 1), ("node-3", 1)):
        world.add_node(name, gib)
        world.put(kinds.INSTANCE_MANAGERS, instance_manager(name))
    return world


async def use(world: World, *, replicas: int = 1) -> None:
    """Have a volume written to, and detached again."""
    await world.provision("data", dataLocality="disabled", numberOfReplicas=str(replicas))
    world.run_pod("first", "node-3", "data")
    await world.until(lambda: world.state("data") == ("attached", "node-3"), within=20)
    world.end_pod("first")
    await world.until(lambda: world.state("data") == ("detached", ""), within=20)


def is_attached(world: World) -> bool:
    return world.state("data") == ("attached", "node-3")


def robustness(world: World) -> str:
    return str(world.volume("data")["status"]["robustness"])


def swap_disk(world: World, uuid: str) -> None:
    [found] = [each for each in world.nodes() if each["metadata"]["name"] == "node-1"]
    status = {"diskStatus": {"disk-1": {"diskUUID": uuid}}}
    world.put(kinds.LONGHORN_NODES, merged(found, {"status": status}))


def lose(world: World, what: str) -> None:
    match what:
        case "node":
            world.longhorn.set_ready("node-1", DOWN)
        case "disk":
            swap_disk(world, "other")
        case "manager":
            world.put(kinds.INSTANCE_MANAGERS, instance_manager("node-1", "error"))


def bring_back(world: World, what: str) -> None:
    match what:
        case "node":
            world.longhorn.set_ready("node-1")
        case "disk":
            swap_disk(world, disk_uuid("node-1", "disk-1"))
        case "manager":
            world.put(kinds.INSTANCE_MANAGERS, instance_manager("node-1"))


@VIRTUAL_TIME
@pytest.mark.parametrize("what", ["node", "disk", "manager"])
async def test_a_volume_whose_only_replica_cannot_be_started_is_faulted_until_it_can(what):
    world = used_before()
    async with running(world):
        await use(world)
        lose(world, what)
        await world.until(lambda: what != "node" or len(world.ready_nodes()) == 2, within=10)
        world.run_pod("web", "node-3", "data")

        await world.until(lambda: robustness(world) == "faulted", within=10)
        await world.hold(lambda: not is_attached(world), seconds=60)
        assert world.places("data") == ["node-1"]
        bring_back(world, what)
        await world.until(lambda: is_attached(world), within=10)
        [kept] = world.replicas("data")
        assert not kept["spec"]["failedAt"]
        assert kept["spec"]["lastFailedAt"]


@VIRTUAL_TIME
async def test_a_volume_is_not_salvaged_if_the_setting_is_off():
    world = used_before()
    world.put(kinds.SETTINGS, setting("auto-salvage", "false"))
    async with running(world):
        await use(world)
        lose(world, "manager")
        world.run_pod("web", "node-3", "data")
        await world.until(lambda: robustness(world) == "faulted", within=10)

        bring_back(world, "manager")
        await world.hold(lambda: robustness(world) == "faulted", seconds=60)


@VIRTUAL_TIME
async def test_a_volume_attaches_with_the_replicas_that_can_be_started():
    world = used_before(replicas=2)
    async with running(world):
        await use(world, replicas=2)
        lose(world, "node")
        await world.until(lambda: len(world.ready_nodes()) == 2, within=10)
        world.run_pod("web", "node-3", "data")

        await world.until(lambda: is_attached(world), within=20)
        lost = [each for each in world.replicas() if each["spec"]["failedAt"]]
        assert [each["spec"]["nodeID"] for each in lost] == ["node-1"]


@VIRTUAL_TIME
async def test_a_volume_waits_for_an_instance_manager_where_there_is_none():
    world = used_before(replicas=2)
    async with running(world):
        await use(world, replicas=2)
        name = instance_manager("node-1")["metadata"]["name"]
        world.server.delete("instancemanagers.longhorn.io", name, "longhorn-system")
        world.run_pod("web", "node-3", "data")

        await world.until(lambda: world.volume("data")["spec"]["nodeID"] == "node-3", within=10)
        await world.hold(lambda: world.state("data") == ("detached", ""), seconds=60)
        world.put(kinds.INSTANCE_MANAGERS, instance_manager("node-1", "starting"))
        await world.until(lambda: world.state("data")[0] == "attaching", within=10)
        await world.hold(lambda: world.state("data")[0] == "attaching", seconds=60)
        world.put(kinds.INSTANCE_MANAGERS, instance_manager("node-1"))
        await world.until(lambda: is_attached(world), within=10)


@VIRTUAL_TIME
async def test_an_attached_volume_is_left_alone_when_a_node_goes():
    world = used_before()
    async with running(world):
        await use(world)
        world.run_pod("web", "node-3", "data")
        await world.until(lambda: is_attached(world), within=10)

        lose(world, "node")
        lose(world, "manager")
        await world.hold(lambda: is_attached(world), seconds=60)
