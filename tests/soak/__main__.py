"""Run a soak: `make soak HOURS=n`. The exit status is 1 if something was wrong."""

import argparse
import asyncio
import contextlib
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random

from tests.actors.longhorn import DiskSchedules
from tests.e2e.control_plane import ControlPlane, running
from tests.e2e.extender import InstanceProcess
from tests.e2e.waiting import until
from tests.e2e.world import World
from tests.soak.happenings import CLASSES, Troubles, Users, draw_disks
from tests.soak.judging import Judge
from tests.soak.sampling import Sampler, described, growths

LOOK_SECONDS = 1.0
SAMPLE_SECONDS = 30.0
ACT_SECONDS = (1.0, 6.0)
TROUBLE_SECONDS = (20.0, 90.0)
END_SECONDS = 90.0


class Soak:
    """One run.

    Args:
        control_plane: Running, without nodes.
        folder: For logs.
        seed: Of all that is left to chance. Times are real, so a seed plays alike, not the same.
        has_schedules: Whether disks grant room by DiskSchedules.
    """

    def __init__(
        self, control_plane: ControlPlane, folder: Path, seed: int, *, has_schedules: bool
    ) -> None:
        self._random = Random(seed)
        self._disks = draw_disks(self._random)
        self._began = time.monotonic()
        schedules = DiskSchedules.USED if has_schedules else DiskSchedules.UNUSED
        self._world = World(control_plane, folder, disk_schedules=schedules)
        self._sampler = Sampler()
        self._ends_at = 0.0

    async def run(self, seconds: float) -> bool:
        """Go on for so long; return whether all was well."""
        self._ends_at = time.monotonic() + seconds
        async with self._world as world:
            for name, parameters in CLASSES.items():
                await world.add_class(name, **parameters)
            await world.add_nodes(*self._disks)
            nodes = {f"node-{number}": each for number, each in enumerate(self._disks, start=1)}
            room = sum(sum(each.values()) for each in self._disks)
            self.say(f"{len(nodes)} nodes with {room} GiB: {self._disks}")
            users = Users(world, Random(self._random.random()), room)
            troubles = Troubles(world, Random(self._random.random()), nodes)
            judge = Judge(world.seen, world.longhorn.cluster, self.say)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._use(users, troubles))
                tasks.create_task(self._trouble(troubles))
                tasks.create_task(self._judge(judge, troubles))
                tasks.create_task(self._sample(troubles))
            wrong = [*judge.violations, *growths(self._sampler.samples), *await self._end(world)]
        self.say(f"{users.done} things done by users; {troubles.counts}")
        self.say(f"nodes with a disk beyond its limit: {judge.most_overcommitted} at most")
        self.say(f"longest wait beside room: {judge.longest_wait_seconds:.0f} s")
        for line in (*described(self._sampler.samples), *wrong):
            self.say(line)
        self.say(f"{len(wrong)} things wrong")
        return not wrong

    def say(self, text: str) -> None:
        """Print a line with the time since the beginning."""
        sys.stdout.write(f"{time.monotonic() - self._began:8.1f} {text}\n")
        sys.stdout.flush()

    @property
    def _goes_on(self) -> bool:
        return time.monotonic() < self._ends_at

    async def _use(self, users: Users, troubles: Troubles) -> None:
        while self._goes_on:
            try:
                await users.act()
            except Exception as error:
                if troubles.is_calm:
                    raise  # else the API server is away, or was
                self.say(f"users: {type(error).__name__}")
            await asyncio.sleep(self._random.uniform(*ACT_SECONDS))

    async def _trouble(self, troubles: Troubles) -> None:
        while self._goes_on:
            await asyncio.sleep(self._random.uniform(*TROUBLE_SECONDS))
            await troubles.happen()
            self.say(f"over: {troubles.last}")

    async def _judge(self, judge: Judge, troubles: Troubles) -> None:
        while self._goes_on:
            if await troubles.keep_scheduler():
                self.say(troubles.last)
            judge.look(is_calm=troubles.is_calm, trouble=troubles.last)
            await asyncio.sleep(LOOK_SECONDS)

    async def _sample(self, troubles: Troubles) -> None:
        while self._goes_on:
            await asyncio.sleep(SAMPLE_SECONDS)
            if troubles.is_calm:
                for instance in self._world.extender.instances:
                    await self._sampler.take(instance)

    async def _end(self, world: World) -> list[str]:
        """Delete all workloads; say what is left of what was held."""
        await until(world.extender.answers_now, within=END_SECONDS)
        await world.delete_workloads()

        found: list[str] = []

        async def nothing_is_left() -> bool:
            found[:] = [line for each in world.extender.instances async for line in _held(each)]
            return not found

        with contextlib.suppress(AssertionError):
            await until(nothing_is_left, within=END_SECONDS)
        return found


async def _held(instance: InstanceProcess) -> AsyncIterator[str]:
    """Say what an instance holds when all pods are gone.

    Those that waited, and went without a word, are forgotten after a quarter of an hour.
    """
    if count := await instance.metric("longhorn_scheduler_extender_holds"):
        yield f"{instance.pod} has {count:g} holds when all pods are gone"


def main() -> int:
    """Run what the arguments say."""
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument("--hours", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--disk-schedules", action="store_true")
    given = parser.parse_args()
    sys.stdout.write(f"seed {given.seed}, {given.hours:g} hours\n")
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        own = Path(folder)
        (own / "control-plane").mkdir()
        with running(own / "control-plane") as control_plane:
            soak = Soak(control_plane, own, given.seed, has_schedules=given.disk_schedules)
            is_well = asyncio.run(soak.run(3600 * given.hours))
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
