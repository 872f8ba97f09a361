"""What kind of worst day a seed makes: zones of nodes that are nearly full, and who is on them."""

from collections.abc import Mapping, Sequence
from itertools import count
from random import Random

import msgspec

from extender import Mode
from tests.actors.longhorn.creation import MIB
from tests.actors.longhorn.records import BEST_EFFORT, DISABLED, STRICT_LOCAL
from tests.simulation.plan import GIB, Plan, draw_bool, draw_scheduler
from tests.simulation.tenants import Tenant
from tests.simulation.users import Workload

ZONES = ("zone-a", "zone-b", "zone-c")
LOST = ZONES[-1]
"""The zone that goes."""
TENANTS = (120, 200)
"""Volumes with a replica in that zone, at least and at most."""
SPARE_GIB = (0, 0, 0, 1, 2, 4, 8, 24)
"""What a disk has left at first."""
NEW_GIB = ((1, 4), (2, 12), (10, 40))
"""Least and most of a new claim."""


class WorstDay(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster that is nearly full, and what comes to it once the zone has gone.

    Attributes:
        tenants: Whose volumes are there.
        workloads: Whose pods are created when the zone has gone; some use volumes of tenants.
    """

    plan: Plan
    tenants: Sequence[Tenant]
    workloads: Sequence[Workload]

    @property
    def lost(self) -> list[str]:
        """Name the nodes that go."""
        return [node for node, zone in self.plan.zones.items() if zone == LOST]


def draw_worst_day(random: Random) -> WorstDay:
    """Draw one."""
    names = count(1)
    per_zone = random.randint(3, 5)
    zones = {f"node-{next(names)}": zone for zone in ZONES for _ in range(per_zone)}
    disks = {
        node: [f"disk-{number}" for number in range(1, random.randint(1, 2) + 1)] for node in zones
    }
    classes = _draw_classes(random)
    tenants = _draw_tenants(random, zones, disks, classes)
    over_provisioning = random.choice([100, 100, 150])
    mode = random.choice([Mode.CAPACITY] * 4 + [Mode.NODE])
    plan = Plan(
        nodes=_draw_nodes(random, disks, tenants, over_provisioning),
        zones=zones,
        anti_affinity={
            "replica-soft-anti-affinity": draw_bool(random, 0.15),
            "replica-zone-soft-anti-affinity": draw_bool(random, 0.75),
        },
        allow_degraded=random.random() < 0.7,
        is_stale=random.random() < 0.4,
        over_provisioning=over_provisioning,
        instances=random.choice([2, 3, 3]),
        choosing_seconds=5,
        placing_seconds=5,
        mode=mode,
        scheduler=draw_scheduler(random, mode),
        classes=classes,
        disk_schedules=False,
        demand=0.0,
        faults=0,
    )
    returning = [_workload_of(each) for each in tenants if not each.node]
    return WorstDay(
        plan=plan, tenants=tenants, workloads=[*returning, *_draw_workloads(random, classes)]
    )


def _draw_classes(random: Random) -> dict[str, dict[str, str]]:
    classes = {}
    for locality in (BEST_EFFORT, DISABLED, STRICT_LOCAL):
        for replicas in (1,) if locality == STRICT_LOCAL else (1, 2, 3):
            parameters = {"dataLocality": locality, "numberOfReplicas": str(replicas)}
            if random.random() < 0.2:
                parameters["replicaZoneSoftAntiAffinity"] = random.choice(["enabled", "disabled"])
            classes[f"{locality}-{replicas}"] = parameters
    return classes


def _draw_tenants(
    random: Random,
    zones: Mapping[str, str],
    disks: Mapping[str, Sequence[str]],
    classes: Mapping[str, Mapping[str, str]],
) -> list[Tenant]:
    """Draw volumes with a replica in the zone that goes; most of their pods run elsewhere."""
    found = []
    is_same = random.random() < 0.3
    names = [name for name, each in classes.items() if each["numberOfReplicas"] in ("2", "3")]
    for number in range(1, random.randint(*TENANTS) + 1):
        storage_class = random.choice(names)
        replicas = int(classes[storage_class]["numberOfReplicas"])
        nodes = [
            random.choice([node for node, zone in zones.items() if zone == each])
            for each in (LOST, *random.sample(ZONES[:-1], replicas - 1))
        ]
        staying = [node for node in nodes if zones[node] != LOST]
        is_lost = random.random() < 0.1
        size = 4 * GIB if is_same else 2 * MIB * random.randint(512, 4096)
        found.append(
            Tenant(
                name=f"tenant{number}",
                storage_class=storage_class,
                size_bytes=size,
                replicas={node: random.choice(disks[node]) for node in nodes},
                node="" if is_lost else random.choice(staying),
            )
        )
    return found


def _draw_nodes(
    random: Random,
    disks: Mapping[str, Sequence[str]],
    tenants: Sequence[Tenant],
    over_provisioning: int,
) -> dict[str, dict[str, tuple[int, bool]]]:
    """Make disks as large as what is on them, and a little larger."""
    taken: dict[tuple[str, str], int] = {}
    for tenant in tenants:
        for where in tenant.replicas.items():
            taken[where] = taken.get(where, 0) + tenant.size_bytes
    return {
        node: {
            disk: (
                -(-taken.get((node, disk), 0) * 100 // (over_provisioning * GIB))
                + random.choice(SPARE_GIB),
                False,
            )
            for disk in names
        }
        for node, names in disks.items()
    }


def _workload_of(tenant: Tenant) -> Workload:
    """Return what makes the pod of a tenant again, which was in the zone that goes."""
    gib = -(-tenant.size_bytes // GIB)
    return Workload(
        name=tenant.name, is_stateful=True, claims=[(tenant.storage_class, gib)], pods=1
    )


def _draw_workloads(random: Random, classes: Mapping[str, Mapping[str, str]]) -> list[Workload]:
    """Draw StatefulSets with tens of pods, of which most find no room."""
    found = []
    left = random.randint(20, 40)
    for number in count(1):
        pods = min(left, random.choice([1, 2, 4, 8]))
        claims = [
            (random.choice([*classes]), random.randint(*random.choice(NEW_GIB)))
            for _ in range(random.choice([1, 1, 2, 3]))
        ]
        found.append(Workload(name=f"new{number}", is_stateful=True, claims=claims, pods=pods))
        left -= pods
        if not left:
            return found
    raise AssertionError("there is no last number")
