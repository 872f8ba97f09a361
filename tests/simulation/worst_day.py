"""A zone goes while disks are nearly full, pods wait, and the leader is killed and then frozen."""

import asyncio
from random import Random

from tests.actors import api as kinds
from tests.actors.longhorn import setting, standing
from tests.actors.longhorn.draft import merged
from tests.simulation.invariants import Invariants
from tests.simulation.tenants import put_tenants, remove_tenants
from tests.simulation.truth import HOSTS, REPLICAS
from tests.simulation.users import Users
from tests.simulation.world import World
from tests.simulation.worst_plan import LOST, WorstDay

LEADING_SECONDS = 20.0
"""After the leader was lost, until somebody leads and answers: the lease duration, and some."""
GLANCE_SECONDS = 0.1
LEAVING = 4
"""So many tenants go each time."""
GONE = "KubernetesNodeGone"
AT_ONCE = setting("replica-replenishment-wait-interval", "0")
"""Longhorn does not wait for the lost replicas, as if they had been lost for long."""


def prepare(day: WorstDay, world: World, random: Random) -> None:
    """Put there what is there before the zone goes; nothing runs yet."""
    world.put(kinds.SETTINGS, AT_ONCE)
    put_tenants(world, day.tenants, random)


async def live_through(
    day: WorstDay, world: World, users: Users, invariants: Invariants, random: Random
) -> None:
    """Let the zone go and pods come, and lose the leader twice.

    Each time some room becomes free that the next leader must find.
    """
    await asyncio.sleep(random.uniform(1, 4))
    _lose_zone(day, world)
    for workload in day.workloads:
        users.start(workload)
    await _go_on(users, random, random.uniform(0, 12))
    if not _is_led(world, invariants):
        return
    leaving = random.sample([each for each in day.tenants if each.node], 2 * LEAVING)
    _kill_leader(world, random)
    remove_tenants(world, leaving[:LEAVING])
    await _until_led("kill", world, invariants)
    await _go_on(users, random, random.uniform(0, 12))
    if not _is_led(world, invariants):
        return
    _freeze_leader(world, random)
    remove_tenants(world, leaving[LEAVING:])
    await _until_led("freeze", world, invariants)
    await _go_on(users, random, random.uniform(0, 12))


def _lose_zone(day: WorstDay, world: World) -> None:
    """Take away the nodes of the zone and the data on them."""
    lost = day.lost
    now = world.longhorn.cluster.timestamp()
    for node in lost:
        world.longhorn.set_ready(node, GONE)
        world.server.delete(HOSTS, node)
    replicas = [each for each in world.truth.all(REPLICAS) if each["spec"]["nodeID"] in lost]
    for replica in replicas:
        world.put(kinds.REPLICAS, merged(replica, standing.failed(now)))
    world.trace.count("fault: zone")
    world.trace.counts["replicas lost with a zone"] += len(replicas)
    world.trace.note(f"fault: {LOST} goes, with {len(lost)} nodes and {len(replicas)} replicas")


async def _go_on(users: Users, random: Random, seconds: float) -> None:
    """Let time pass while users change their minds."""
    loop = asyncio.get_running_loop()
    ends_at = loop.time() + seconds
    while (left := ends_at - loop.time()) > 0:
        await asyncio.sleep(min(left, random.expovariate(0.3)))
        users.act()


def _is_led(world: World, invariants: Invariants) -> bool:
    """Whether somebody leads; that a leader has lost its lease by itself is a violation."""
    if not world.service.leaders:
        invariants.violate("nobody leads, and no leader was lost")
    return bool(world.service.leaders)


def _kill_leader(world: World, random: Random) -> None:
    """Kill the leader, and have its pod start again a little later."""
    leader = world.service.leader
    number = int(leader.pod.removeprefix("extender-"))
    world.trace.note(f"fault: kill the leader, {leader.pod}")
    leader.kill()
    asyncio.get_running_loop().call_later(random.uniform(1, 5), world.service.start, number)


def _freeze_leader(world: World, random: Random) -> None:
    """Freeze the leader for longer than its lease lasts."""
    leader = world.service.leader
    world.trace.note(f"fault: freeze the leader, {leader.pod}")
    leader.freeze()
    asyncio.get_running_loop().call_later(random.uniform(16, 30), leader.resume)


async def _until_led(fault: str, world: World, invariants: Invariants) -> None:
    """Wait until somebody leads and answers; that it takes too long is a violation."""
    trace = world.trace
    began = trace.seconds
    trace.count(f"fault: {fault} the leader")
    while not await world.service.is_answered():
        if trace.seconds - began > LEADING_SECONDS:
            invariants.violate(f"nobody leads {LEADING_SECONDS:g} s after: {fault} the leader")
            return
        await asyncio.sleep(GLANCE_SECONDS)
    trace.note(f"{world.service.leader.pod} leads after {trace.seconds - began:.2f} s")
