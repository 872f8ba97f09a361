"""Whatever comes in which order, and whoever leads: no node is promised more than it has."""

import asyncio
from random import Random

import pytest

from tests.integration.instances import VIRTUAL_TIME, Replica
from tests.integration.promising import World, serving

pytestmark = VIRTUAL_TIME

PODS = 20
NODE_GIB = 100
RUN_SECONDS = 45.0
LATEST_SIGNAL_SECONDS = 0.03
"""kube-scheduler shows its choice within so long."""


class Scheduler:
    """Asks about one pod after another, and binds them meanwhile, as two releases of it do."""

    def __init__(self, world: World, seed: int) -> None:
        self._world = world
        self._random = Random(seed)
        self._nominates = self._random.random() < 0.5
        self._turn = asyncio.Lock()
        self.chosen: dict[str, str] = {}
        """Where each pod goes that was accepted and is not deleted."""
        self._gib: dict[str, int] = {}
        self.placed = 0

    async def run(self, pod: str) -> None:
        """Bring a pod up and take it down, time and again."""
        number = 0
        while True:
            number += 1
            await self._pause(3.0)
            await self._live(f"{pod}-{number}")

    async def _live(self, pod: str) -> None:
        self._gib[pod] = self._random.choice([20, 40, 60])
        self._world.add_pod(pod, gib=self._gib[pod])
        await self._pause(0.5)
        node = await self._node_of(pod)
        await self._bind(pod, node)
        self._world.place(pod, node)
        self.placed += 1
        await self._pause(10.0)
        self._take_down(pod)

    async def _node_of(self, pod: str) -> str:
        """Ask until there is a node; choose one of several."""
        while True:
            async with self._turn:
                node = await self._attempt(pod)
                if node:
                    return node
            await self._pause(2.0)

    async def _attempt(self, pod: str) -> str:
        replicas = [each for each in self._world.replicas.all if each.is_running]
        leaders = [each for each in replicas if each.is_leading]
        answer = await (leaders or replicas)[0].filter(body=self._world.request(pod))
        if answer is None or not answer.is_verdict or not answer.accepted:
            return ""
        node = self._random.choice(answer.accepted)
        self.chosen[pod] = node
        self._check(node)
        await self._pause(LATEST_SIGNAL_SECONDS)
        if self._nominates:
            self._world.nominate(pod, node)
        else:
            self._world.select(pod, node)
        return node

    async def _bind(self, pod: str, node: str) -> None:
        await self._pause(0.01)
        self._world.select(pod, node)
        await self._pause(2.0)
        self._world.provision(pod)
        await self._pause(1.0)
        self._world.bind(pod, node)
        await self._pause(2.0)

    def _take_down(self, pod: str) -> None:
        replica = f"{self._world.volume(pod)}-r-1"
        self._world.delete_pod(pod)
        self._world.delete_claim(pod)
        self._world.server.delete("replicas.longhorn.io", replica, "longhorn-system")
        del self.chosen[pod]

    def _check(self, node: str) -> None:
        here = {pod: self._gib[pod] for pod, chosen in self.chosen.items() if chosen == node}
        assert sum(here.values()) <= NODE_GIB, f"{node} is to hold {here}"

    async def _pause(self, most_seconds: float) -> None:
        await asyncio.sleep(self._random.uniform(0, most_seconds))


async def disturb(world: World, random: Random) -> None:
    """End, kill and freeze leaders, and cut watches; there are always two replicas."""
    while True:
        await asyncio.sleep(random.uniform(3, 20))
        leaders = world.replicas.leaders
        if not leaders:
            continue
        leader = leaders[0]
        what = random.choice(["terminate", "kill", "freeze", "cut", "delay"])
        match what:
            case "cut":
                with world.server.outage():
                    await asyncio.sleep(random.uniform(0, 0.1))
            case "delay":
                world.server.watch_delay = lambda _: random.uniform(0, 0.02)
            case _:
                await replace(world, leader, what, random)


async def replace(world: World, leader: Replica, how: str, random: Random) -> None:
    """Do something to the leader, and start its process anew if it has ended."""
    number = int(leader.pod.removeprefix("extender-"))
    if how == "freeze":
        leader.freeze()
        await asyncio.sleep(random.uniform(0, 12))
        leader.resume()
        return
    if how == "kill":
        leader.kill()
    else:
        leader.terminate()
        await world.replicas.until(leader.ended.done, within=5)
    await asyncio.sleep(random.uniform(0, 3))
    world.replicas.start(number)


@pytest.mark.parametrize("seed", range(2))
async def test_no_node_is_promised_more_than_it_has(seed: int) -> None:
    async with serving(2, seed=seed, wait_seconds=1.0) as world:
        scheduler = Scheduler(world, seed)
        tasks = [asyncio.create_task(scheduler.run(f"pod-{n}")) for n in range(PODS)]
        tasks.append(asyncio.create_task(disturb(world, Random(seed))))

        done, going_on = await asyncio.wait(
            tasks, timeout=RUN_SECONDS, return_when=asyncio.FIRST_EXCEPTION
        )
        for task in going_on:
            task.cancel()
        await asyncio.wait(tasks)

        for task in done:
            task.result()
        assert scheduler.placed > PODS
