"""A pod that was rejected for want of room is scheduled soon after there is room.

kube-scheduler watches nothing of Longhorn's, so that it tries again when something else happens, or
after five minutes.
"""

import asyncio
import time

import msgspec
import pytest

from tests.actors import api as kinds
from tests.e2e.effort import FOR_REPORT, is_for_report
from tests.e2e.lending import ONE_LOOP
from tests.e2e.report import Report
from tests.e2e.waiting import until
from tests.e2e.workloads import claim, claims, pod
from tests.e2e.world import DELAYS, World

pytestmark = ONE_LOOP

WOKEN_SECONDS = 3.0
PATIENCE_SECONDS = 20.0 if is_for_report() else 8.0
NEVER = float("inf")
DELAYS_HERE = msgspec.structs.replace(
    DELAYS,
    # Changed capacities wake pods, too; external-provisioner looks every minute.
    capacity_poll=600.0,
    node_status=(0.1, 0.3),
)


@pytest.mark.parametrize("wake_up", [False, pytest.param(True, marks=pytest.mark.gate)])
async def test_a_disk_takes_volumes_again(share_world, report, *, wake_up):
    async with share_world(delays=DELAYS_HERE, settings={"wake_up": wake_up}) as world:
        await world.add_nodes({"a": 100, "b": 100}, {"a": 100})
        await world.let_schedule("node-1", "b", on=False)
        await _reject_pair(world)

        await world.let_schedule("node-1", "b", on=True)
        seconds = await _seconds_until_accepted(world, wake_up=wake_up)

    _report(report, "a disk takes volumes again", seconds, wake_up=wake_up)
    assert seconds < WOKEN_SECONDS if wake_up else seconds == NEVER


@pytest.mark.parametrize("wake_up", [True, pytest.param(False, marks=FOR_REPORT)])
async def test_another_pod_and_its_claim_are_deleted(share_world, report, *, wake_up):
    """kube-scheduler sees that, and tries again a dozen times: before the space is free."""
    async with share_world(delays=DELAYS_HERE, settings={"wake_up": wake_up}) as world:
        await world.add_nodes({"a": 170})
        await world.api.create(claim("other", "60Gi"), kinds.CLAIMS)
        other = await world.schedule((pod("other", "other"), kinds.PODS), pods=1)
        await other.outcome()
        await _reject_pair(world)

        await world.api.delete(kinds.PODS, kinds.Key("default", "other"))
        await world.api.delete(kinds.CLAIMS, kinds.Key("default", "other"))
        await until(lambda: not world.seen.replicas_on("node-1"), within=30)
        seconds = await _seconds_until_accepted(world, wake_up=wake_up)

    _report(report, "another pod and its claim were deleted", seconds, wake_up=wake_up)
    assert not wake_up or seconds < WOKEN_SECONDS


async def _reject_pair(world: World) -> None:
    """Have a pod with two claims of 60 GiB rejected, and wait until kube-scheduler is at rest."""
    for each in claims("pair", 2, "60Gi"):
        await world.api.create(each, kinds.CLAIMS)
    await world.api.create(pod("pair", "pair-0", "pair-1"), kinds.PODS)
    await until(lambda: bool(world.calls_for("pair")), within=30)
    await asyncio.sleep(4.0)
    assert not any(call.accepted for call in world.calls_for("pair"))


async def _seconds_until_accepted(world: World, *, wake_up: bool) -> float:
    """Wait until the pod is given a node, or for long enough to know that it is not woken."""
    since = time.time()

    def accepted() -> list[float]:
        return [call.at + call.seconds for call in world.calls_for("pair") if call.accepted]

    def is_over() -> bool:
        return bool(accepted()) or (not wake_up and time.time() > since + PATIENCE_SECONDS)

    await until(is_over, within=60)
    return max(0.0, accepted()[0] - since) if accepted() else NEVER


def _report(report: Report, what: str, seconds: float, *, wake_up: bool) -> None:
    figures = f"not within {PATIENCE_SECONDS:g} s" if seconds == NEVER else f"{seconds:.1f} s"
    switch = "on" if wake_up else "off"
    report.measured(f"a rejected pod once {what}, wake-up {switch}", f"gets a node: {figures}")
