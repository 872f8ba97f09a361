"""Random clusters, workloads and steps: all that one seed says, made before anything is planned."""

from collections.abc import Iterable
from random import Random
from typing import Any

import msgspec

from extender.kubernetes import StorageClass
from longhorn import Disk, Locality, Node, Replica
from planner.additions import Wanted
from planner.cluster import Cluster
from planner.plan import Step
from planner.records import CPU, MEMORY, PODS, Budget, KubernetesNode, Selector, Wishes
from planner.steps.disks import AddDisk, RemoveDisk
from planner.steps.draining import Drain
from planner.steps.nodes import AddNode, Cordon, LoseNode
from planner.steps.settings import ChangeSetting
from planner.steps.volumes import Resize
from planner.steps.workloads import Fill, PlaceWorkloads
from planner.workloads import DEPLOYMENT, JOB, STATEFUL_SET, NewClaim, Workload
from tests.builders import (
    GIB,
    bound,
    disk,
    node,
    replica,
    setting,
    storage_class,
    volume,
)
from tests.unit.planner.clusters import fill, pod_with

_SWITCHES = (
    "replica-soft-anti-affinity",
    "replica-zone-soft-anti-affinity",
    "replica-disk-soft-anti-affinity",
    "allow-empty-disk-selector-volume",
    "allow-empty-node-selector-volume",
    "disable-scheduling-on-cordoned-node",
)
_POLICIES = (
    "block-if-contains-last-replica",
    "block-for-eviction",
    "block-for-eviction-if-contains-last-replica",
    "allow-if-replica-is-stopped",
    "always-allow",
)
_ZONES, _TAGS = "abc", ((), (), (), ("ssd",))
_CLASSES = 3


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster and what is planned with it."""

    records: tuple[Any, ...]
    budgets: tuple[Budget, ...]
    steps: tuple[Step, ...]
    in_flight: int


def scenario_of(seed: int) -> Scenario:
    """Make the scenario of a seed."""
    random = Random(seed)
    names = [f"node-{number}" for number in range(1, random.randint(3, 6) + 1)]
    records = [record for name in names for record in _node(name, random)]
    records += [
        setting(name, random.choice(["true", "false"])) for name in _some(_SWITCHES, random)
    ]
    records += [
        setting("node-drain-policy", random.choice(_POLICIES)),
        setting("storage-over-provisioning-percentage", random.choice(["100", "100", "200"])),
    ]
    classes = [_storage_class(number, random) for number in range(_CLASSES)]
    disks = {each.name: each.disks for each in records if isinstance(each, Node)}
    for number in range(random.randint(0, 5)):
        records += _running(f"old-{number}", names, disks, random)
    records = _listed(records, random)
    budgets = [
        Budget(
            namespace="default",
            name="budget",
            selector=Selector(labels={"app": "old"}),
            most_unavailable=random.choice(["1", "50%"]),
        )
    ]
    return Scenario(
        records=tuple(records),
        budgets=tuple(budgets if random.random() < 0.4 else []),
        steps=tuple(_step(number, names, classes, random) for number in range(7)),
        in_flight=random.choice([1, 3, 20]),
    )


def fill_cluster(cluster: Cluster, scenario: Scenario, order: Random | None = None) -> None:
    """Put the objects of a scenario into *cluster*, in another order if one is given."""
    records = [*scenario.records]
    if order is not None:
        order.shuffle(records)
    fill(cluster, records)
    cluster.budgets += scenario.budgets


def _node(name: str, random: Random) -> list[Any]:
    zone, cordoned = random.choice(_ZONES), random.random() < 0.1
    labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone}
    disks = [
        disk(
            f"{name}-{number}",
            maximum_bytes=random.choice([40, 80, 80, 150]) * GIB,
            reserved_bytes=random.choice([0, 0, 10]) * GIB,
            tags=random.choice(_TAGS),
            scheduled_bytes=random.choice([0, 0, 15]) * GIB,
        )
        for number in range(random.randint(1, 3))
    ]
    return [
        KubernetesNode(
            name=node(name).name,
            labels=labels,
            cordoned=cordoned,
            allocatable={CPU: random.choice([2000, 8000]), MEMORY: 16 * GIB, PODS: 30},
        ),
        node(name, *disks, zone=zone, tags=random.choice(_TAGS), schedulable=not cordoned),
        pod_with(
            name=f"agent-{name}",
            on=name,
            owner=("DaemonSet", "agent"),
            of_daemon_set=True,
            requests={CPU: 200},
        ),
    ]


def _running(name: str, names: list[str], disks: Any, random: Random) -> list[Any]:
    """Make a pod that runs, or ran, with a volume and healthy replicas of it."""
    copies = random.sample(names, random.randint(1, 3))
    is_strict = random.random() < 0.2
    copies = copies[:1] if is_strict else copies
    on = copies[0] if random.random() < 0.7 else None
    of = volume(
        name,
        size_bytes=random.choice([5, 10]) * GIB,
        locality=(
            Locality.STRICT_LOCAL
            if is_strict
            else random.choice([Locality.BEST_EFFORT, Locality.DISABLED])
        ),
        replicas=len(copies),
        node=on,
        attached_to=on,
        healthy=on is not None,
    )
    placed = [
        replica(
            f"{name}-r-{copy}",
            of=name,
            on=copy,
            disk=random.choice(disks[copy]).name,
            size_bytes=of.size_bytes,
            started=on is not None,
        )
        for copy in copies
    ]
    owner = ("StatefulSet", "old") if random.random() < 0.8 else None
    pods = [pod_with(name, name=name, on=on, owner=owner, labels={"app": "old"})] if on else []
    return [*bound(of), *placed, *pods]


def _listed(records: list[Any], random: Random) -> list[Any]:
    """Have the disks list most of their replicas."""
    replicas = [each for each in records if isinstance(each, Replica) and random.random() < 0.8]

    def filled(each: Disk) -> Disk:
        here = {r.name: r.size_bytes for r in replicas if r.disk == each.id}
        scheduled_bytes = each.scheduled_bytes + sum(here.values())
        return msgspec.structs.replace(each, listed=here, scheduled_bytes=scheduled_bytes)

    return [
        msgspec.structs.replace(each, disks=tuple(map(filled, each.disks)))
        if isinstance(each, Node)
        else each
        for each in records
    ]


def _storage_class(number: int, random: Random) -> StorageClass:
    locality = random.choice(["disabled", "best-effort", "best-effort", "strict-local"])
    parameters = {
        "dataLocality": locality,
        "numberOfReplicas": "1" if locality == "strict-local" else random.choice("123"),
    }
    if random.random() < 0.2:
        parameters["diskSelector"] = "ssd"
    if random.random() < 0.2:
        parameters["nodeSelector"] = "ssd"
    if random.random() < 0.2:
        parameters["replicaZoneSoftAntiAffinity"] = random.choice(["enabled", "disabled"])
    made = storage_class(f"class-{number}", **parameters)
    return msgspec.structs.replace(made, is_immediate=random.random() < 0.2)


def _step(number: int, names: list[str], classes: list[StorageClass], random: Random) -> Step:
    some, size = random.choice(names), random.choice([20, 30, 100]) * GIB
    old, new = f"old-{random.randint(0, 4)}", f"data-new-0-{random.randint(0, 1)}"
    wanted = _wanted(number, classes, random)
    several = tuple(random.sample(names, random.randint(1, 2)))
    place = PlaceWorkloads(wanted=wanted)
    steps: list[Step] = [
        place,
        place,
        place,
        Fill(wanted=wanted, group=3, most=6),
        Drain(nodes=several, force=random.random() < 0.7),
        LoseNode(nodes=(some,)),
        RemoveDisk(node=some, disk=f"{some}-{random.randint(0, 1)}"),
        AddDisk(node=some, disk=f"more-{number}", size_bytes=size),
        AddNode(name=f"more-{number}", like=some),
        Cordon(nodes=(some,)),
        Cordon(nodes=several, is_cordoned=False),
        Resize(claim=f"default/{random.choice([old, new])}", size_bytes=size),
        _setting(random),
    ]
    return place if number == 0 else random.choice(steps)


def _setting(random: Random) -> ChangeSetting:
    name, values = random.choice(
        [
            *((name, ("true", "false")) for name in _SWITCHES),
            ("node-drain-policy", _POLICIES),
            ("storage-over-provisioning-percentage", ("50", "100", "150")),
            ("storage-minimal-available-percentage", ("10", "25")),
            ("concurrent-replica-rebuild-per-node-limit", ("0", "5")),
        ]
    )
    return ChangeSetting(name=name, value=random.choice(values))


def _wanted(number: int, classes: list[StorageClass], random: Random) -> Wanted:
    kind = random.choice([STATEFUL_SET, STATEFUL_SET, DEPLOYMENT, JOB])
    claim = NewClaim(
        namespace="default",
        name="data",
        requested_bytes=random.choice([5, 15, 30]) * GIB,
        storage_class=random.choice(classes).name,
    )
    workload = Workload(
        kind=kind,
        namespace="default",
        name=f"new-{number}",
        replicas=random.randint(1, 5),
        wishes=Wishes(labels={"app": "new"}, requests={CPU: random.choice([0, 500, 1500])}),
        claim_templates=(claim,) if kind == STATEFUL_SET else (),
        volumes=() if kind == STATEFUL_SET else (claim,),
        ordered=kind == STATEFUL_SET and random.random() < 0.5,
    )
    return Wanted(objects=(*classes, workload))


def _some(names: Iterable[str], random: Random) -> list[str]:
    return [name for name in names if random.random() < 0.3]
