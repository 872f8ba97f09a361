"""Clusters and the pods that come to them at once, for `bench_bursts`."""

from collections.abc import Sequence
from random import Random

import msgspec

from extender import Mode
from tests.actors.scheduler import Configuration
from tests.e2e.whole_volumes import Case
from tests.simulation.plan import Plan
from tests.simulation.users import Workload

_DEMANDS = (0.6, 0.9, 1.1, 1.5)
_LOCAL = [("strict-local", 1), ("best-effort", 1), ("best-effort", 2), ("best-effort", 3)]
_REMOTE = [("disabled", 1), ("disabled", 2), ("disabled", 3)]


class Burst(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster, and pods that are created at once."""

    plan: Plan
    workloads: Sequence[Workload]


def burst_of(case: Case) -> Burst:
    """Return a case of the tests end to end."""
    wishes = {wish for each in case.wishes for wish in each}
    nodes = {f"node-{number}": {"disk-1": (gib, False)} for number, gib in enumerate(case.gib)}
    zones = dict(zip(nodes, case.zones or [""] * len(nodes), strict=True))
    soft = "enabled" if case.zone_soft else "disabled"
    classes = {
        wish.class_name: {
            "numberOfReplicas": str(wish.replicas),
            "dataLocality": wish.locality,
            "replicaZoneSoftAntiAffinity": soft,
        }
        for wish in sorted(wishes, key=str)
    }
    workloads = [
        Workload(
            name=name,
            is_stateful=False,
            claims=[(wish.class_name, case.gib_each) for wish in wanted],
            pods=1,
        )
        for name, wanted in case.pod_wishes.items()
    ]
    return Burst(plan=_plan(nodes, zones, classes), workloads=workloads)


def drawn(random: Random) -> Burst:
    """Draw a small cluster and what fills it."""
    nodes = {
        f"node-{number}": {
            f"disk-{disk}": (random.choice([60, 100, 150, 200]), False)
            for disk in range(random.choice([1, 1, 2, 3]))
        }
        for number in range(random.randint(3, 6))
    }
    zone_names = random.choice([[""], [""], ["a", "b"], ["a", "b", "c"]])
    zones = {name: random.choice(zone_names) for name in nodes}
    kinds = [
        *random.sample(_LOCAL, random.randint(1, 3)),
        *random.sample(_REMOTE, random.randint(0, 2)),
    ]
    classes = {
        f"{locality}-{replicas}": {"dataLocality": locality, "numberOfReplicas": str(replicas)}
        for locality, replicas in kinds
    }
    total = sum(gib for disks in nodes.values() for gib, _ in disks.values())
    left, workloads = random.choice(_DEMANDS) * total, list[Workload]()
    while left > 0:
        claims = [
            (random.choice([*classes]), random.choice([10, 20, 30, 50, 80]))
            for _ in range(random.choice([1, 1, 1, 2]))
        ]
        left -= sum(gib * int(classes[name]["numberOfReplicas"]) for name, gib in claims)
        name = f"app-{len(workloads)}"
        workloads.append(Workload(name=name, is_stateful=False, claims=claims, pods=1))
    return Burst(plan=_plan(nodes, zones, classes), workloads=workloads)


def _plan(
    nodes: dict[str, dict[str, tuple[int, bool]]],
    zones: dict[str, str],
    classes: dict[str, dict[str, str]],
) -> Plan:
    return Plan(
        nodes=nodes,
        zones=zones,
        anti_affinity={},
        allow_degraded=True,
        is_stale=False,
        over_provisioning=100,
        instances=1,
        choosing_seconds=5,
        placing_seconds=5,
        mode=Mode.CAPACITY,
        scheduler=Configuration(),
        classes=classes,
        disk_schedules=False,
        demand=1.0,
        faults=0.0,
    )
