"""What a pod costs that waits for room: calls of /filter that change nothing."""

import asyncio

import pytest

from tests.actors import api as kinds
from tests.e2e.effort import is_for_report
from tests.e2e.waiting import until
from tests.e2e.workloads import claims, pod
from tests.e2e.world import World

STILL_SECONDS = 60.0 if is_for_report() else 25.0
"""Twice as long as kube-scheduler waits at most before it tries a pod again that may fit now."""
OTHERS = 5


@pytest.mark.alone
async def test_a_waiting_pod_is_asked_about_when_something_happens_and_not_else(make_world, report):
    """Its rejections have the same text each time; a changing one would wake it without end."""
    async with make_world() as world:
        await world.add_nodes({"disk": 100}, {"disk": 100})
        for each in claims("pair", 2, "60Gi"):
            await world.api.create(each, kinds.CLAIMS)
        await world.api.create(pod("pair", "pair-0", "pair-1"), kinds.PODS)
        await until(lambda: bool(world.calls_for("pair")), within=30)
        await asyncio.sleep(STILL_SECONDS)
        idle = world.calls_for("pair")
        first = [call for call in idle if call.at < idle[0].at + 5]

        for number in range(OTHERS):
            await _start_and_end(world, f"other-{number}")
        busy = world.calls_for("pair")[len(idle) :]

    assert {tuple(call.rejected) for call in idle} <= {("node-1", "node-2"), ("node-2", "node-1")}
    assert len({text for call in idle + busy for text in call.rejected.values()}) == 1
    report.measured(
        "a rejected pod that waits",
        f"{len(idle)} calls of /filter in its first {STILL_SECONDS:g} s, with nothing happening; "
        f"{len(busy)} more while {OTHERS} other pods were started and ended",
    )
    # Twice at first, since kube-scheduler's own note of the rejection wakes the pod; then never.
    assert len(first) <= 4
    assert len(idle) - len(first) <= 1
    assert busy
    # Each other pod is bound, runs, is deleted, ends: four changes that may wake a waiting pod.
    assert len(busy) <= 6 * OTHERS


async def _start_and_end(world: World, name: str) -> None:
    await world.api.create(pod(name, extender=False), kinds.PODS)
    await until(lambda: _phase(world, name) == "Running", within=30)
    await world.api.delete(kinds.PODS, kinds.Key("default", name))
    await until(lambda: world.seen.pod(name) is None, within=30)


def _phase(world: World, name: str) -> str:
    found = world.seen.pod(name)
    return str(found["status"].get("phase")) if found else ""
