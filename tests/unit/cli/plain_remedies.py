"""What people do for each remedy, and what Longhorn makes of it: a second, plain writing.

It knows only objects in JSON, and the figures of a remedy as they are told. Each change passes the
webhook first.

Sources: longhorn-manager webhook/resources/{node,volume,setting}/validator.go Update, that of
replicas Delete, datastore IsAvailableHealthyReplica, and controller/node_controller.go
SetSchedulableCondition, markAllDisksNotReadyWhenNodeNotReady, updateDiskStatusSchedulableCondition.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tests.builders import (
    GIB,
    MIB,
    TIB,
    core_document,
    csi_node_document,
    document,
    instance_manager_document,
    node_document,
)

Object = dict[str, Any]
Figures = Mapping[str, str]
_TAG = re.compile(r"[A-Za-z0-9_.\-]+")
_NUMBERS = {
    "storage-over-provisioning-percentage": (0, 2**63),
    "storage-minimal-available-percentage": (0, 100),
}
_DEFAULTS = {
    "storage-over-provisioning-percentage": "100",
    "storage-minimal-available-percentage": "25",
    "v2-data-engine": "false",
    "disable-scheduling-on-cordoned-node": "true",
}
_BOOLEANS = ("1", "t", "T", "TRUE", "true", "True", "0", "f", "F", "FALSE", "false", "False")


class RefusedError(Exception):
    """Longhorn's webhook, or Kubernetes, does not take a change."""


