"""While data engine v2 of a node is upgraded live, the played Longhorn makes no replicas for it."""

import longhorn
from app.kube.longhorn.resources import UPGRADES
from tests.actors import api as kinds
from tests.actors.longhorn import DiskSpec, upgrade
from tests.actors.longhorn.records import recorded
from tests.builders import read
from tests.unit.actors.world import GIB, NAMESPACE, VIRTUAL_TIME, World, running

V2 = {"dataEngine": "v2", "dataLocality": "disabled", "numberOfReplicas": "2"}
NODES = ("node-1", "node-2", "node-3")


def due_in(world: World, volume: str) -> longhorn.Due:
    """Say what is due of a volume by its objects, as the product reads them."""
    upgrades = [
        read({"apiVersion": UPGRADES.api_version, "kind": UPGRADES.kind, **each})
        for each in world.server.list("instancemanagerupgrades.longhorn.io", NAMESPACE)
    ]
    assert all(isinstance(each, longhorn.InstanceManagerUpgrade) for each in upgrades)
    return longhorn.due_replicas(
        recorded(world.volume(volume), longhorn.Volume),
        [recorded(each, longhorn.Replica) for each in world.replicas(volume)],
        longhorn.Settings(),
        paused={
            name
            for each in upgrades
            if isinstance(each, longhorn.InstanceManagerUpgrade)
            for name in longhorn.paused_by(each)
        },
    )


@VIRTUAL_TIME
async def test_none_is_made_for_one_that_is_lost_until_the_detached_ones_are_back():
    world = World(upgrades=True)
    for name in NODES:
        world.add_node(name, 100, block=DiskSpec(size_bytes=50 * GIB, is_block=True))
    async with running(world):
        await world.use("data", "node-1", within=20, gib=10, **V2)

        stays, lost = world.replicas("data")
        place = stays["spec"]["nodeID"]
        world.put(kinds.UPGRADES, upgrade(place, "waiting-for-source-im", stays))
        world.server.delete("replicas.longhorn.io", lost["metadata"]["name"], NAMESPACE)
        await world.hold(lambda: len(world.replicas("data")) == 1, seconds=60)
        assert world.volume("data")["status"]["robustness"] == "degraded"
        assert due_in(world, "data") == longhorn.NOTHING_DUE

        world.put(kinds.UPGRADES, upgrade(place, "waiting-for-healthy-volumes", stays))
        assert due_in(world, "data") == longhorn.Due(anywhere=1)
        await world.until(lambda: len(world.replicas("data")) == 2, within=30)
