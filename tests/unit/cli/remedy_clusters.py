"""Random small clusters as documents, in which a pod or a volume often finds no room.

Each aspect of a cluster (`ASPECTS`) is calm or rough for itself. What Longhorn publishes follows
from the rest: `plain_remedies` derives it.
"""

from collections.abc import Sequence
from random import Random
from typing import Any

from tests.builders import (
    ENGINE_IMAGE,
    GIB,
    MIB,
    conditions,
    core_document,
    csi_node_document,
    document,
    instance_manager_document,
    node_document,
)
from tests.unit.cli.plain_remedies import Cluster
from tests.unit.cli.situations import bound_claim, pod, storage_class
from tests.unit.cli.volumes import HEALTHY_AT, setting

FAILED_AT = "2026-01-02T00:00:00Z"
SWITCH = ("true", "false")
ROUGHNESS = (0.0, 0.0, 0.1, 0.3, 0.6)
ASPECTS = ("nodes", "disks", "room", "tags", "settings", "running", "affinity")
REPLICAS: tuple[dict[str, Any], ...] = (
    {},
    {"failedAt": FAILED_AT},
    {"healthyAt": ""},
    {"healthyAt": "", "failedAt": FAILED_AT},
    {"evictionRequested": True},
    {"nodeID": "", "diskID": "", "healthyAt": ""},
    {"failedAt": FAILED_AT, "rebuildRetryCount": 5},
)
"""What replicas of the volume in question are like: from the fifth on only if it is attached."""
SIZES = tuple(2 * MIB * number for number in (31, 777, 5120, 5119, 10_001))
DISKS = (20 * GIB, 30 * GIB, 50 * GIB + 4097, 100 * GIB - 12_345_678, 8 * GIB + 1)


def cluster_of(seed: int) -> list[dict[str, Any]]:
    """Make the cluster of a seed, the same each time: with a pod, or else with volume `vol`."""
    documents = _Maker(Random(seed)).cluster()
    _swap_disk(documents, Random(f"{seed} swapped"))
    return documents


def _swap_disk(documents: Sequence[Any], random: Random) -> None:
    """Let one of several replicas of the volume be on a disk that its node does not have."""
    own = [e for e in documents if e["kind"] == "Replica" and e["spec"]["volumeName"] == "vol"]
    if len(own) > 1 and random.random() < 0.1:
        random.choice(own)["spec"]["diskID"] = "uuid-swapped"


