"""What there is in the cluster of a seed.

There are few names and few sizes, so that objects meet each other and volumes often just fit or
just do not.
"""

from collections.abc import Mapping, Sequence
from random import Random

import msgspec

from tests.comparing.objects import (
    GIB,
    NAMESPACE,
    Object,
    conditions,
    other,
    storage_class,
    thing,
)

NAME = "longhorn-scheduler-extender"
TAGS = ["ssd", "fast"]
IMAGES = ("image-0", "image-1")
LOCALITIES = ["best-effort"] * 5 + ["disabled"] * 2 + ["strict-local"] * 2
TIMEOUTS = {"scheduler-extender-node-reservation-timeout": "5"}
"""Said in both checkouts, whose defaults may differ."""


class Wanted(msgspec.Struct, frozen=True):
    """What a claim asks for."""

    storage_class: str
    size_bytes: int
    access: str


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What there is.

    Attributes:
        environment: Settings of the service.
        nodes: Longhorn's nodes when all is well with them, by name.
        classes: The parameters of StorageClasses, by name.
        claims: What they ask for, by name; those of one pod or of several.
        pods: Their claims, by name.
        settings: Those of Longhorn that differ from their defaults, by name.
        is_served: Whether there are DiskSchedules from the start.
    """

    environment: Mapping[str, str]
    nodes: Mapping[str, Object]
    classes: Mapping[str, Mapping[str, str]]
    claims: Mapping[str, Wanted]
    pods: Mapping[str, Sequence[str]]
    settings: Mapping[str, str]
    is_served: bool

    def facts(self, pod: str) -> list[str]:
        """Say what is particular about a request for a pod."""
        wanted = [self.claims[claim] for claim in self.pods[pod]]
        classes = [
            self.classes[each.storage_class]
            for each in wanted
            if each.storage_class in self.classes
        ]
        zones = {node["status"]["zone"] for node in self.nodes.values()}
        return sorted(
            {
                f"mode {self.environment['EXTENDER_RESERVATION_MODE']}",
                f"claims {len(wanted)}",
                f"zones {len(zones)}",
                *(f"locality {each.get('dataLocality', 'by setting')}" for each in classes),
                *(f"replicas {each.get('numberOfReplicas', 'by setting')}" for each in classes),
                *(f"access {each.access}" for each in wanted),
                *(["DiskSchedules"] if self.is_served else []),
            }
        )


def draw_plan(random: Random) -> Plan:
    """Draw what there is."""
    zones = random.choice([[""], ["a", "b"], ["a", "b", "c"]])
    nodes = {
        f"node-{number}": _node(f"node-{number}", random.choice(zones), random)
        for number in range(1, random.choice([1, 2, 3, 3, 4, 5]) + 1)
    }
    classes = {f"class-{number}": _parameters(random) for number in range(random.randint(2, 5))}
    names = [*classes] * 8 + ["foreign", "immediate"]
    pods: dict[str, list[str]] = {
        f"p-{pod}": [f"c-{pod}-{number}" for number in range(random.choice([1, 1, 1, 2, 2, 3, 4]))]
        for pod in range(8)
    }
    claims = {
        claim: Wanted(
            random.choice(names),
            _size_bytes(random),
            random.choice(["ReadWriteOnce"] * 8 + ["ReadWriteMany", "ReadWriteOncePod"]),
        )
        for names_of_pod in pods.values()
        for claim in names_of_pod
    }
    pods |= {"p-8": [], "p-9": [pods["p-0"][0], pods["p-1"][0]]}
    return Plan(
        environment=_environment(random),
        nodes=nodes,
        classes=classes,
        claims=claims,
        pods=pods,
        settings={name: value for name in SETTINGS for value in _drawn(name, random)},
        is_served=random.random() < 0.35,
    )


def _size_bytes(random: Random) -> int:
    if random.random() < 0.01:
        return 20 * 2**40  # more than a file of ext4 may have
    return random.choice([1, 1, 2, 2, 3, 4, 5, 7]) * GIB + random.choice([0, 0, 0, -1, 1])


def _drawn(name: str, random: Random) -> list[str]:
    return [random.choice(SETTINGS[name])] if random.random() < 0.35 else []


def _environment(random: Random) -> dict[str, str]:
    return {
        "EXTENDER_RESERVATION_MODE": random.choice(["capacity", "capacity", "capacity", "node"]),
        "EXTENDER_BALANCE": random.choice(["spread", "spread", "pack", "off"]),
        "EXTENDER_FILTER_WAIT_SECONDS": random.choice(["0", "1", "4"]),
        **({"EXTENDER_STEP_LIMIT": "2"} if random.random() < 0.05 else {}),
    }


SETTINGS: Mapping[str, Sequence[str]] = {
    "storage-over-provisioning-percentage": ["100", "150", "200", "60"],
    "storage-minimal-available-percentage": ["0", "10", "10", "40"],
    "replica-soft-anti-affinity": ["true", "false"],
    "replica-zone-soft-anti-affinity": ["true", "false", "false"],
    "replica-disk-soft-anti-affinity": ["true", "false", "false"],
    "allow-empty-node-selector-volume": ["true", "true", "false"],
    "allow-empty-disk-selector-volume": ["true", "true", "false"],
    "replica-auto-balance": ["disabled", "best-effort", "least-effort"],
    "replica-auto-balance-disk-pressure-percentage": ["90", "50", "0"],
    "replica-replenishment-wait-interval": ["600", "30", "0"],
    "node-drain-policy": ["always-allow", "block-for-eviction"],
    "fast-replica-rebuild-enabled": ["true", "false"],
    "allow-volume-creation-with-degraded-availability": ["true", "false", "false"],
    "concurrent-replica-rebuild-per-node-limit": ["5", "0"],
    "current-longhorn-version": ["v1.9.2", "v1.12.1"],
    "default-data-locality": ["disabled", "best-effort", "strict-local"],
    "default-replica-count": ["1", "2", "3"],
}
"""Values that they may have."""


def _parameters(random: Random) -> dict[str, str]:
    """Draw the parameters of a StorageClass; now and then Longhorn would refuse them."""
    locality = random.choice(LOCALITIES)
    replicas = "1" if locality == "strict-local" else random.choice(["1", "2", "2", "3"])
    given = {"dataLocality": locality, "numberOfReplicas": replicas}
    for parameter, values, probability in (
        ("nodeSelector", TAGS, 0.1),
        ("diskSelector", [*TAGS, "ssd,fast"], 0.15),
        ("replicaSoftAntiAffinity", ["enabled", "disabled"], 0.2),
        ("replicaZoneSoftAntiAffinity", ["enabled", "disabled"], 0.3),
        ("replicaDiskSoftAntiAffinity", ["enabled", "disabled"], 0.2),
        ("backingImage", IMAGES, 0.12),
        ("backingImageDataSourceType", ["download"], 0.05),
        ("dataEngine", ["v2"], 0.05),
        ("migratable", ["true"], 0.1),
        ("dataLayout.type", ["sharded"], 0.02),
        ("numberOfReplicas", ["2", "x"], 0.02),
    ):
        if random.random() < probability:
            given[parameter] = random.choice(values)
    for parameter in ("dataLocality", "numberOfReplicas"):
        if random.random() < 0.06:
            given.pop(parameter)
    return given


def _node(name: str, zone: str, random: Random) -> Object:
    disks = [f"disk-{number}" for number in range(1, random.choice([1, 1, 2, 2, 3]) + 1)]
    sizes = {disk: random.choice([6, 8, 8, 10, 12, 16, 24]) * GIB for disk in disks}
    return thing(
        "Node",
        name,
        spec={
            "allowScheduling": True,
            "evictionRequested": False,
            "tags": _some(TAGS, random),
            "disks": {
                disk: {
                    "diskType": random.choice(["filesystem"] * 12 + ["block"]),
                    "allowScheduling": True,
                    "evictionRequested": False,
                    "storageReserved": random.choice([0, 0, GIB]),
                    "tags": _some(TAGS, random),
                }
                for disk in disks
            },
        },
        status={
            "zone": zone,
            "region": "",
            "conditions": conditions(Ready="True", Schedulable="True"),
            "diskStatus": {
                disk: {
                    "diskUUID": f"uuid-{name}-{disk}",
                    "filesystemType": random.choice(["ext2/ext3", "xfs"]),
                    "storageMaximum": size,
                    "storageAvailable": size,
                    "storageScheduled": 0,
                    "scheduledReplica": {},
                    "conditions": conditions(Ready="True", Schedulable="True"),
                }
                for disk, size in sizes.items()
            },
        },
    )


def _some(values: Sequence[str], random: Random) -> list[str]:
    return random.choice([[*values], [*values], [values[0]], [values[1]], []])


def first_objects(plan: Plan) -> list[Object]:
    """Build what there is before anything happens."""
    address = {"podIP": "10.42.0.1", "podIPs": [{"ip": "10.42.0.1"}]}
    ports = [{"name": "http", "port": 9504, "protocol": "TCP", "targetPort": 9504}]
    service = {"type": "ClusterIP", "ipFamilies": ["IPv4"], "ports": ports}
    settings = {"storage-minimal-available-percentage": "10", **plan.settings}
    return [
        other("Service", NAME, NAMESPACE, spec=service),
        other("Pod", "extender-0", NAMESPACE, spec={"nodeName": "node-1"}, status=address),
        other("ConfigMap", NAME, NAMESPACE, data=TIMEOUTS),
        *plan.nodes.values(),
        *(thing("Setting", name, value=value) for name, value in settings.items()),
        *(storage_class(name, parameters) for name, parameters in plan.classes.items()),
        storage_class("foreign", {}, provisioner="example.com/nfs"),
        storage_class("immediate", {"numberOfReplicas": "2"}, volumeBindingMode="Immediate"),
        *(thing("BackingImage", name, spec={}, status={"realSize": GIB}) for name in IMAGES),
    ]
