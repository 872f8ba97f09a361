"""The leader takes the startup taint off new nodes, and whatever comes of that, goes on answering.

The nodes are Longhorn's from the start: what a test waits for is what kube-scheduler is told.
"""

import asyncio
from collections.abc import Iterator

import pytest

from app.instance.untainting import PATIENCE_SECONDS, PAUSE_SECONDS, PERIOD_SECONDS
from tests.fakes import Answer, Call, Delay, Fault, Object
from tests.fakes.installed import LONGHORN
from tests.integration.instances import VIRTUAL_TIME
from tests.integration.scheduling import ONE, TWO, World, serving

pytestmark = VIRTUAL_TIME

KEY = "startup-taint.cluster-autoscaler.kubernetes.io/longhorn"
TAINT = {"key": KEY, "effect": "NoSchedule"}
OTHER = {"key": "dedicated", "value": "storage", "effect": "NoSchedule"}
HOST = "kubernetes.io/hostname"
LOOK_SECONDS = PERIOD_SECONDS + 1


def register(world: World, *names: str) -> None:
    """Have kubelets register their nodes."""
    for name in names:
        world.server.put(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": name, "labels": {HOST: name}},
                "spec": {"podCIDR": "10.0.0.0/24", "taints": [OTHER, TAINT]},
            }
        )


def tell(world: World, *names: str) -> None:
    """Have external-provisioner tell of the disks of nodes."""
    for obj in (each for name in names for each in capacities(name)):
        world.server.put(obj)


def capacities(name: str) -> Iterator[Object]:
    for class_ in ("local", "longhorn-local"):
        yield {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSIStorageCapacity",
            "metadata": {"name": f"{class_}-{name}", "namespace": LONGHORN},
            "storageClassName": class_,
            "nodeTopology": {"matchLabels": {HOST: name}},
            "maximumVolumeSize": "100Gi",
        }


def node(world: World, name: str = ONE) -> Object:
    found = world.server.get("nodes", name)
    assert found is not None
    return found


def is_free(world: World, name: str = ONE) -> bool:
    """Whether the taint is gone, and the other one still there."""
    taints = node(world, name)["spec"]["taints"]
    assert OTHER in taints
    return bool(taints == [OTHER])


def counted(world: World, outcome: str) -> float:
    return world.count("startup_taints_total", outcome=outcome)


def patches(call: Call) -> bool:
    return (call.verb, call.resource) == ("patch", "nodes")


def lists_capacities(call: Call) -> bool:
    return (call.verb, call.resource) == ("list", "csistoragecapacities")


def asked(world: World) -> bool:
    return any(map(lists_capacities, world.server.calls))


async def test_the_taint_goes_once_the_room_is_told_and_nothing_else_changes():
    async with serving(2, startup_taint=KEY) as world:
        register(world, ONE, TWO)
        before = node(world)
        await asyncio.sleep(PATIENCE_SECONDS - LOOK_SECONDS)
        assert not is_free(world)

        tell(world, ONE)
        await asyncio.sleep(LOOK_SECONDS)

        spec = {**before["spec"], "taints": [OTHER]}
        metadata = {**node(world)["metadata"], "resourceVersion": None}
        assert node(world)["spec"] == spec
        assert metadata == {**before["metadata"], "resourceVersion": None}
        assert not is_free(world, TWO)
        assert counted(world, "removed") == 1
        [standby] = world.processes.standbys
        assert world.count("startup_taints_total", standby, outcome="removed") == 0
        used = {
            (each.resource, each.verb) for each, uses in world.processes.rules.used.items() if uses
        }
        assert used >= {("nodes", "patch"), ("csistoragecapacities", "list")}


async def test_what_is_told_never_keeps_a_node_for_long():
    async with serving(startup_taint=KEY) as world:
        register(world, ONE)
        await asyncio.sleep(PATIENCE_SECONDS + LOOK_SECONDS)

        assert is_free(world)


async def test_a_node_that_longhorn_loses_meanwhile_keeps_it():
    async with serving(startup_taint=KEY) as world:
        world.server.faults.append(Fault(Delay(2.0), lists_capacities))
        register(world, ONE)
        tell(world, ONE)
        await world.processes.until(lambda: asked(world), within=LOOK_SECONDS, glance=0.01)
        world.server.delete("nodes.longhorn.io", ONE, LONGHORN)
        await asyncio.sleep(PATIENCE_SECONDS + LOOK_SECONDS)

        assert not is_free(world)
        assert counted(world, "failed") == 0


async def test_a_node_that_changes_meanwhile_is_tried_again():
    async with serving(startup_taint=KEY) as world:
        world.server.faults.append(Fault(Answer(409), patches))
        register(world, ONE)
        tell(world, ONE)
        await asyncio.sleep(2 * LOOK_SECONDS)

        assert is_free(world)
        assert counted(world, "failed") == 0


@pytest.mark.parametrize("status", [403, 422, 500])
async def test_without_the_right_it_is_tried_once_a_minute_and_pods_are_answered(status):
    async with serving(startup_taint=KEY) as world:
        world.server.faults += [Fault(Answer(status), patches) for _ in range(8)]
        register(world, ONE, TWO)
        tell(world, ONE, TWO)
        await asyncio.sleep(4 * (PAUSE_SECONDS + PERIOD_SECONDS) - 1)
        await world.add_pods("web")
        await world.accept("web")
        assert counted(world, "failed") == 4
        assert not is_free(world)

        await asyncio.sleep(2 * (PAUSE_SECONDS + LOOK_SECONDS))

        assert is_free(world)
        assert is_free(world, TWO)
