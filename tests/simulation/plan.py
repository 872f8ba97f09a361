"""What kind of world a seed makes: hardware, settings, schedulers, and what users want of it."""

from collections.abc import Mapping
from random import Random
from types import MappingProxyType

import msgspec

from extender import Mode
from tests.actors.api import Object
from tests.actors.longhorn import DiskSpec, longhorn_node, storage_class
from tests.actors.longhorn.records import BEST_EFFORT, DISABLED, STRICT_LOCAL
from tests.actors.scheduler import Choice, Configuration
from tests.fakes.installed import NAMESPACE

GIB = 2**30
SSD = "ssd"
NO_BLOCKS: Mapping[str, Mapping[str, int]] = MappingProxyType({})
NO_CLONES: Mapping[str, Mapping[str, str]] = MappingProxyType({})


class Plan(msgspec.Struct, frozen=True, kw_only=True, repr_omit_defaults=True):
    """A world; sizes are in gibibytes.

    Attributes:
        nodes: By node, its disks: sizes and tags.
        zones: By node, its zone; "" if nodes have none.
        anti_affinity: Longhorn's settings of which nodes and zones replicas may share, by name.
        allow_degraded: Longhorn's setting of whether volumes start with fewer replicas.
        is_stale: Whether Longhorn places replicas by figures that lag, as it does.
        over_provisioning: Longhorn's setting, in percent.
        instances: How many of our service run.
        choosing_seconds: The live setting of how long a hold stands without a node.
        placing_seconds: The live setting of how long it stands after binding.
        mode: How holds count.
        scheduler: How kube-scheduler is set up.
        classes: The parameters of the StorageClasses that users use, by name.
        disk_schedules: Whether Longhorn asks DiskSchedules for room.
        demand: How much users want, as a part of what there is.
        faults: How many faults there are in a minute.
        blocks: By node, its disks of type block, and their sizes: data engine v2 uses them.
        clones: The parameters of the StorageClasses for linked clones, by name.
    """

    nodes: Mapping[str, Mapping[str, tuple[int, bool]]]
    zones: Mapping[str, str]
    anti_affinity: Mapping[str, str]
    allow_degraded: bool
    is_stale: bool
    over_provisioning: int
    instances: int
    choosing_seconds: int
    placing_seconds: int
    mode: Mode
    scheduler: Configuration
    classes: Mapping[str, Mapping[str, str]]
    disk_schedules: bool
    demand: float
    faults: float
    blocks: Mapping[str, Mapping[str, int]] = NO_BLOCKS
    clones: Mapping[str, Mapping[str, str]] = NO_CLONES

    @property
    def largest_gib(self) -> int:
        """The largest volume that some disk takes."""
        largest = max(size for disks in self.nodes.values() for size, _ in disks.values())
        return largest * self.over_provisioning // 100

    @property
    def total_gib(self) -> int:
        total = sum(size for disks in self.nodes.values() for size, _ in disks.values())
        return total * self.over_provisioning // 100

    @property
    def keeps_holds(self) -> bool:
        """Whether the settings let the service hold anything for longer than an answer takes."""
        return self.choosing_seconds > 0 and self.placing_seconds > 0


def draw_plan(random: Random, *, disk_schedules: bool) -> Plan:
    """Draw a world; all but *disk_schedules* is left to chance."""
    has_ssd = random.random() < 0.25
    nodes = {
        f"node-{number}": {
            f"disk-{disk}": (random.choice([20, 40, 60, 100, 150]), has_ssd and disk == 1)
            for disk in range(1, random.randint(1, 4) + 1)
        }
        for number in range(1, random.randint(2, 6) + 1)
    }
    zones = random.choice([[""], ["zone-a", "zone-b"], ["zone-a", "zone-b", "zone-c"]])
    impatient = random.random() < 0.1
    mode = random.choice([Mode.CAPACITY] * 3 + [Mode.NODE])
    return Plan(
        nodes=nodes,
        zones={name: random.choice(zones) for name in nodes},
        anti_affinity={
            "replica-soft-anti-affinity": draw_bool(random, 0.15),
            "replica-zone-soft-anti-affinity": draw_bool(random, 0.65),
        },
        allow_degraded=random.random() < 0.7,
        is_stale=random.random() < 0.6,
        over_provisioning=random.choice([100, 100, 100, 150, 200]),
        instances=random.choice([2, 3, 3]),
        choosing_seconds=random.choice([0, 1]) if impatient else 5,
        placing_seconds=random.choice([0, 1, 5]) if impatient else 60,
        mode=mode,
        scheduler=draw_scheduler(random, mode),
        classes=_draw_classes(random, has_ssd=has_ssd),
        disk_schedules=disk_schedules,
        demand=random.uniform(0.3, 1.3),
        faults=random.choice([0, 6, 12, 12, 20]),
    )