class _Maker:
    """Makes one cluster by chance alone; small ones are calm but for one aspect."""

    def __init__(self, random: Random) -> None:
        self.random, self.choice = random, random.choice
        self.roughness = {each: self.choice(ROUGHNESS) for each in ASPECTS}
        self.is_small = self.random.random() < 0.4
        if self.is_small:
            self.roughness = dict.fromkeys(ASPECTS, 0.0) | {self.choice(ASPECTS): 0.6}
        self.documents: list[dict[str, Any]] = []
        self.disks: list[tuple[str, str, int]] = []
        self.has_v2 = self.random.random() < 0.3

    def rough(self, aspect: str, share: float = 1.0) -> bool:
        return self.random.random() < self.roughness[aspect] * share

    def cluster(self) -> list[dict[str, Any]]:
        names = "abcde"[: self.random.randint(1, 2 if self.is_small else 5)]
        zones = "xyz"[: self.random.randint(1, 3)]
        for name in names:
            self.node(name, self.choice(zones))
        self.settings()
        for number, (node, disk, size) in enumerate(self.disks):
            if self.rough("room"):
                share = self.choice((0.5, 0.8, 0.9, 0.99, 1.0, 1.2))
                self.other(f"o{number}", node, disk, int(size * share) // (2 * MIB) * 2 * MIB)
        self.documents += [document("EngineImage", "ei", spec={"image": ENGINE_IMAGE}, status={
            "state": "deployed",
            "nodeDeploymentMap": {each: not self.rough("running") for each in names},
        })]  # fmt: skip
        if self.random.random() < 0.5:
            self.volume(names)
        else:
            self.pod(names)
        cluster = Cluster(self.documents)
        cluster.react()
        return cluster.documents

    def node(self, name: str, zone: str) -> None:
        evicted, closed, down = (self.rough("nodes", share) for share in (0.3, 0.3, 0.4))
        cordoned = self.rough("nodes", 0.5)
        disks, status = dict[str, Any](), dict[str, Any]()
        for number in range(1 if self.is_small else self.random.randint(1, 3)):
            disk = f"disk-{number}"
            disks[disk], status[disk] = self.disk(f"uuid-{name}-{number}", is_down=down)
            self.disks.append((name, status[disk]["diskUUID"], status[disk]["storageMaximum"]))
        ready = {"type": "Ready", "status": "False" if down else "True"}
        spec = {
            "allowScheduling": not (evicted or closed),
            "evictionRequested": evicted,
            "tags": self.tags(("fast", "big")),
            "disks": disks,
        }
        if down:
            ready |= {"reason": "KubernetesNodeNotReady"}
        told = {"conditions": [ready], "zone": zone, "diskStatus": status}
        taints = [("unschedulable", cordoned), ("unreachable", down and self.choice((True, False)))]
        taints += [("dedicated", self.rough("nodes", 0.2))]
        kubernetes = {
            "unschedulable": cordoned,
            "taints": [
                {"key": f"node.kubernetes.io/{key}", "effect": "NoSchedule"}
                for key, is_there in taints
                if is_there
            ],
        }
        self.documents += [
            node_document(name, spec=spec, status=told),
            core_document("Node", name, spec=kubernetes),
            csi_node_document(name),
        ]
        for engine in ("v1", "v2") if self.has_v2 else ("v1",):
            if not (down or self.rough("running")):
                state = "error" if self.rough("running", 0.3) else "running"
                self.documents += [instance_manager_document(name, engine, state=state)]

    def disk(self, uuid: str, *, is_down: bool) -> tuple[dict[str, Any], dict[str, Any]]:
        evicted, closed = (self.rough("disks", 0.3) for _ in range(2))
        broken = not is_down and self.rough("disks", 0.4)
        size = self.choice(DISKS)
        left = size - int(size * self.choice((0.5, 0.8, 0.97, 1)) * self.rough("room", 0.5))
        ready = conditions(Ready="False" if broken else "True")
        if broken:
            ready[0]["reason"] = self.choice(("DiskFilesystemChanged", "NoDiskInfo"))
            size = self.choice((size, 0))
        spec = {
            "allowScheduling": not (evicted or closed),
            "evictionRequested": evicted,
            "diskType": "block" if self.has_v2 and self.choice((True, False)) else "filesystem",
            "storageReserved": int(size * self.choice((0.1, 0.3, 0.7, 1)) * self.rough("room")),
            "tags": self.tags(("ssd", "nvme")),
        }
        return spec, {
            "diskUUID": uuid,
            "filesystemType": "ext2/ext3",
            "conditions": ready,
            "storageMaximum": size,
            "storageAvailable": min(size, left),
        }

    def tags(self, of: Sequence[str]) -> list[str]:
        return [each for each in of if self.rough("tags")]

    def settings(self) -> None:
        for name, values in (
            ("storage-over-provisioning-percentage", ("200", "50", "100")),
            ("storage-minimal-available-percentage", ("10", "0", "40")),
            ("allow-empty-node-selector-volume", SWITCH),
            ("allow-empty-disk-selector-volume", SWITCH),
            ("disable-scheduling-on-cordoned-node", SWITCH),
            ("replica-soft-anti-affinity", SWITCH),
            ("replica-zone-soft-anti-affinity", SWITCH),
            ("replica-disk-soft-anti-affinity", SWITCH),
            ("allow-volume-creation-with-degraded-availability", SWITCH),
        ):
            is_about_places = self.is_small and ("anti" in name or "degraded" in name)
            if is_about_places or self.rough("settings"):
                self.documents += [setting(name, self.choice(values))]
        self.documents += [setting("v2-data-engine", "true")] * self.has_v2

    def other(self, name: str, node: str, disk: str, size: int) -> None:
        """Make a volume of which one replica is here, failed or not, and perhaps another one."""
        if not size:
            return
        places = [(node, disk), *(each[:2] for each in self.random.sample(self.disks, 1))]
        for number, (at, on) in enumerate(places):
            if number == 0 or self.choice((True, False)):
                failed = {"failedAt": FAILED_AT} if self.rough("room", 0.7) else {}
                self.replica(name, number, size, nodeID=at, diskID=on, **failed)
        self.documents += [document("Volume", name, spec={
            "size": str(size), "dataLocality": "disabled", "numberOfReplicas": 1,
        }, status={"state": "detached", "robustness": "unknown"})]  # fmt: skip

    def replica(self, of: str, number: int, size: int, **spec: Any) -> None:
        fields = {"volumeName": of, "volumeSize": str(size), "active": True}
        fields |= {"healthyAt": HEALTHY_AT}
        self.documents += [document("Replica", f"{of}-r-{number}", spec=fields | spec)]

    def affinities(self) -> dict[str, str]:
        return {
            f"replica{what}SoftAntiAffinity": self.choice(("enabled", "disabled"))
            for what in ("", "Zone", "Disk")
            if self.rough("affinity")
        }

    def volume(self, names: str, name: str = "vol", *, is_idle: bool = False) -> None:
        """Make a volume with some of its replicas."""
        size, locality = self.choice(SIZES), self.choice(("disabled", "disabled", "best-effort"))
        wanted = self.random.randint(1, 3)
        if self.rough("affinity", 0.3):
            locality, wanted = "strict-local", 1
        at = "" if is_idle else self.choice((*names, ""))
        robustness = self.choice(("degraded", "degraded", "degraded", "healthy"))
        fields = {
            "size": str(size),
            "dataLocality": locality,
            "numberOfReplicas": wanted,
            "dataEngine": "v2" if self.has_v2 and self.choice((True, False)) else "v1",
            "image": ENGINE_IMAGE,
            "nodeID": at,
            "nodeSelector": self.tags(("fast", "big")),
            "diskSelector": self.tags(("ssd", "nvme")),
        }
        actual = self.choice((0, size // 2, size, size * 2, size * 3)) // 4096 * 4096
        self.documents += [document("Volume", name, spec=fields | self.affinities(), status={
            "state": "attached" if at else "detached",
            "robustness": robustness if at else "unknown",
            "currentNodeID": at,
            "actualSize": str(actual),
            "lastDegradedAt": FAILED_AT,
        })]  # fmt: skip
        there = self.random.sample(self.disks, min(len(self.disks), self.random.randint(0, wanted)))
        for number, (node, disk, _) in enumerate(there):
            spec = self.choice(({}, {}, *REPLICAS[: None if at else 4]))
            self.replica(name, number, size, **{"nodeID": node, "diskID": disk} | spec)

    def pod(self, names: str) -> None:
        """Make a pod with claims, bound or not."""
        claims = ["data", "logs"][: self.random.randint(1, 2)]
        parameters = {
            "numberOfReplicas": str(self.random.randint(1, 3)),
            "dataLocality": self.choice(("disabled", "best-effort", "best-effort")),
            "nodeSelector": ",".join(self.tags(("fast", "big"))),
            "diskSelector": ",".join(self.tags(("ssd", "nvme"))),
        } | self.affinities()
        if self.rough("affinity", 0.3):
            parameters |= {"numberOfReplicas": "1", "dataLocality": "strict-local"}
        parameters = {key: value for key, value in parameters.items() if value}
        for name in claims:
            if self.random.random() < 0.3:
                self.documents += bound_claim(name)
                self.volume(names, f"vol-{name}", is_idle=True)
                continue
            self.documents += [core_document(
                "PersistentVolumeClaim", name, metadata={"uid": f"uid-{name}"}, spec={
                    "storageClassName": "fast",
                    "resources": {"requests": {"storage": str(self.choice(SIZES))}},
                },
            )]  # fmt: skip
        self.documents += [storage_class(**parameters), pod(claims=claims)]
