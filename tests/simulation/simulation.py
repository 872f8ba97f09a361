"""One run: a world by its seed, faults in it, and a calm after which all must be well."""

import asyncio
import contextlib
import logging
from collections.abc import Coroutine
from enum import StrEnum
from random import Random
from typing import Any, NoReturn

import looptime
import msgspec
import structlog

from tests.simulation.faults import Faults
from tests.simulation.invariants import Invariants, ledger_of
from tests.simulation.plan import Plan, draw_plan, with_v2
from tests.simulation.runners import Runners
from tests.simulation.trace import Trace
from tests.simulation.truth import VOLUMES
from tests.simulation.users import Users
from tests.simulation.world import World
from tests.simulation.worst_day import live_through, prepare
from tests.simulation.worst_plan import draw_worst_day

RESOLUTION = 2**-20
"""Ticks are a power of two so that sums of times are exact."""
FAULTY_SECONDS = (15.0, 45.0)
NOTICED_SECONDS = 32.0
"""A kind that was not served is asked for every half minute."""
FIRST_WORKLOADS = 2
LONGEST_SECONDS = {
    "not answered": 130.0,
    "unplaced": 130.0,
    "held": 640.0,
    "not running": 200.0,
    "not local": 200.0,
    "not granted": 200.0,
    "not noticed": 130.0,
}
"""After the last fault, until one instance leads and answers: one that has not heard of a kind for
120 s gives the lease back. Until pods that fit have a node: a watch that hangs is found out after
90 s, and then there is kube-scheduler's back-off; who is not woken would sleep for 300 s. Until
every hold has ended: as long as kube-scheduler waits for claims, and some."""
WELL_SECONDS = 10.0
"""So long all must be well: Longhorn publishes what has changed within a few seconds."""
STEP_SECONDS = 0.5


class Kind(StrEnum):
    """What is particular about a run; by the option of `make simulate`."""

    USUAL = ""
    DISK_SCHEDULES = "DISK_SCHEDULES"  # Longhorn asks them for room
    WORST_DAY = "WORST_DAY"  # a zone goes, disks are full, the leader is lost twice
    RUNNERS = "RUNNERS"  # drivers, engine images and instance managers come late, and go


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a run."""

    seed: int
    violations: list[str]
    lines: list[str]
    digest: str
    counts: dict[str, int]
    seconds: float
    kind: Kind

    @property
    def command(self) -> str:
        """Replays the run."""
        options = "" if self.kind is Kind.USUAL else f" {self.kind}=1"
        return f"make simulate SEED={self.seed}{options}"


def run(seed: int, kind: Kind = Kind.USUAL) -> Result:
    """Go through one run, on virtual time."""
    loop = looptime.new_event_loop(resolution=RESOLUTION, noop_cycles=0)
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(simulate(seed, kind))


async def simulate(seed: int, kind: Kind = Kind.USUAL) -> Result:
    """Go through one run on the running loop, without its log."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    random = Random(f"simulation {seed}")
    trace = Trace()
    kind_seconds = _draw_kind_seconds(seed) if kind is Kind.DISK_SCHEDULES else 0.0
    day = draw_worst_day(random) if kind is Kind.WORST_DAY else None
    plan = day.plan if day else draw_plan(random, disk_schedules=kind is Kind.DISK_SCHEDULES)
    if kind is Kind.RUNNERS:
        plan = _with_more(plan, Random(f"more {seed}"))
    trace.note(f"plan: {plan}")
    invariants = Invariants(plan, trace)
    world = World(
        plan,
        random,
        trace,
        tell=invariants.told,
        on_crash=invariants.crashed,
        kind_seconds=kind_seconds,
    )
    invariants.watch(world)
    users = Users(world.server, world.truth, plan, Random(random.getrandbits(32)), trace)
    faults = Faults(world, Random(random.getrandbits(32)))
    if day:
        prepare(day, world, Random(random.getrandbits(32)))
    async with world.running():
        if day:
            await live_through(day, world, users, invariants, random)
        else:
            longer = kind_seconds + NOTICED_SECONDS if kind_seconds else 0.0
            suffering = _suffer(random, plan, users, faults, invariants, longer_seconds=longer)
            if kind is Kind.RUNNERS:
                runners = Runners(world, Random(f"runners {seed}"), trace)
                invariants.watch_runners()
                await _beside(runners.run(), suffering)
                runners.mend()
            else:
                await suffering
        await faults.mend()
        users.finish()
        await _calm_down(world, invariants)
        _judge_end(plan, invariants, trace)
    _count_end(world)
    return _result(seed, kind, invariants, trace)


