"""Volumes of several replicas: pods get nodes only while all that is coming has room.

Each case has more pods than room. Those that are bound must run, with a replica beside them where
their class asks for one, and no disk is beyond its limit. How many can be is found by CP-SAT.
"""

import time

import msgspec
import pytest
from ortools.sat.python import cp_model

from tests.actors import api as kinds
from tests.actors.api import Key
from tests.e2e.calls import Call
from tests.e2e.conftest import MakeWorld
from tests.e2e.effort import runs
from tests.e2e.report import Report
from tests.e2e.variants import CAPACITY, WHOLE_NODES, Variant
from tests.e2e.waiting import until
from tests.e2e.workloads import NAMESPACE, claim, pod
from tests.e2e.world import DELAYS, World

CLASS = "several"
GIB_EACH = 100
QUIET_SECONDS = 11.0
"""With no pod bound for so long, none will be until something changes: kube-scheduler tries none
for 10 s at most that it has tried in vain."""
DELAYS_HERE = msgspec.structs.replace(DELAYS, capacity_poll=1.0, node_status=(0.1, 0.3))
"""external-provisioner publishes capacities every minute, and until then kube-scheduler may pass a
node over by itself. That is not what is measured here."""


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes with one disk each, and pods with a claim of 100 GiB each."""

    name: str
    gib: tuple[int, ...]
    pods: int
    replicas: int = 3
    locality: str = "best-effort"
    zones: tuple[str, ...] = ()
    zone_soft: bool = True
    least: int
    """So many pods are bound at least; at most as many as `most` says."""

    def __str__(self) -> str:
        return self.name.replace(" ", "-")


CASES = (
    Case(name="3 of 4x300", gib=(300,) * 4, pods=16, least=4),
    Case(name="2 of 800-400-200-200", gib=(800, 400, 200, 200), pods=12, replicas=2, least=7),
    Case(name="3 of 3x400", gib=(400,) * 3, pods=8, least=4),
    Case(
        name="3 zones hard",
        gib=(300,) * 6,
        pods=10,
        zones=tuple("aabbcc"),
        zone_soft=False,
        least=6,
    ),
    Case(name="3 zones soft", gib=(300,) * 6, pods=10, zones=tuple("aabbcc"), least=5),
    Case(name="disabled 4x300", gib=(300,) * 4, pods=16, locality="disabled", least=4),
    Case(name="2 nodes 3 replicas", gib=(300,) * 2, pods=6, least=3),
)


def places(case: Case) -> int:
    """Return how many replicas of a volume nodes and zones allow."""
    return len(set(case.zones)) if case.zones and not case.zone_soft else len(case.gib)


def most(case: Case) -> int:
    """Return how many volumes have room with all the replicas that they can have at all."""
    each = min(case.replicas, places(case))
    model = cp_model.CpModel()
    volumes = [model.new_bool_var(f"v{v}") for v in range(case.pods)]
    on = [[model.new_bool_var(f"v{v}n{n}") for n in range(len(case.gib))] for v in range(case.pods)]
    for volume, nodes in zip(volumes, on, strict=True):
        model.add(sum(nodes) == each * volume)
        if case.zones and not case.zone_soft:
            for zone in set(case.zones):
                model.add(
                    sum(x for x, of in zip(nodes, case.zones, strict=True) if of == zone) <= 1
                )
    for number, gib in enumerate(case.gib):
        model.add(sum(GIB_EACH * nodes[number] for nodes in on) <= gib)
    model.maximize(sum(volumes))
    solver = cp_model.CpSolver()
    assert solver.solve(model) == cp_model.OPTIMAL
    return round(solver.objective_value)


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one run."""

    bound: int
    """All of them run."""
    missing: int
    """Replicas without a disk, of those that nodes and zones allow."""
    elsewhere: int
    """Volumes without a replica on their pod's node, where the class asks for one."""
    overcommitted: int
    """Disks beyond Longhorn's limit."""
    bound_seconds: float
    """Until the last of them was bound."""
    next_seconds: float
    """How long another pod waited after a bound one's room became free."""
    reasons: frozenset[str]
    """Why the others are not bound."""