class Cluster:
    """Objects in JSON, and what is done with them."""

    def __init__(self, documents: Sequence[Object]) -> None:
        self.documents: list[Object] = json.loads(json.dumps([*documents]))

    def of(self, kind: str, *, is_longhorn: bool = True) -> Iterator[Object]:
        """Yield the objects of a kind."""
        for each in self.documents:
            if each["kind"] == kind and each["apiVersion"].startswith("longhorn") == is_longhorn:
                yield each

    def get(self, kind: str, name: str, *, is_longhorn: bool = True) -> Object:
        """Return the object of a name, which is NAMESPACE/NAME of what is no object of Longhorn."""
        name = name.rpartition("/")[2]
        [found] = [e for e in self.of(kind, is_longhorn=is_longhorn) if _name(e) == name]
        return found

    def disk_status(self, figures: Figures) -> Object:
        """Return the status of a disk."""
        node = self.get("Node", figures["node"])
        found: Object = node["status"]["diskStatus"][figures["disk"]]
        return found

    def setting(self, name: str) -> str:
        """Return the value of a setting."""
        found = (str(each["value"]) for each in self.of("Setting") if _name(each) == name)
        return next(found, _DEFAULTS[name])

    def do(self, code: str, figures: Figures) -> None:
        """Do what a remedy says, and let Longhorn react."""
        if code.startswith("share_"):
            _share(self, code, figures)
        else:
            _DONE[code](self, figures)
        self.react()

    def change_node(self, name: str, change: Callable[[Object], None]) -> None:
        """Change the spec of a Longhorn Node."""
        node = self.get("Node", name)
        old = json.loads(json.dumps(node["spec"]))
        change(node["spec"])
        new, status = node["spec"], node["status"]["diskStatus"]
        _require(not (new["evictionRequested"] and new["allowScheduling"]), "node is evicted")
        _require(old["disks"].keys() == status.keys(), "disks are being synced")
        _require(all(map(_TAG.fullmatch, new["tags"])), "tags")
        for disk in new["disks"].values():
            _require(not (disk["evictionRequested"] and disk["allowScheduling"]), "disk is evicted")
            _require(disk["storageReserved"] >= 0, "storageReserved")
            _require(all(map(_TAG.fullmatch, disk["tags"])), "tags")
            is_v1 = disk["diskType"] != "block"
            _require(is_v1 or self.setting("v2-data-engine") == "true", "v2 is off")
        for disk, spec in old["disks"].items():
            if disk not in new["disks"]:
                is_used = spec["allowScheduling"] or status[disk]["storageScheduled"]
                _require(not is_used, "disable the disk and remove all replicas first")
            else:
                _require(spec["diskType"] == new["disks"][disk]["diskType"], "diskType")

    def change_disk(self, figures: Figures, **fields: Any) -> None:
        """Change the spec of a disk."""
        self.change_node(
            figures["node"], lambda spec: spec["disks"][figures["disk"]].update(fields)
        )

    def change_volume(self, name: str, **fields: Any) -> None:
        """Change the spec of a Volume."""
        spec = self.get("Volume", name)["spec"]
        spec.update(fields)
        count = spec["numberOfReplicas"]
        _require(1 <= count <= 20, "numberOfReplicas")
        _require(spec["dataLocality"] != "strict-local" or count == 1, "strict-local")

    def set(self, name: str, value: str) -> None:
        """Set a setting of Longhorn's."""
        least, most = _NUMBERS.get(name, (0, 0))
        is_right = least <= int(value) <= most if name in _NUMBERS else value in _BOOLEANS
        _require(is_right, f"{name} {value}")
        self.documents = [
            e for e in self.documents if not (e["kind"] == "Setting" and _name(e) == name)
        ] + [document("Setting", name, value=value)]

    def delete_replica(self, name: str) -> None:
        """Delete a Replica."""
        replica = self.get("Replica", name)
        of = replica["spec"]["volumeName"]
        available = {
            _name(each)
            for each in self.of("Replica")
            if each["spec"]["volumeName"] == of
            and each["spec"].get("healthyAt")
            and not (each["spec"].get("failedAt") or each["spec"].get("evictionRequested"))
        }
        is_there = any(_name(each) == of for each in self.of("Volume"))
        _require(not is_there or available != {name}, "no other healthy replica")
        self.documents.remove(replica)

    def add_disk(self, node: str, disk: str, size: int, like: Object) -> None:
        """Add an empty disk, or one more under the name of one that was removed."""
        spec = {
            "allowScheduling": True,
            "evictionRequested": False,
            "diskType": "filesystem",
            "storageReserved": 0,
            "tags": [],
        } | like
        self.change_node(node, lambda of: of["disks"].update({disk: spec}))
        self.get("Node", node)["status"]["diskStatus"][disk] = {
            "diskUUID": f"uuid-new-{node}-{disk}",
            "filesystemType": "ext2/ext3",
            "conditions": [{"type": "Ready", "status": "True"}],
            "storageMaximum": size,
            "storageAvailable": size,
        }

    def run(self, node: str) -> None:
        """Let the instance managers run on a node, unless those of no node are known."""
        if not any(self.of("InstanceManager")):
            return
        for engine in ("v1", "v2") if self.setting("v2-data-engine") == "true" else ("v1",):
            new = instance_manager_document(node, engine)
            self.documents = [e for e in self.documents if _name(e) != _name(new)] + [new]

    def deploy(self, node: str, image: str = "") -> None:
        """Let an engine image run on a node, all unless one is named."""
        for each in self.of("EngineImage"):
            if image in ("", each["spec"]["image"]):
                each["status"]["nodeDeploymentMap"][node] = True

    def react(self) -> None:
        """Let Longhorn publish anew what follows from the objects."""
        is_minded = self.setting("disable-scheduling-on-cordoned-node") == "true"
        cordoned = {
            _name(each): is_minded and each["spec"].get("unschedulable", False)
            for each in self.of("Node", is_longhorn=False)
        }
        for node in self.of("Node"):
            status = node["status"]
            ready = _condition(status, "Ready")
            why = "KubernetesNodeCordoned" if cordoned[_name(node)] else ""
            status["conditions"] = [ready, _false("Schedulable", why)]
            for disk, found in status["diskStatus"].items():
                self._react(node["spec"]["disks"][disk], found, ready["status"] == "True")

    def _react(self, spec: Object, status: Object, is_node_ready: bool) -> None:  # noqa: FBT001
        ready, why = _condition(status, "Ready"), ""
        if not is_node_ready:
            ready, why = _false("Ready", "NodeNotReady"), "NodeNotReady"
        elif ready.get("reason") == "NodeNotReady":
            ready = _false("Ready", "")
        if ready["status"] == "True":
            there = {
                _name(each): int(each["spec"]["volumeSize"])
                for each in self.of("Replica")
                if each["spec"].get("diskID") == status["diskUUID"]
            }
            status.update(storageScheduled=sum(there.values()), scheduledReplica=there)
            why = "" if self._has_room(spec, status) else "DiskPressure"
        elif is_node_ready:
            status.update(storageScheduled=0, scheduledReplica={})
            why = "DiskNotReady"
        status["conditions"] = [ready, _false("Schedulable", why)]

    def _has_room(self, spec: Object, status: Object) -> bool:
        size, left = status["storageMaximum"], status["storageAvailable"]
        minimal = int(size * float(self.setting("storage-minimal-available-percentage")) / 100)
        over = float(self.setting("storage-over-provisioning-percentage"))
        limit = int((size - spec["storageReserved"]) * over / 100)
        return bool(size > 0 and left > minimal and status["storageScheduled"] <= limit)


