"""Beside Longhorn 1.13, which has Settings, a Service, slices and a Lease of our names, and an
extender of its own: nothing of it changes anything of ours.
"""

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from app.config import NAME
from supply.version import version
from tests.actors import api as kinds
from tests.actors.api import Object
from tests.actors.longhorn.release import ENABLED
from tests.e2e.coming import Coming, scheduled_by
from tests.e2e.conftest import MakeWorld
from tests.e2e.deployed import Administrator, DeployedInLonghorns
from tests.e2e.extender import PROBE, ROOT
from tests.e2e.injecting import POLICY, SECOND, Way, install, policy, probe_until, remove
from tests.e2e.kubernetes import scheduler_configuration
from tests.e2e.lending import ONE_LOOP
from tests.e2e.longhorn_1_13 import reached, switch, upgraded
from tests.e2e.ours import changes, look
from tests.e2e.report import Report
from tests.e2e.second_scheduler import second_scheduler
from tests.e2e.users import ADMIN, SCHEDULER
from tests.e2e.waiting import until
from tests.e2e.workloads import claim, pod
from tests.e2e.world import World
from tests.fakes.installed import LONGHORN

pytestmark = [ONE_LOOP, pytest.mark.alone]

NODES = [{"disk": 400}] * 4
DEFAULT = "default-scheduler"
BEFORE_SECONDS = 6.0
AFTER_SECONDS = 6.0
SWITCH_SECONDS = 3.0
MORE_SECONDS = 5.0
"""More than the longest wait before, on a machine that does something else at times."""
BIND_SECONDS = 60.0
INSTALLED = (
    *("helm", "install", NAME, f"charts/{NAME}", "--namespace", LONGHORN),
    *("--set", f"image.repository={NAME},service.clusterIP.ipv4=10.96.0.95"),
    *("--set", "injection.mode=none,tls.mode=insecure"),
)
OPT_OUT = {"longhorn-scheduler-extender/injection": "disabled"}

Happen = Callable[[World], Awaitable[None]]


@asynccontextmanager
async def world_of(share_world: MakeWorld, folder: Path, scheduler: str) -> AsyncIterator[World]:
    """Borrow a world in which this scheduler calls our service, and no other does."""
    options: dict[str, Any] = {} if scheduler == DEFAULT else {"extenders": []}
    async with share_world(**options) as world:
        await world.add_nodes(*NODES)
        if scheduler == DEFAULT:
            yield world
        else:
            async with second_scheduler(world, folder):
                yield world


async def stand_there(_: World) -> None:
    """Only be 1.13."""
    await asyncio.sleep(AFTER_SECONDS)


async def switch_on_and_off(world: World) -> None:
    for on in (True, False):
        await switch(world, on=on)
        await asyncio.sleep(SWITCH_SECONDS)


async def troubles(world: World, scheduler: str, happen: Happen, report: Report) -> list[str]:
    """Have Longhorn upgraded while pods come; say what has changed for us, and who waits longer."""
    coming = Coming(world, scheduler=scheduler)
    async with coming.running():
        await asyncio.sleep(BEFORE_SECONDS)
        before, at = await look(world), time.time()
        async with upgraded(world):
            await happen(world)
            longest = max(
                seconds
                for name, seconds in coming.waits().items()
                if coming.created[name] + seconds < at
            )
            await coming.end(within=longest + MORE_SECONDS)
            changed, waits = await changes(world, before), coming.waits()
    after = [seconds for name, seconds in waits.items() if coming.created[name] > at]
    report.measured(
        f"Longhorn becomes 1.13 ({scheduler}, {happen.__name__}): waits for a node",
        f"{longest:.1f} s before, {max(after):.1f} s since (longest of {len(after)})",
    )
    nodes = world.seen.node_of()
    return changed + [
        f"{name} has {nodes.get(name) or 'no node'} after {seconds:.1f} s, "
        f"longest before {longest:.1f} s"
        for name, seconds in waits.items()
        if seconds > longest + MORE_SECONDS or not nodes.get(name)
    ]


@pytest.mark.parametrize(
    "happen", [pytest.param(stand_there, marks=pytest.mark.gate), switch_on_and_off]
)
@pytest.mark.parametrize(
    "scheduler",
    [pytest.param(DEFAULT, id="cluster-scheduler"), pytest.param(SECOND, id="second-scheduler")],
)
async def test_it_changes_nothing_of_ours_and_no_pod_waits_longer(
    share_world, tmp_path, report, scheduler, happen
):
    async with world_of(share_world, tmp_path, scheduler) as world:
        found = await troubles(world, scheduler, happen, report)
        assert not found, "\n".join(found)


