"""Charter, goal 3: pods that move with their volumes (3A, drain) and pods that return (3B)."""

from collections.abc import Mapping

import pytest

from tests.actors import api as kinds
from tests.e2e.effort import FOR_REPORT, runs
from tests.e2e.lending import ONE_LOOP
from tests.e2e.outcome import Outcome
from tests.e2e.report import EXTENDER, NO_EXTENDER
from tests.e2e.waiting import until
from tests.e2e.workloads import stateful_set
from tests.e2e.world import World

pytestmark = ONE_LOOP

NODES = ("node-1", "node-2", "node-3", "node-4")
RUNS = runs(1, report=3)
BY_NAMES_AND_WHOLE = [
    pytest.param(True, marks=pytest.mark.gate),
    pytest.param(False, marks=FOR_REPORT),
]
DRAIN = "goal 3A: drain"
RESTART = "goal 3B: delete and create again"


@pytest.mark.parametrize("node_cache_capable", BY_NAMES_AND_WHOLE)
async def test_3a_drained_pods_go_where_their_volumes_fit(
    share_world, report, *, node_cache_capable
):
    async with share_world(nodeCacheCapable=node_cache_capable) as world:
        for _ in range(RUNS):
            outcome = await _drain(world, extender=True)

            report.run(DRAIN, EXTENDER[node_cache_capable], NODES, outcome)
            assert outcome.placement == {"node-2": 4}
            assert (outcome.without_room, outcome.elsewhere) == (0, 0)
            assert not world.longhorn.blocks_drain("node-1")
            await world.wipe()


async def test_3a_without_the_extender_they_go_where_their_volumes_do_not_fit(share_world, report):
    async with share_world() as world:
        for _ in range(RUNS):
            outcome = await _drain(world, extender=False)

            report.run(DRAIN, NO_EXTENDER, NODES, outcome)
            assert outcome.without_room > 0
            # What has no room elsewhere stays on the node, and kubectl drain waits for it.
            assert world.longhorn.blocks_drain("node-1")
            await world.wipe()


async def test_3a_replicas_that_moved_first_are_followed(share_world):
    """The pods are away while Longhorn evicts their replicas from a node that is cordoned."""
    async with share_world() as world:
        await world.set_longhorn("node-drain-policy", "block-for-eviction")
        await world.add_nodes(*[{"disk": 400} for _ in NODES])
        for node in NODES[1:]:
            await world.cordon(node)
        web = stateful_set("web", pods=4)
        await (await world.schedule((web, kinds.STATEFUL_SETS), pods=4)).outcome()
        await world.delete_workloads(keep_claims=True)
        for node in NODES[1:]:
            await world.cordon(node, on=False)
        await until(world.seen.is_every_node_schedulable, within=10)
        await world.cordon("node-1")
        await until(lambda: not world.seen.replicas_on("node-1"), within=60)
        nodes = world.seen.replica_nodes()

        await (await world.schedule((web, kinds.STATEFUL_SETS), pods=4)).outcome()

        assert {pod: {node} for pod, node in world.seen.node_of().items()} == nodes


@pytest.mark.parametrize("node_cache_capable", BY_NAMES_AND_WHOLE)
async def test_3b_pods_return_to_their_replicas(share_world, report, *, node_cache_capable):
    async with share_world(nodeCacheCapable=node_cache_capable) as world:
        for _ in range(RUNS):
            before, after, outcome = await _restart(world, extender=True)

            report.run(RESTART, EXTENDER[node_cache_capable], NODES, outcome)
            assert after == before
            assert (outcome.without_room, outcome.elsewhere) == (0, 0)


async def test_3b_without_the_extender_they_do_not(share_world, report):
    async with share_world() as world:
        restarts = [await _restart(world, extender=False) for _ in range(RUNS)]

    moved = [sum(after[pod] != before[pod] for pod in before) for before, after, _ in restarts]
    for _, _, outcome in restarts:
        report.run(RESTART, NO_EXTENDER, NODES, outcome)
    report.measured(
        "goal 3B without the extender, pods on another node than before",
        f"{', '.join(map(str, moved))} of 16 in {RUNS} runs",
    )
    assert all(moved)


async def _drain(world: World, *, extender: bool) -> Outcome:
    """Two disks of 400 GiB, two of 99; four pods on the first are drained."""
    await world.add_nodes({"disk": 400}, {"disk": 400}, {"disk": 99}, {"disk": 99})
    for node in NODES[1:]:
        await world.cordon(node)
    web = stateful_set("web", pods=4, extender=extender)
    first = await (await world.schedule((web, kinds.STATEFUL_SETS), pods=4)).outcome()
    assert first.placement == {"node-1": 4}
    for node in NODES[1:]:
        await world.cordon(node, on=False)
    await until(world.seen.is_every_node_schedulable, within=10)
    old = {pod["metadata"]["uid"] for pod in world.seen.pods()}
    scheduling = await world.schedule(pods=4)
    await world.drain("node-1")
    await until(
        lambda: not any(pod["metadata"]["uid"] in old for pod in world.seen.pods()), within=30
    )
    return await scheduling.outcome()


async def _restart(
    world: World, *, extender: bool
) -> tuple[Mapping[str, str], Mapping[str, str], Outcome]:
    """Four disks of 400 GiB, 16 pods of goal 1a that are deleted and created again."""
    await world.add_nodes(*[{"disk": 400} for _ in NODES])
    web = stateful_set("web", pods=16, extender=extender)
    even = await (await world.schedule((web, kinds.STATEFUL_SETS), pods=16)).outcome()
    assert (even.without_room, even.elsewhere) == (0, 0)
    before = world.seen.node_of()
    await world.delete_workloads(keep_claims=True)
    outcome = await (await world.schedule((web, kinds.STATEFUL_SETS), pods=16)).outcome()
    after = world.seen.node_of()
    await world.wipe()
    return before, after, outcome
