"""Volumes that were there before Longhorn began, and what becomes of them when a node goes."""

from random import Random

from tests.actors import api as kinds
from tests.actors.longhorn import standing
from tests.actors.longhorn.creation import replica_object, volume_object
from tests.actors.longhorn.draft import merged
from tests.unit.actors.world import EPOCH, GIB, NAMESPACE, VIRTUAL_TIME, World, running, world_of

pytestmark = VIRTUAL_TIME

NOW = f"{EPOCH:%Y-%m-%dT%H:%M:%SZ}"
NODES = ("node-1", "node-2", "node-3", "node-4")


def one_volume() -> World:
    """Attach a volume to the first of four nodes; its replicas are on three."""
    settings = {"replica-replenishment-wait-interval": "0"}
    world = world_of(100, 100, 100, 100, settings=settings)
    parameters = {"numberOfReplicas": "3"}
    new = volume_object("data", 10 * GIB, parameters, {}, namespace=NAMESPACE, owner=NODES[0])
    world.put(kinds.VOLUMES, standing.attached(new, NODES[0]))
    for node in NODES[:3]:
        blank = replica_object(world.volume("data"), 10 * GIB, "", Random(node))
        replica = standing.placed(blank, node, "disk-1", NOW, runs=True)
        world.put(kinds.REPLICAS, replica)
    world.claim("data")
    world.run_pod("web", NODES[0], "data")
    return world


async def test_longhorn_leaves_a_standing_volume_as_it_is():
    world = one_volume()
    before = world.volume("data"), world.replicas("data")

    async with running(world):
        await world.until(lambda: world.published_gib("node-1") == {"disk-1": 10}, within=4)
        await world.hold(lambda: world.state("data") == ("attached", "node-1"), seconds=60)

    assert (world.volume("data"), world.replicas("data")) == before


async def test_a_lost_replica_is_made_anew_on_another_node():
    async with running(one_volume()) as world:
        world.longhorn.set_ready("node-3", "KubernetesNodeGone")
        [lost] = [each for each in world.replicas("data") if each["spec"]["nodeID"] == "node-3"]
        world.put(kinds.REPLICAS, merged(lost, standing.failed(NOW)))

        await world.until(lambda: world.places("data") == [*NODES], within=60)
        await world.until(
            lambda: world.volume("data")["status"]["robustness"] == "healthy", within=60
        )
