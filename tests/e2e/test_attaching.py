"""Nodes where a pod's volumes cannot be attached: what becomes of pods with and without us."""

import asyncio
import time

import pytest

from tests.actors import api as kinds
from tests.actors.api import Key
from tests.actors.longhorn import (
    ENGINE_IMAGE,
    MANAGER_IMAGE,
    NAMESPACE,
    instance_manager,
)
from tests.actors.provisioner import SELECTED_NODE
from tests.e2e.effort import FOR_REPORT, is_for_report
from tests.e2e.lending import ONE_LOOP
from tests.e2e.waiting import until
from tests.e2e.workloads import claim, pod
from tests.e2e.world import World

pytestmark = ONE_LOOP

LATE_SECONDS = 20.0 if is_for_report() else 8.0
PODS = 6
ATTEMPT_SECONDS = 10.0 if is_for_report() else 6.0
"""In which kube-scheduler tries a pod again and again, if it has found no node for it."""
ANYWHERE = "anywhere"
RUNNING_SECONDS = 90.0
V2_OFF = "node.longhorn.io/disable-v2-data-engine"

WHAT = {
    "image": "engine image",
    "manager": "running instance manager",
    "driver": "CSI driver, claims unbound",
    "driver-bound": "CSI driver, claims bound",
    "v2": "data engine v2, by its label",
}
"""What the node lacks."""


async def begin(world: World, what: str) -> None:
    """Have two nodes and a class of volumes whose replicas may all be elsewhere."""
    await world.add_nodes({"disk": 100}, {"disk": 100})
    engine = "v2" if what == "v2" else "v1"
    if engine == "v2":  # before the class: capacities are published once a minute
        for node in ("node-1", "node-2"):
            await have_v2(world, node)
    binding = "Immediate" if what == "driver-bound" else "WaitForFirstConsumer"
    await world.add_class(
        ANYWHERE,
        binding=binding,
        dataEngine=engine,
        dataLocality="disabled",
        numberOfReplicas="1",
    )
    await set_images(world, ENGINE_IMAGE, MANAGER_IMAGE)


async def set_images(world: World, engine: str, manager: str) -> None:
    """Set the images by which Longhorn makes engines and instance managers."""
    await world.set_longhorn("default-engine-image", engine)
    await world.set_longhorn("default-instance-manager-image", manager)


async def have_v2(world: World, node: str) -> None:
    """Have an instance manager of data engine v2 on a node, and its disk be one for that."""
    await world.api.ensure(instance_manager(node, engine="v2"), kinds.INSTANCE_MANAGERS)
    block = {"disk": {"diskType": "block"}}
    changes = {"spec": {"disks": block}, "status": {"diskStatus": block}}
    await world.api.patch(kinds.LONGHORN_NODES, Key(NAMESPACE, node), changes)
    known = world.longhorn.cluster.nodes

    def is_known() -> bool:
        found = known.get(node, NAMESPACE)
        return bool(found and found["status"]["diskStatus"]["disk"]["diskType"] == "block")

    await until(is_known, within=RUNNING_SECONDS)


async def let_attach(world: World, what: str, *, on: bool) -> None:
    """Take from node-1 what volumes need there, or bring it back."""
    if what == "v2":
        labels = {"metadata": {"labels": {V2_OFF: None if on else "true"}}}
        await world.api.patch(kinds.KUBERNETES_NODES, Key("", "node-1"), labels)
        return
    await world.let_run(
        "node-1",
        image=on or what != "image",
        manager="running" if on or what != "manager" else "starting",
        driver=on or not what.startswith("driver"),
    )


async def start(world: World, name: str, *, extender: bool, class_: str = ANYWHERE) -> None:
    """Create a pod with a volume."""
    await world.api.create(claim(f"{name}-data", "1Gi", class_), kinds.CLAIMS)
    await world.api.create(pod(name, f"{name}-data", extender=extender), kinds.PODS)


def node_of(world: World, name: str) -> str:
    """Return the node of a pod, or the one that is selected for its claim to be made."""
    found = world.seen.pod(name)
    if found and found["spec"].get("nodeName"):
        return str(found["spec"]["nodeName"])
    asked = world.longhorn.cluster.claims.get(f"{name}-data", "default")
    return str((asked["metadata"].get("annotations") or {}).get(SELECTED_NODE, "")) if asked else ""


def hanging(world: World, names: list[str]) -> list[str]:
    """Name the pods with a node where they do not run."""
    return [each for each in names if node_of(world, each) and not world.seen.is_running(each)]


@pytest.mark.parametrize(
    ("what", "extender"),
    [
        pytest.param("image", True, id="image-extender", marks=pytest.mark.gate),
        *(pytest.param(what, True, id=f"{what}-extender") for what in WHAT if what != "image"),
        pytest.param("image", False, id="image-none"),
        *(
            pytest.param(what, False, id=f"{what}-none", marks=FOR_REPORT)
            for what in WHAT
            if what != "image"
        ),
    ],
)
async def test_a_node_where_nothing_attaches_gets_no_pod(what, share_world, report, *, extender):
    """First it is the only node that is not cordoned, then another one may be taken."""
    async with share_world() as world:
        await begin(world, what)
        await let_attach(world, what, on=False)
        await world.cordon("node-2")
        await asyncio.sleep(1)
        names = [f"pod-{number}" for number in range(PODS)]

        def all_run() -> bool:
            return all(map(world.seen.is_running, names))

        for name in names:
            await start(world, name, extender=extender)
        await asyncio.sleep(ATTEMPT_SECONDS)
        there = hanging(world, names)
        assert len(there) == (0 if extender else PODS)
        await world.cordon("node-2", on=False)

        if extender:
            took = await until(all_run, within=RUNNING_SECONDS)
            assert {node_of(world, each) for each in names} == {"node-2"}
            figures = f"wait; all run on the other node {took:.1f} s after it may be taken"
        else:
            await asyncio.sleep(ATTEMPT_SECONDS)
            assert hanging(world, names) == there
            assert {node_of(world, each) for each in names} == {"node-1"}
            await let_attach(world, what, on=True)
            took = await until(all_run, within=RUNNING_SECONDS)
            figures = (
                f"all are sent there and hang, also {ATTEMPT_SECONDS:g} s after another node may "
                f"be taken; run {took:.1f} s after it is back"
            )
        ways = f"with{'' if extender else 'out'} extender"
        report.measured(f"{PODS} pods, a node without {WHAT[what]}, {ways}", figures)


@pytest.mark.parametrize(
    "extender",
    [pytest.param(True, id="extender"), pytest.param(False, id="none", marks=FOR_REPORT)],
)
async def test_a_pod_waits_for_an_instance_manager_that_runs_late(share_world, report, *, extender):
    async with share_world() as world:
        await begin(world, "manager")
        await let_attach(world, "manager", on=False)
        await world.cordon("node-2")
        await asyncio.sleep(1)
        began = time.monotonic()

        await start(world, "pod", extender=extender)
        await asyncio.sleep(LATE_SECONDS)
        bound_before = node_of(world, "pod")
        await let_attach(world, "manager", on=True)
        came = time.monotonic()
        await until(lambda: world.seen.is_running("pod"), within=RUNNING_SECONDS)
        ran = time.monotonic()

        report.measured(
            f"instance manager {LATE_SECONDS:g} s late, with{'' if extender else 'out'} extender",
            f"pod {'bound at once, and hangs' if bound_before else 'waits'}; runs "
            f"{ran - came:.1f} s after it, {ran - began:.1f} s after it was created",
        )
        assert (bound_before == "") is extender
        assert ran - came < 30