def _with_more(plan: Plan, random: Random) -> Plan:
    """Return a world where data engine v2 is used, too, in most; and without faults, in some: then
    the judge excuses less."""
    if random.random() < 0.75:
        plan = with_v2(plan, random)
    return msgspec.structs.replace(plan, faults=random.choice([0, plan.faults]))


async def _beside(endless: Coroutine[Any, Any, NoReturn], work: Coroutine[Any, Any, None]) -> None:
    """Do *work* while something else goes on."""
    going_on = asyncio.create_task(endless)
    try:
        await work
    finally:
        going_on.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await going_on


def _draw_kind_seconds(seed: int) -> float:
    """Draw when DiskSchedules begin to be served; all else stays as it is drawn without them."""
    random = Random(f"kind {seed}")
    return random.uniform(1, 20) if random.random() < 0.2 else 0.0


async def _suffer(
    random: Random,
    plan: Plan,
    users: Users,
    faults: Faults,
    invariants: Invariants,
    *,
    longer_seconds: float,
) -> None:
    loop = asyncio.get_running_loop()
    ends_at = loop.time() + random.uniform(*FAULTY_SECONDS) + longer_seconds
    for _ in range(FIRST_WORKLOADS):
        users.act()
    faults.begin()
    while loop.time() < ends_at and not invariants.violations:
        await asyncio.sleep(random.expovariate(0.5))
        if random.random() < plan.faults / 30:
            faults.strike()
        else:
            users.act()


async def _calm_down(world: World, invariants: Invariants) -> None:
    """Wait until all is well for a while; what never becomes so is a violation."""
    began = well_since = world.trace.seconds
    while not invariants.violations and world.trace.seconds < well_since + WELL_SECONDS:
        await asyncio.sleep(STEP_SECONDS)
        wrong = await _wrong(world, invariants)
        if wrong:
            well_since = world.trace.seconds
        for what, why in wrong.items():
            if world.trace.seconds - began > LONGEST_SECONDS[what]:
                invariants.violate(f"{what} after {LONGEST_SECONDS[what]:g} s of calm: {why}")


def _count_end(world: World) -> None:
    """Count what there is at the end."""
    counts, pods = world.trace.counts, world.truth.pods()
    bound = sum(bool(pod["spec"].get("nodeName")) for pod in pods)
    counts["pods bound at the end"] += bound
    if world.plan.clones:
        there = [each["spec"] for each in world.truth.all(VOLUMES)]
        counts["volumes of data engine v2 at the end"] += sum(
            each["dataEngine"] == "v2" for each in there
        )
        counts["linked clones at the end"] += sum(bool(each["dataSource"]) for each in there)
    if world.plan.disk_schedules:
        counts["DiskSchedules: conflicts of requesters"] += world.longhorn.requests.conflicts
        counts["DiskSchedules: conflicts of the controller"] += world.granting.conflicts
    counts["pods left"] += len(pods) - bound


def _result(seed: int, kind: Kind, invariants: Invariants, trace: Trace) -> Result:
    return Result(
        seed=seed,
        violations=invariants.violations,
        lines=trace.lines,
        digest=trace.digest(),
        counts=dict(sorted(trace.counts.items())),
        seconds=trace.seconds,
        kind=kind,
    )


def _judge_end(plan: Plan, invariants: Invariants, trace: Trace) -> None:
    """Judge what is left when all is well, and count what is excused."""
    calm = invariants.calm
    for what, found in (
        ("pods that do not run", calm.not_running()),
        ("volumes without local replica", calm.not_local()),
    ):
        for excuse in filter(None, found.values()):
            trace.count(f"{what}: {excuse}")
    beyond = calm.beyond_limits()
    if beyond and (plan.disk_schedules or not plan.is_stale):
        invariants.violate(f"beyond the limit at the end: {beyond}")
    trace.counts["disks beyond their limit: Longhorn places by figures that lag"] += len(beyond)


async def _wrong(world: World, invariants: Invariants) -> dict[str, object]:
    """Say what is not well yet."""
    wrong: dict[str, object] = {}
    if not await world.service.is_answered():
        wrong["not answered"] = [each.pod for each in world.service.leaders]
    elif held := ledger_of(world.service.leader):
        wrong["held"] = [*held.values()]
    calm = invariants.calm
    unaware = [
        each.pod
        for each in world.service.all
        if each.is_running and not invariants.knows_kind(each)
    ]
    if unaware:
        wrong["not noticed"] = unaware
    if not_granted := calm.not_granted():
        wrong["not granted"] = not_granted
    if unplaced := calm.unplaced():
        wrong["unplaced"] = unplaced
    if not_running := [pod for pod, excuse in calm.not_running().items() if excuse is None]:
        wrong["not running"] = not_running
    if not_local := [volume for volume, excuse in calm.not_local().items() if excuse is None]:
        wrong["not local"] = not_local
    return wrong
