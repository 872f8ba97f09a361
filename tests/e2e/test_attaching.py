"""Nodes where a pod's volumes cannot be attached: what becomes of pods with and without us."""

import asyncio
import time

import pytest

from tests.actors import api as kinds
from tests.e2e.conftest import MakeWorld
from tests.e2e.report import Report
from tests.e2e.waiting import until
from tests.e2e.workloads import claim, pod
from tests.e2e.world import World

LATE_SECONDS = 20.0
PODS = 6
ATTEMPT_SECONDS = 10.0
ANYWHERE = "anywhere"
RUNNING_SECONDS = 90.0


async def begin(world: World) -> None:
    """Have a class of volumes whose replicas may all be elsewhere."""
    await world.add_class(ANYWHERE, dataLocality="disabled", numberOfReplicas="1")
    await world.set_longhorn("default-engine-image", "longhornio/longhorn-engine:v1.12.1")
    await world.set_longhorn(
        "default-instance-manager-image", "longhornio/longhorn-instance-manager:v1.12.1"
    )


async def start(world: World, name: str, *, extender: bool) -> None:
    """Create a pod with a volume."""
    await world.api.create(claim(f"{name}-data", "1Gi", ANYWHERE), kinds.CLAIMS)
    await world.api.create(pod(name, f"{name}-data", extender=extender), kinds.PODS)


def node_of(world: World, name: str) -> str:
    found = world.seen.pod(name)
    return str(found["spec"].get("nodeName") or "") if found else ""


def runs(world: World, name: str) -> bool:
    found = world.seen.pod(name)
    return found is not None and found["status"].get("phase") == "Running"


@pytest.mark.parametrize("extender", [True, False], ids=["extender", "none"])
@pytest.mark.parametrize("what", ["image", "manager", "driver"])
async def test_a_node_where_nothing_attaches_gets_no_pod(
    what: str, make_world: MakeWorld, report: Report, *, extender: bool
) -> None:
    """First it is the only node that is not cordoned, then another one may be taken."""
    async with make_world() as world:
        await world.add_nodes({"disk": 100}, {"disk": 100})
        await begin(world)
        await world.let_run(
            "node-1",
            image=what != "image",
            manager="starting" if what == "manager" else "running",
            driver=what != "driver",
        )
        await world.cordon("node-2")
        await asyncio.sleep(1)
        names = [f"pod-{number}" for number in range(PODS)]

        for name in names:
            await start(world, name, extender=extender)
        await asyncio.sleep(ATTEMPT_SECONDS)
        hanging = [name for name in names if node_of(world, name) == "node-1"]
        await world.cordon("node-2", on=False)

        report.measured(
            f"{PODS} pods, no {what} there, with{'' if extender else 'out'} extender",
            f"{len(hanging)} are bound there and hang",
        )
        assert len(hanging) == (0 if extender else PODS)
        if extender:
            await until(lambda: all(runs(world, each) for each in names), within=RUNNING_SECONDS)
            assert {node_of(world, each) for each in names} == {"node-2"}
        elif what != "driver":  # kubelets are played, and do without it
            await asyncio.sleep(ATTEMPT_SECONDS)
            assert not any(runs(world, each) for each in names)


@pytest.mark.parametrize("extender", [True, False], ids=["extender", "none"])
async def test_a_pod_waits_for_an_instance_manager_that_runs_late(
    make_world: MakeWorld, report: Report, *, extender: bool
) -> None:
    async with make_world() as world:
        await world.add_nodes({"disk": 100})
        await begin(world)
        await world.let_run("node-1", manager="starting")
        await asyncio.sleep(1)
        began = time.monotonic()

        await start(world, "pod", extender=extender)
        await asyncio.sleep(LATE_SECONDS)
        bound_before = node_of(world, "pod")
        await world.let_run("node-1")
        came = time.monotonic()
        await until(lambda: runs(world, "pod"), within=RUNNING_SECONDS)
        ran = time.monotonic()

        report.measured(
            f"instance manager {LATE_SECONDS:g} s late, {'' if extender else 'without '}extender",
            f"pod {'bound at once, and hangs' if bound_before else 'waits'}; runs "
            f"{ran - came:.1f} s after it, {ran - began:.1f} s after it was created",
        )
        assert (bound_before == "") is extender
        assert ran - came < 30
