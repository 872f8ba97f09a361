"""What `plan` says beforehand, against what kube-scheduler, Longhorn and the service then do.

The command plans on the live cluster before the workload is there; then the same objects are
created. Longhorn is up to date, as it is in plans.
"""

import contextlib
import os
import time
from collections.abc import AsyncIterator, Sequence
from random import Random

import pytest

from tests.actors import api as kinds
from tests.actors.api import Key, Kind, Object
from tests.actors.longhorn import DRIVER
from tests.e2e.cases import EVEN, NODES, PODS, SEVERAL, UNEVEN
from tests.e2e.effort import runs
from tests.e2e.lending import ONE_LOOP
from tests.e2e.plan_report import PlanRow, span_of
from tests.e2e.planning import BY_LOT, MANY_SEEDS, SEEDS, Forecast, Planning, real
from tests.e2e.random_workloads import (
    DEDICATED,
    POOL,
    ZONE,
    RandomWorkload,
    random_workload,
)
from tests.e2e.waiting import until
from tests.e2e.whole_volumes import DELAYS_HERE, QUIET_SECONDS, Wish
from tests.e2e.workloads import claim, claims, pod, stateful_set
from tests.e2e.world import World

pytestmark = ONE_LOOP

RANDOM_WORKLOADS = runs(5, report=20)
SEED_VARIABLE = "E2E_SEED"
REST_SECONDS = 240.0
ZONES = tuple("aabbcc")


@pytest.mark.parametrize("case", [EVEN, UNEVEN, SEVERAL], ids=["1a", "1b", "several-disks"])
async def test_goal_1_ends_as_planned(share_world, report, tmp_path, case):
    """The pods fill all disks exactly, so any other number on a node leaves one without room."""
    async with share_world(stale=False, delays=DELAYS_HERE) as world:
        await world.add_nodes(*case.nodes)
        objects = [(stateful_set("web", pods=PODS), kinds.STATEFUL_SETS)]

        planned = await Planning(world, tmp_path).place(objects, runs=len(SEEDS))
        found = await _run(world, objects, _names(PODS))

        room = tuple(map(int, case.pods.split("/")))
        assert planned.counts(NODES) == found.counts(NODES) == room
        report.plan(_row(case.name, NODES, found, [planned], is_determined=True))


async def test_goal_2_ends_as_planned(share_world, report, tmp_path):
    """The four claims of the pod fit together on one node only."""
    async with share_world(stale=False, delays=DELAYS_HERE) as world:
        await world.add_nodes(*[{f"disk-{n}": 100 for n in range(count)} for count in range(1, 5)])
        wanted = claims("data", 4)
        objects: list[tuple[Object, Kind]] = [(each, kinds.CLAIMS) for each in wanted]
        objects.append((pod("four", *(each["metadata"]["name"] for each in wanted)), kinds.PODS))

        planned = await Planning(world, tmp_path).place(objects, runs=len(SEEDS))
        found = await _run(world, objects, ["four"])

        assert planned == found == Forecast({"four": "node-4"}, frozenset())
        report.plan(_row("goal 2: four claims", NODES, found, [planned], is_determined=True))


async def test_goal_3a_a_drain_ends_as_planned(share_world, report, tmp_path):
    """One other node alone has disks that take the volumes."""
    async with share_world(stale=False, delays=DELAYS_HERE) as world:
        await world.add_nodes({"disk": 400}, {"disk": 400}, {"disk": 99}, {"disk": 99})
        for node in NODES[1:]:
            await world.cordon(node)
        await _run(world, [(stateful_set("web", pods=4), kinds.STATEFUL_SETS)], _names(4))
        for node in NODES[1:]:
            await world.cordon(node, on=False)
        await until(world.seen.is_every_node_schedulable, within=10)

        planned = await Planning(world, tmp_path).drain("node-1", runs=len(SEEDS))
        old = {each["metadata"]["uid"] for each in world.seen.pods()}
        await world.drain("node-1")
        await until(
            lambda: not any(each["metadata"]["uid"] in old for each in world.seen.pods()),
            within=30,
        )
        found = await _at_rest(world, _names(4))

        assert planned == found
        assert found.counts(NODES) == (0, 4, 0, 0)
        report.plan(_row("goal 3A: drain", NODES, found, [planned], is_determined=True))


async def test_goal_3b_pods_return_as_planned(share_world, report, tmp_path):
    """The only replica of each pod is on a disk that is full: each has one node to go to."""
    async with share_world(stale=False, delays=DELAYS_HERE) as world:
        await world.add_nodes(*EVEN.nodes)
        objects = [(stateful_set("web", pods=PODS), kinds.STATEFUL_SETS)]
        before = await _run(world, objects, _names(PODS))
        await world.settle()
        await world.delete_workloads(keep_claims=True)

        planned = await Planning(world, tmp_path).place(objects, runs=len(SEEDS))
        found = await _run(world, objects, _names(PODS))

        assert planned == found == before
        report.plan(
            _row("goal 3B: delete and create again", NODES, found, [planned], is_determined=True)
        )


