"""Groups of pods, which kube-scheduler can bind together or not at all."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from tests.actors import api as kinds
from tests.actors.api import Key, Kind, Object
from tests.e2e.control_plane import ControlPlane
from tests.e2e.controlplane import versions
from tests.e2e.waiting import until
from tests.e2e.workloads import NAMESPACE, claim, pod
from tests.e2e.world import World

KUBERNETES = versions.chosen(os.environ)
POD_GROUPS = Kind(KUBERNETES.groups_api, "podgroups", "PodGroup")
NODES = 4
GROUP = "gang"
DISK = {"disk": 100}
SIZE = "60Gi"
"""Of each pod's volume: one fits on a node, and no two do."""
REFUSED_SECONDS = 60.0
STILL_SECONDS = 8.0
"""Twice as long as pods take that are bound: to provision a volume takes two seconds."""


@pytest.fixture(scope="module")
def groups_on(control_plane: ControlPlane) -> Iterator[None]:
    """Have the gates on, and PodGroups served, until the last test that asks for that."""
    if not KUBERNETES.groups_api:
        pytest.skip("this Kubernetes has no PodGroup: it came with 1.36")
    control_plane.gates = KUBERNETES.groups_gates
    try:
        served = f"--runtime-config={POD_GROUPS.api_version}=true"
        asyncio.run(restart(control_plane, served))
        yield
    finally:
        control_plane.gates = ()
        asyncio.run(restart(control_plane))


async def restart(control_plane: ControlPlane, *flags: str) -> None:
    control_plane.kill_api_server()
    await control_plane.start_api_server(*flags)


@asynccontextmanager
async def group_of(pods: int, world: World) -> AsyncIterator[None]:
    """Have a group that needs all its pods."""
    policy = {"gang": {"minCount": pods}}
    made = {
        "metadata": {"name": GROUP, "namespace": NAMESPACE},
        "spec": {"schedulingPolicy": policy},
    }
    await world.api.create(made, POD_GROUPS)
    yield
    await world.delete_workloads()
    key = Key(NAMESPACE, GROUP)
    # The controller that would take the finalizer off is not among those that run.
    await world.api.patch(POD_GROUPS, key, {"metadata": {"finalizers": None}})
    await world.api.delete(POD_GROUPS, key)


def members(count: int) -> list[tuple[Object, Kind]]:
    """Build pods of the group, each with a claim."""
    names = [f"member-{number}" for number in range(1, count + 1)]
    pods = [pod(name, f"{name}-data") for name in names]
    for each in pods:
        each["spec"]["schedulingGroup"] = {"podGroupName": GROUP}
    claims = [(claim(f"{name}-data", SIZE), kinds.CLAIMS) for name in names]
    return [*claims, *((each, kinds.PODS) for each in pods)]


def refused(world: World) -> list[str]:
    """Name the members that got no node when they were last asked about."""
    last = {call.pod: call.accepted for call in world.extender.calls() if "member-" in call.pod}
    return [name for name, accepted in last.items() if not accepted]


async def on_their_way(world: World) -> list[str]:
    """Name the claims for which kube-scheduler has chosen a node."""
    found = await world.api.list(kinds.CLAIMS, NAMESPACE)
    chosen = "volume.kubernetes.io/selected-node"
    metadata = [each["metadata"] for each in found]
    return [each["name"] for each in metadata if chosen in (each.get("annotations") or {})]


@pytest.mark.gate
async def test_without_the_gates_pods_are_bound_one_by_one(make_world, report):
    """The API server does not keep the name of a group then."""
    async with make_world() as world:
        await world.add_nodes(*[DISK] * NODES)
        scheduling = await world.schedule(*members(NODES + 1), pods=NODES + 1)
        await until(lambda: scheduling.bound() == NODES, within=REFUSED_SECONDS)
        await until(lambda: len(refused(world)) == 1, within=REFUSED_SECONDS)

        report.measured(
            f"{NODES + 1} pods on {NODES} nodes, without the gates for groups",
            f"{scheduling.bound()} bound",
        )
        assert scheduling.bound() == NODES
        first = world.calls_for("member-1")[0]
        assert len(first.accepted) == NODES


@pytest.mark.gate
@pytest.mark.usefixtures("groups_on")
async def test_a_group_that_fits_exactly_is_bound_at_once(make_world, report):
    async with make_world() as world:
        await world.add_nodes(*[DISK] * NODES)
        async with group_of(NODES, world):
            scheduling = await world.schedule(*members(NODES), pods=NODES)
            outcome = await scheduling.outcome()

            report.measured(
                f"a group of {NODES} pods that fit exactly on {NODES} nodes",
                f"all bound in {outcome.bound_seconds:.1f} s, {outcome.filter_calls} calls",
            )
            assert len({*world.seen.node_of().values()}) == NODES
            assert outcome.filter_calls == NODES
            assert (outcome.overcommitted_disks, outcome.elsewhere) == (0, 0)


@pytest.mark.gate
@pytest.mark.usefixtures("groups_on")
async def test_of_a_group_that_does_not_fit_no_pod_is_bound(make_world, report):
    """One more node, and it is bound: what was held for the attempts before is in nobody's way."""
    async with make_world() as world:
        await world.add_nodes(*[DISK] * NODES)
        async with group_of(NODES + 1, world):
            scheduling = await world.schedule(*members(NODES + 1), pods=NODES + 1)
            await until(lambda: len(refused(world)) == 1, within=REFUSED_SECONDS)
            await until(lambda: _is_given_up(world), within=REFUSED_SECONDS)

            await asyncio.sleep(STILL_SECONDS)
            assert scheduling.bound() == 0
            assert await on_their_way(world) == []

            await world.add_node(f"node-{NODES + 1}", DISK)
            outcome = await scheduling.outcome()

            report.measured(
                f"a group of {NODES + 1} pods on {NODES} nodes, and on one more",
                f"none bound; then all, {outcome.bound_seconds:.1f} s after they were created",
            )
            assert len({*world.seen.node_of().values()}) == NODES + 1
            assert (outcome.overcommitted_disks, outcome.elsewhere) == (0, 0)


async def _is_given_up(world: World) -> bool:
    """Whether kube-scheduler says that the group got no nodes."""
    found = await world.api.get(POD_GROUPS, GROUP, NAMESPACE)
    conditions = (found or {}).get("status", {}).get("conditions") or []
    return [each["status"] for each in conditions] == ["False"]