def with_v2(plan: Plan, random: Random) -> Plan:
    """Return a world where data engine v2 is used beside v1, and volumes of it are cloned."""
    names = random.sample(sorted(plan.nodes), random.randint(1, len(plan.nodes)))
    blocks = {
        name: {
            f"block-{disk}": random.choice([20, 40, 60, 100, 150])
            for disk in range(1, random.randint(1, 3) + 1)
        }
        for name in sorted(names)
    }
    classes = {f"v2-{name}": parameters for name, parameters in _draw_v2_classes(random).items()}
    clones = {
        f"clone-{name}": {**parameters, "cloneMode": "linked-clone"}
        for name, parameters in _draw_v2_classes(random).items()
    }
    return msgspec.structs.replace(
        plan, blocks=blocks, classes={**plan.classes, **classes}, clones=clones
    )


def longhorn_nodes(plan: Plan) -> list[Object]:
    """Build Longhorn's Nodes."""
    return [
        longhorn_node(
            name,
            {
                disk: DiskSpec(size_bytes=gib * GIB, tags=(SSD,) if is_ssd else ())
                for disk, (gib, is_ssd) in disks.items()
            }
            | {
                disk: DiskSpec(size_bytes=gib * GIB, is_block=True)
                for disk, gib in plan.blocks.get(name, {}).items()
            },
            zone=plan.zones[name],
        )
        for name, disks in plan.nodes.items()
    ]


def storage_classes(plan: Plan) -> list[Object]:
    classes = {**plan.classes, **plan.clones}
    return [storage_class(name, **parameters) for name, parameters in classes.items()]


def settings(plan: Plan) -> Mapping[str, str]:
    """Return Longhorn's settings that differ from their defaults."""
    return {
        "storage-over-provisioning-percentage": str(plan.over_provisioning),
        "storage-minimal-available-percentage": "10",
        "allow-volume-creation-with-degraded-availability": str(plan.allow_degraded).lower(),
        **plan.anti_affinity,
    }


def live_settings(plan: Plan) -> Object:
    """Build our ConfigMap."""
    seconds = {
        "scheduler-extender-pod-scheduling-timeout": plan.choosing_seconds,
        "scheduler-extender-node-reservation-timeout": plan.placing_seconds,
    }
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "longhorn-scheduler-extender", "namespace": NAMESPACE},
        "data": {name: str(value) for name, value in seconds.items()},
    }


def draw_scheduler(random: Random, mode: Mode) -> Configuration:
    """Draw kube-scheduler's configuration; in mode `node` it must let answers wait for longer."""
    drawn = Configuration(
        http_timeout_seconds=10.0 if mode is Mode.NODE else 5.0,
        node_cache_capable=random.random() < 0.8,
        nominates=random.random() < 0.75,
        status_delay=random.choice([None, None, None, (0.0, 0.5)]),
        choice=random.choice(list(Choice)),
    )
    # Scores lead to good nodes; without them the others try bad ones, too.
    weight = drawn.score_weight if drawn.choice is Choice.SPREAD else 0
    return msgspec.structs.replace(drawn, score_weight=weight)


def _draw_classes(random: Random, *, has_ssd: bool) -> dict[str, dict[str, str]]:
    classes = {}
    for number in range(1, random.randint(2, 5) + 1):
        locality = random.choice([BEST_EFFORT] * 5 + [DISABLED] * 3 + [STRICT_LOCAL] * 2)
        replicas = 1 if locality == STRICT_LOCAL else random.choice([1, 1, 2, 2, 3])
        parameters = {"dataLocality": locality, "numberOfReplicas": str(replicas)}
        for parameter, probability in (
            ("replicaZoneSoftAntiAffinity", 0.4),
            ("replicaSoftAntiAffinity", 0.2),
        ):
            if random.random() < probability:
                parameters[parameter] = random.choice(["enabled", "disabled"])
        if has_ssd and random.random() < 0.3:
            parameters["diskSelector"] = SSD
        classes[f"{locality}-{replicas}-{number}"] = parameters
    return classes


def _draw_v2_classes(random: Random) -> dict[str, dict[str, str]]:
    drawn = _draw_classes(random, has_ssd=False)
    return {name: {**parameters, "dataEngine": "v2"} for name, parameters in drawn.items()}


def draw_bool(random: Random, probability: float) -> str:
    """Draw a setting of Longhorn's."""
    return str(random.random() < probability).lower()
