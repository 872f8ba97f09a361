"""Many pods with several volumes each, that come, move and go."""

import asyncio
from functools import partial
from random import Random

from tests.actors.longhorn import overcommitted
from tests.unit.actors.world import VIRTUAL_TIME, World, running

pytestmark = VIRTUAL_TIME

NODES = tuple(f"node-{number}" for number in range(1, 6))


class Workload:
    """A pod that lives for a while on one node and then on another, and cleans up after itself."""

    def __init__(self, world: World, number: int, random: Random) -> None:
        self._world = world
        self._pod = f"pod-{number}"
        self._random = random
        self._sizes = [random.choice((10, 20, 30)) for _ in range(random.randint(1, 4))]
        self.volumes = [f"{self._pod}-data-{index}" for index in range(len(self._sizes))]

    async def run(self) -> None:
        await asyncio.sleep(self._random.uniform(0, 20))
        for name, gib in zip(self.volumes, self._sizes, strict=True):
            await self._world.provision(name, gib=gib)
        for node in self._random.sample(NODES, 2):
            self._world.run_pod(self._pod, node, *self.volumes)
            await self._world.until(partial(self._is_attached, node), within=600)
            await asyncio.sleep(self._random.uniform(10, 60))
            self._world.end_pod(self._pod)
        for name in self.volumes:
            await self._world.until(partial(self._is_detached, name), within=60)
            await self._world.longhorn.delete_volume(name)

    def _is_attached(self, node: str) -> bool:
        return all(self._world.state(name) == ("attached", node) for name in self.volumes)

    def _is_detached(self, name: str) -> bool:
        return self._world.state(name) == ("detached", "")


async def watch_limits(world: World) -> None:
    cluster = world.longhorn.cluster
    while True:
        nodes, replicas = cluster.nodes.objects.values(), cluster.replicas.objects.values()
        assert overcommitted(nodes, replicas, {}) == ()
        await asyncio.sleep(0.1)


async def test_all_that_comes_is_placed_and_all_that_goes_leaves_nothing() -> None:
    world = World(0, stale=False)
    for name in NODES:
        world.add_node(name, 100, 150, 200)
    workloads = [Workload(world, number, Random(f"workload {number}")) for number in range(12)]

    async with running(world), asyncio.TaskGroup() as tasks:
        watch = tasks.create_task(watch_limits(world))
        await asyncio.gather(*(workload.run() for workload in workloads))
        watch.cancel()

        assert world.replicas() == []
        empty = {"disk-1": 0, "disk-2": 0, "disk-3": 0}
        await world.until(
            lambda: all(world.published_gib(name) == empty for name in NODES), within=5
        )


async def test_an_api_server_that_is_away_is_waited_for() -> None:
    world = World()
    world.add_node("node-1", 100)
    async with running(world):
        await world.provision("data")
        world.run_pod("web", "node-1", "data")
        await world.until(lambda: world.places("data") == ["node-1"], within=5)

        with world.server.outage():
            await asyncio.sleep(30)

        await world.until(lambda: world.state("data") == ("attached", "node-1"), within=5)
        await world.until(lambda: world.published_gib("node-1") == {"disk-1": 10}, within=5)
        assert len(world.replicas()) == 1