@pytest.mark.gate
async def test_pods_of_both_extenders_get_their_nodes(share_world, tmp_path):
    of_theirs, of_ours = ({f"{whose}-{number}" for number in range(3)} for whose in ("l", "o"))
    async with (
        world_of(share_world, tmp_path, SECOND) as world,
        upgraded(world),
        reached(world, tmp_path) as theirs,
    ):
        before = await look(world)
        for name in sorted(of_theirs | of_ours):
            await create(world, scheduled_by(DEFAULT if name in of_theirs else SECOND, name))

        await all_bound(world)

        assert {call.pod for call in theirs.calls()} == {f"default/{name}" for name in of_theirs}
        asked = {call.pod for call in world.extender.calls()} - {PROBE}
        assert asked == {f"default/{name}" for name in of_ours}
        await world.settle()
        assert (world.seen.without_room(), world.seen.overcommitted_disks()) == (0, [])
        assert await changes(world, before) == []


async def test_pods_of_its_extender_go_on_when_ours_is_taken_away(
    share_world, tmp_path, control_plane
):
    injection = policy(Way(POLICY, second=True))
    async with (
        share_world(extenders=[]) as world,
        second_scheduler(world, tmp_path) as second,
        upgraded(world),
        reached(world, tmp_path) as theirs,
    ):
        await world.add_nodes(*NODES)
        await install(control_plane, injection)
        try:
            await probe_until(control_plane, expected=True)
            await create(world, kept_out("before"))
            await create(world, pod("injected", "injected", extender=False))
            await all_bound(world)
            await create(world, kept_out("meanwhile"))
        finally:
            await remove(control_plane, injection)
        await second.stop()
        for instance in world.extender.instances:
            await instance.process.stop()
        await probe_until(control_plane, expected=False)

        for number in range(3):
            await create(world, scheduled_by(DEFAULT, f"later-{number}"))
        await all_bound(world)

        of_theirs = {name for name in world.seen.node_of() if name != "injected"}
        assert {call.pod for call in theirs.calls()} == {f"default/{name}" for name in of_theirs}
        assert {call.pod for call in world.extender.calls()} - {PROBE} == {"default/injected"}


@pytest.mark.gate
async def test_an_installation_in_its_namespace_goes_on_while_its_extender_is_off(bare, tmp_path):
    async with World(bare, tmp_path, make_extender=DeployedInLonghorns, extenders=[]) as world:
        administrator = Administrator(bare.users.kubeconfig(ADMIN), ROOT)
        await world.add_nodes(*NODES)
        service = world.extender
        assert isinstance(service, DeployedInLonghorns)
        service.sources[version(ROOT)] = ROOT
        await administrator.run(*INSTALLED)
        await service.serve()
        await bare.stop_scheduler()
        kubeconfig = bare.users.kubeconfig(SCHEDULER)
        await bare.start_scheduler(
            scheduler_configuration(kubeconfig, service.url, ROOT / "manifests")
        )
        async with upgraded(world):
            for number in range(3):
                await create(world, scheduled_by(DEFAULT, f"pod-{number}"))
            await all_bound(world)

            assert {call.pod for call in service.calls()} - {PROBE} == {
                f"default/pod-{number}" for number in range(3)
            }
            assert await problems(administrator) >= {"namespace-shared"}
            await world.set_longhorn(ENABLED, "true")
            assert await problems(administrator) >= {"namespace-contested"}


async def problems(administrator: Administrator) -> set[str]:
    """Return what `doctor` finds of an installation in Longhorn's namespace."""
    place = ("env", f"EXTENDER_NAMESPACE={LONGHORN}", sys.executable, "-m", "cli")
    kubeconfig = ("--kubeconfig", administrator.kubeconfig)
    done = await administrator.attempt(*place, "doctor", *kubeconfig, "--output", "json")
    return {each["code"] for each in json.loads(done.stdout)["findings"]}


def kept_out(name: str) -> Object:
    """Build a pod for Longhorn's extender that our injection leaves alone."""
    made = scheduled_by(DEFAULT, name)
    made["metadata"]["labels"] = OPT_OUT
    return made


async def create(world: World, made: Object) -> None:
    """Create a pod, and the claim that has its name."""
    await world.api.create(claim(made["metadata"]["name"], "1Gi"), kinds.CLAIMS)
    await world.api.create(made, kinds.PODS)


async def all_bound(world: World) -> None:
    nodes = world.seen.node_of
    await until(lambda: bool(nodes()) and all(nodes().values()), within=BIND_SECONDS, what=nodes)