async def test_three_replicas_in_three_zones_end_as_planned(share_world, report, tmp_path):
    """Each zone has room for six replicas, and each volume takes one in every zone."""
    async with share_world(stale=False, delays=DELAYS_HERE) as world:
        wish = Wish(3)
        await world.add_class(
            wish.class_name,
            numberOfReplicas=str(wish.replicas),
            dataLocality=wish.locality,
            replicaZoneSoftAntiAffinity="disabled",
        )
        await world.add_nodes(*[{"disk": 300} for _ in ZONES], zones=ZONES)
        names = _names(10)
        objects: list[tuple[Object, Kind]] = []
        for name in names:
            objects.append((claim(f"{name}-0", "100Gi", wish.class_name), kinds.CLAIMS))
            objects.append((pod(name, f"{name}-0"), kinds.PODS))

        planning = Planning(world, tmp_path)
        worst = await planning.place(objects, runs=len(SEEDS))
        planned = await planning.forecasts(objects)
        found = await _run(world, objects, names)

        assert {each.placed for each in (worst, found, *planned)} == {6}
        nodes = [f"node-{number}" for number in range(1, len(ZONES) + 1)]
        report.plan(
            _row("3 replicas in 3 zones, 6 x 300 GiB", nodes, found, planned, is_determined=False)
        )


@pytest.mark.alone
async def test_random_workloads_end_within_what_plans_say(share_world, report, tmp_path):
    """What the plans of all seeds have in common must happen, and nothing beyond their range."""
    seed = os.environ.get(SEED_VARIABLE, "1")
    rows = []
    async with (
        share_world(stale=False, delays=DELAYS_HERE) as world,
        _without_capacity_tracking(world),
    ):
        planning = Planning(world, tmp_path)
        for number in range(RANDOM_WORKLOADS):
            workload = random_workload(Random(f"{seed} {number}"))
            await _set_up(world, workload)
            planned = await planning.forecasts(workload.objects, seeds=MANY_SEEDS)
            assert await planning.place(workload.objects) == planned[0]
            nodes = [node.name for node in workload.nodes]
            by_lot = await planning.forecasts(workload.objects, policy=BY_LOT)
            is_determined = len({each.counts(nodes) for each in by_lot}) == 1
            found = await _run(world, workload.objects, workload.pods)
            case = f"seed {seed}, {number}: {workload.told}"
            rows.append(_row(case, nodes, found, planned, is_determined=is_determined))
            await world.wipe()

    for row in rows:
        report.plan(row)
    assert [row.told for row in rows if not row.is_foretold] == []


@contextlib.asynccontextmanager
async def _without_capacity_tracking(world: World) -> AsyncIterator[None]:
    """Have kube-scheduler not ask for capacities: Longhorn has that off, and plans leave it out."""
    changes: Object = {"spec": {"storageCapacity": False}}
    await world.api.patch(kinds.CSI_DRIVERS, Key("", DRIVER), changes)
    try:
        yield
    finally:
        changes = {"spec": {"storageCapacity": True}}
        await world.api.patch(kinds.CSI_DRIVERS, Key("", DRIVER), changes)


async def _set_up(world: World, workload: RandomWorkload) -> None:
    for name, value in workload.settings.items():
        await world.set_longhorn(name, value)
    for name, parameters in workload.classes.items():
        await world.add_class(name, **parameters)
    await world.add_nodes(
        *(node.disks for node in workload.nodes), zones=[node.zone for node in workload.nodes]
    )
    for node in workload.nodes:
        labels = {ZONE: node.zone} if node.zone else {}
        if node.in_pool:
            labels[POOL] = "a"
        taint = {"key": DEDICATED, "value": "true", "effect": "NoSchedule"}
        changes = {
            "metadata": {"labels": labels},
            "spec": {"taints": [taint] if node.is_dedicated else None},
        }
        await world.api.patch(kinds.KUBERNETES_NODES, Key("", node.name), changes)


async def _run(
    world: World, objects: Sequence[tuple[Object, Kind]], names: Sequence[str]
) -> Forecast:
    """Create objects, and return what has become of the pods *names* when nothing moves."""
    await world.schedule(*objects, pods=len(names))
    return await _at_rest(world, names)


async def _at_rest(world: World, names: Sequence[str]) -> Forecast:
    """Wait until all pods have nodes, or none that waits will get one by itself.

    kube-scheduler has then found no node for each of these, and has tried again in vain.
    """

    def is_quiet() -> bool:
        found = world.seen.pods()
        bound = [each for each in found if each["spec"].get("nodeName")]
        if len(bound) == len(names):
            return True
        at = [world.seen.bound_at[each["metadata"]["uid"]] for each in bound]
        were_tried = all(map(_was_refused, found)) and bool(found)
        return were_tried and time.time() - max(at, default=began) > QUIET_SECONDS

    began = time.time()
    await until(is_quiet, within=REST_SECONDS, what=world.seen.node_of)
    return real(world, names)


def _was_refused(pod_object: Object) -> bool:
    """Whether a pod has a node, or kube-scheduler has said that there is none for it."""
    conditions = pod_object["status"].get("conditions") or ()
    return bool(pod_object["spec"].get("nodeName")) or any(
        each["type"] == "PodScheduled" and each["status"] == "False" for each in conditions
    )


def _names(pods: int) -> list[str]:
    return [f"web-{number}" for number in range(pods)]


def _row(
    case: str,
    nodes: Sequence[str],
    found: Forecast,
    planned: Sequence[Forecast],
    *,
    is_determined: bool,
) -> PlanRow:
    """Compare a real run with plans of it, each with another seed."""
    pods = [*found.node_of, *found.waiting]
    workloads = sorted({name.rpartition("-")[0] or name for name in pods})
    waiting = [each.waiting_of(workloads) for each in planned]
    return PlanRow(
        case=case,
        pods=len(pods),
        placed=found.placed,
        planned=span_of(each.placed for each in planned),
        waiting=found.waiting_of(workloads),
        planned_waiting={name: span_of(each[name] for each in waiting) for name in workloads},
        by_node=found.counts(nodes),
        planned_by_node=tuple(each.counts(nodes) for each in planned),
        is_determined=is_determined,
    )