def apply(documents: Sequence[Object], steps: Sequence[Mapping[str, Any]]) -> list[Object]:
    """Return the cluster once all is done that a remedy says.

    Raises:
        RefusedError: Longhorn does not take it.
    """
    cluster = Cluster(documents)
    for each in steps:
        cluster.do(each["code"], each["figures"])
    return cluster.documents


def _name(each: Object) -> str:
    return str(each["metadata"]["name"])


def _require(is_right: object, why: str) -> None:
    if not is_right:
        raise RefusedError(why)


def _condition(status: Object, kind: str) -> Object:
    return next(each for each in status["conditions"] if each["type"] == kind)


def _false(kind: str, why: str) -> Object:
    """Return a condition that is False if there is a reason, else True."""
    return {"type": kind, "status": "False" if why else "True", "reason": why}


def bytes_of(text: str) -> int:
    """Return a size as a text says it, in whole bytes."""
    number, unit = text.split()
    return round(float(number) * {"MiB": MIB, "GiB": GIB}[unit])


def _tags(text: str) -> list[str]:
    return [tag for tag in text.removeprefix(" with the tags ").split(", ") if tag]


def _uncordon(cluster: Cluster, figures: Figures) -> None:
    spec = cluster.get("Node", figures["node"], is_longhorn=False)["spec"]
    _require(spec.pop("unschedulable", False), "it is not cordoned")
    _without_taint(spec, "unschedulable")


def _without_taint(spec: Object, key: str) -> None:
    spec["taints"] = [e for e in spec["taints"] if e["key"] != f"node.kubernetes.io/{key}"]


def _back(cluster: Cluster, figures: Figures) -> None:
    name = figures["node"]
    cluster.get("Node", name)["status"]["conditions"] = [_false("Ready", "")]
    _without_taint(cluster.get("Node", name, is_longhorn=False)["spec"], "unreachable")
    cluster.run(name)
    cluster.deploy(name)


def _start(cluster: Cluster, figures: Figures) -> None:
    if figures["what"] == "instance manager":
        cluster.run(figures["node"])
    else:
        cluster.deploy(figures["node"], figures["what"].removeprefix("engine image "))


def _disk_back(cluster: Cluster, figures: Figures) -> None:
    status = cluster.disk_status(figures)
    status["conditions"] = [_false("Ready", "")]
    if not status["storageMaximum"]:  # how large it is was not known
        status.update(storageMaximum=TIB, storageAvailable=TIB)


def _again(cluster: Cluster, figures: Figures) -> None:
    node, disk = figures["node"], figures["disk"]
    spec = cluster.get("Node", node)["spec"]["disks"][disk]
    cluster.change_disk(figures, allowScheduling=False)
    cluster.change_node(node, lambda of: of["disks"].pop(disk))
    del cluster.get("Node", node)["status"]["diskStatus"][disk]
    tags, kind = spec["tags"], spec["diskType"]
    cluster.add_disk(node, disk, TIB, {"tags": tags, "diskType": kind})


def _more(cluster: Cluster, figures: Figures) -> None:
    like = {"tags": _tags(figures["tags"]), "diskType": figures["type"].strip() or "filesystem"}
    cluster.add_disk(figures["node"], "added", bytes_of(figures["size"]), like)