async def run(world: World, case: Case) -> Result:
    await world.add_class(
        CLASS,
        numberOfReplicas=str(case.replicas),
        dataLocality=case.locality,
        replicaZoneSoftAntiAffinity="enabled" if case.zone_soft else "disabled",
    )
    await world.add_nodes(*({"disk": gib} for gib in case.gib), zones=case.zones)
    names = [f"web-{number}" for number in range(case.pods)]
    claims = [(claim(f"{name}-data", class_=CLASS), kinds.CLAIMS) for name in names]
    pods = [(pod(name, f"{name}-data"), kinds.PODS) for name in names]
    scheduling = await world.schedule(*claims, *pods, pods=case.pods)

    def is_quiet() -> bool:
        times = scheduling.bound_at()
        last = scheduling.began + (times[-1] if times else 0.0)
        were_asked = all(world.calls_for(name) for name in names)
        return len(times) == case.pods or (were_asked and time.time() - last > QUIET_SECONDS)

    await until(is_quiet, within=120, what=world.seen.node_of)
    node_of = world.seen.node_of()
    bound = sorted(name for name, node in node_of.items() if node)
    await until(
        lambda: all(map(world.seen.is_running, bound)),
        within=60,
        what=lambda: [name for name in bound if not world.seen.is_running(name)],
    )
    waiting = [name for name in names if name not in bound]
    rejected = [call.rejected for name in waiting for call in last_call(world, name)]
    result = Result(
        bound=len(bound),
        missing=sum(
            min(wanted, places(case)) - placed
            for placed, wanted in world.seen.replica_counts().values()
        ),
        elsewhere=world.seen.elsewhere() if case.locality == "best-effort" else 0,
        overcommitted=len(world.seen.overcommitted_disks()),
        bound_seconds=scheduling.bound_at()[-1],
        next_seconds=await replace_one(world, bound[0]),
        reasons=frozenset(text for each in rejected for text in each.values()),
    )
    await world.wipe()
    return result


async def replace_one(world: World, name: str) -> float:
    """Delete a pod and its claim; return when another has its node after the replicas are gone.

    It is bound once its claim is, which takes Longhorn some seconds.
    """
    before = world.seen.node_of()
    waiting = [other for other, node in before.items() if not node]
    volume = world.seen.volume_of(f"{name}-data")
    await world.api.delete(kinds.PODS, Key(NAMESPACE, name))
    await world.api.delete(kinds.CLAIMS, Key(NAMESPACE, f"{name}-data"))
    await until(
        lambda: volume not in world.seen.replica_counts(),
        within=30,
        what="the volume is still there",
    )
    free = time.time()

    def accepted() -> list[float]:
        calls = (call for other in waiting for call in world.calls_for(other))
        return [call.at for call in calls if call.accepted]

    await until(lambda: bool(accepted()), within=30, what=world.seen.node_of)
    bound = sum(map(bool, before.values()))
    await until(lambda: sum(map(bool, world.seen.node_of().values())) == bound, within=30)
    return min(accepted()) - free


def last_call(world: World, name: str) -> list[Call]:
    return world.calls_for(name)[-1:]


@pytest.mark.parametrize(
    "case", [pytest.param(CASES[0], marks=pytest.mark.gate), *CASES[1:]], ids=str
)
@pytest.mark.parametrize(
    ("variant", "times"),
    [(CAPACITY, runs(1, report=10)), (WHOLE_NODES, runs(1, report=3))],
    ids=["names", "whole-nodes"],
)
async def test_no_disk_is_beyond_its_limit_and_no_pod_is_stuck(
    make_world: MakeWorld, report: Report, case: Case, variant: Variant, times: int
) -> None:
    async with make_world(stale=False, delays=DELAYS_HERE, **variant.options) as world:
        for _ in range(times):
            result = await run(world, case)
            report.measured(f"{case.name}, {variant}, up to date", f"{result}, most {most(case)}")

            # Longhorn's own choice may leave room that the last volumes cannot use all of, or not
            # for all their replicas: then more pods are bound, or some have fewer replicas.
            assert result.bound >= case.least, result
            assert (result.overcommitted, result.elsewhere) == (0, 0), result
            assert result.reasons, result
            assert result.next_seconds < 3.0, result