def _add_node(cluster: Cluster, figures: Figures) -> None:
    """Add a node as figures say; its zone is that of another one, unless it is to be new."""
    nodes = [*cluster.of("Node")]
    zone = "new" if figures["zone"] else nodes[0]["status"]["zone"]
    new = node_document(
        "added",
        spec={"tags": _tags(figures["node_tags"]), "disks": {}},
        status={"zone": zone, "diskStatus": {}},
    )
    cluster.documents += [new, core_document("Node", "added", spec={}), csi_node_document("added")]
    cluster.run("added")
    cluster.deploy("added")
    _more(cluster, {**figures, "node": "added"})


def _free(cluster: Cluster, figures: Figures) -> None:
    cluster.disk_status(figures)["storageAvailable"] += bytes_of(figures["size"])


def _smaller(cluster: Cluster, figures: Figures) -> None:
    spec = cluster.get("PersistentVolumeClaim", figures["claim"], is_longhorn=False)["spec"]
    _require("volumeName" not in spec, "the claim is bound")
    _require(bytes_of(figures["size"]) > 0, "the claim asks for nothing")
    spec["resources"]["requests"]["storage"] = str(bytes_of(figures["size"]))


def _fewer_of_class(cluster: Cluster, figures: Figures) -> None:
    found = cluster.get("StorageClass", figures["class"], is_longhorn=False)
    found["parameters"]["numberOfReplicas"] = figures["count"]


def _less_data(cluster: Cluster, figures: Figures) -> None:
    status = cluster.get("Volume", figures["volume"])["status"]
    status["actualSize"] = str(bytes_of(figures["then"]))


def _tag_node(cluster: Cluster, figures: Figures) -> None:
    cluster.change_node(figures["node"], lambda spec: spec["tags"].extend(_tags(figures["tags"])))


def _tag_disk(cluster: Cluster, figures: Figures) -> None:
    disks = cluster.get("Node", figures["node"])["spec"]["disks"]
    tags = [*disks[figures["disk"]]["tags"], *_tags(figures["tags"])]
    cluster.change_disk(figures, tags=tags)


def _share(cluster: Cluster, code: str, figures: Figures) -> None:
    what = code.split("_")[1]
    kind = {"disks": "disk-", "zones": "zone-", "nodes": ""}[what]
    if code.endswith("_of_volume"):
        field = f"replica{kind.title().strip('-')}SoftAntiAffinity"
        cluster.change_volume(figures["volume"], **{field: "enabled"})
    else:
        cluster.set(f"replica-{kind}soft-anti-affinity", "true")


_OPEN = {"allowScheduling": True}
_STAY = {"evictionRequested": False, "allowScheduling": True}
_DONE: Mapping[str, Callable[[Cluster, Figures], None]] = {
    "uncordon": _uncordon,
    "allow_node": lambda c, f: c.change_node(f["node"], lambda spec: spec.update(_OPEN)),
    "end_node_eviction": lambda c, f: c.change_node(f["node"], lambda spec: spec.update(_STAY)),
    "allow_disk": lambda c, f: c.change_disk(f, **_OPEN),
    "end_disk_eviction": lambda c, f: c.change_disk(f, **_STAY),
    "delete_replica": lambda c, f: c.delete_replica(f["replica"]),
    "delete_gone_replica": lambda c, f: c.delete_replica(f["replica"]),
    "add_disk_again": _again,
    "tag_node": _tag_node,
    "tag_disk": _tag_disk,
    "lower_reserved": lambda c, f: c.change_disk(f, storageReserved=bytes_of(f["then"])),
    "raise_over_provisioning": lambda c, f: c.set(
        "storage-over-provisioning-percentage", f["then"]
    ),
    "lower_minimal_available": lambda c, f: c.set(
        "storage-minimal-available-percentage", f["then"]
    ),
    "node_back": _back,
    "start_manager": _start,
    "disk_back": _disk_back,
    "delete_snapshots": _less_data,
    "free_disk": _free,
    "smaller_claim": _smaller,
    "allow_degraded": lambda c, _: c.set(
        "allow-volume-creation-with-degraded-availability", "true"
    ),
    "class_with_fewer": _fewer_of_class,
    "fewer_replicas": lambda c, f: c.change_volume(f["volume"], numberOfReplicas=int(f["count"])),
    "add_disk": _more,
    "add_node": _add_node,
}
