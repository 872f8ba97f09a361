"""Measures the command `plan` on clusters with 10 disks a node: `make bench`.

Each run is a process of its own, as for a person. The nodes are in three zones; one of them runs
200 pods, each with a volume of three replicas.
"""

import json
import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.clusters import GIB, Object, node_name
from benchmarks.commands import ran
from benchmarks.templates import LONGHORN

NODES = (100, 1_000)
_DISKS, _ZONES, _RUNNING = 10, "abc", 200
_DISK_BYTES, _SIZE_BYTES = 1_000 * GIB, 100 * GIB
_FULL_BYTES = 950 * GIB
_TRUE = [{"type": "Ready", "status": "True"}, {"type": "Schedulable", "status": "True"}]
_ALL_PLACED, _SOME_NOT = 0, 1


class Case(NamedTuple):
    """One way to run the command."""

    name: str
    words: Sequence[str]
    output: str = "table"
    html: bool = False


class Run(NamedTuple):
    """One run of the command."""

    seconds: float
    cpu_seconds: float
    peak_mb: float
    """Resident memory, in 10^6 bytes."""
    output_mb: float
    html_mb: float
    said: str
    """The first line."""


def main() -> None:
    """Print the table."""
    print(
        f"{'nodes':>6}  {'step':26}{'seconds':>9}{'cpu':>7}{'peak MB':>9}{'output MB':>11}"
        f"{'html MB':>9}  said"
    )
    for nodes in NODES:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for case in _cases(nodes, folder):
                run = _run(case, folder)
                print(
                    f"{nodes:6}  {case.name:26}{run.seconds:9.1f}{run.cpu_seconds:7.1f}"
                    f"{run.peak_mb:9.0f}{run.output_mb:11.1f}{run.html_mb:9.1f}  {run.said}",
                    flush=True,
                )


def _cases(nodes: int, folder: Path) -> list[Case]:
    """Write the files of all cases into *folder*, and return how to run them."""
    _write(folder / "cluster.json", [*_cluster(nodes), *_contents(nodes)])
    pods = 5 * nodes
    for replicas in (1, 3):
        _write(folder / f"place-{replicas}.json", [_stateful_set(pods, replicas, _SIZE_BYTES)])
    _write(folder / "large.json", [_stateful_set(1, 3, _FULL_BYTES)])
    return [
        Case(f"place {pods}, 1 replica", ("place", str(folder / "place-1.json"))),
        Case(f"place {pods}, 3 replicas", ("place", str(folder / "place-3.json"))),
        Case("the same, -o json", ("place", str(folder / "place-3.json")), output="json"),
        Case("the same, --html", ("place", str(folder / "place-3.json")), html=True),
        Case("capacity, large volumes", ("capacity", str(folder / "large.json"))),
        Case(f"drain {_RUNNING} pods", ("drain", node_name(0))),
        Case(f"lose {_RUNNING} pods", ("lose", node_name(0))),
    ]


def _run(case: Case, folder: Path) -> Run:
    """Run the command once."""
    drawn = folder / "plan.html"
    drawn.unlink(missing_ok=True)
    words = [
        *("plan", *case.words, "--cluster-file", str(folder / "cluster.json"), "-o", case.output),
        *(("--html", str(drawn)) if case.html else ()),
    ]
    found = ran(words, [_ALL_PLACED, _SOME_NOT])
    said = re.split(r" \(|, ", found.first)[0]
    return Run(
        seconds=found.seconds,
        cpu_seconds=found.cpu_seconds,
        peak_mb=found.peak_mb,
        output_mb=found.output_bytes / 1e6,
        html_mb=drawn.stat().st_size / 1e6 if case.html else 0.0,
        said=said if case.output == "table" else "",
    )


def _write(path: Path, items: Sequence[Object]) -> None:
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))


def _cluster(nodes: int) -> Iterator[Object]:
    for number in range(nodes):
        name, zone = node_name(number), _ZONES[number % len(_ZONES)]
        labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone}
        yield {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": labels},
            "status": {"allocatable": {"cpu": "64", "memory": "256Gi", "pods": "250"}},
        }
        yield _longhorn_node(name, zone, _listed(number))
    for replicas in (1, 3):
        yield {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": f"replicas-{replicas}"},
            "provisioner": "driver.longhorn.io",
            "parameters": {"numberOfReplicas": str(replicas), "dataLocality": "best-effort"},
            "volumeBindingMode": "WaitForFirstConsumer",
        }


def _longhorn_node(name: str, zone: str, listed: dict[int, dict[str, int]]) -> Object:
    specs, statuses = {}, {}
    for number in range(_DISKS):
        here = listed.get(number, {})
        specs[f"disk-{number}"] = {
            "diskType": "filesystem",
            "allowScheduling": True,
            "evictionRequested": False,
            "storageReserved": 0,
            "tags": [],
        }
        statuses[f"disk-{number}"] = {
            "diskUUID": _disk_id(name, number),
            "diskType": "filesystem",
            "filesystemType": "ext2/ext3",
            "conditions": _TRUE,
            "storageMaximum": _DISK_BYTES,
            "storageAvailable": _DISK_BYTES,
            "storageScheduled": sum(here.values()),
            "scheduledReplica": here,
        }
    return {
        "apiVersion": LONGHORN,
        "kind": "Node",
        "metadata": {"name": name, "namespace": "longhorn-system"},
        "spec": {"name": name, "allowScheduling": True, "tags": [], "disks": specs},
        "status": {"conditions": _TRUE, "diskStatus": statuses, "zone": zone, "region": ""},
    }


def _places(pod: int) -> list[tuple[int, int]]:
    """Return node and disk of each replica of a pod that runs on the first node."""
    return [(copy if copy == 0 else 3 * (pod % 20) + copy, pod % _DISKS) for copy in range(3)]


def _listed(node: int) -> dict[int, dict[str, int]]:
    found: dict[int, dict[str, int]] = {}
    for pod in range(_RUNNING):
        for copy, (where, disk) in enumerate(_places(pod)):
            if where == node:
                found.setdefault(disk, {})[f"volume-{pod}-r-{copy}"] = 10 * GIB
    return found


def _contents(nodes: int) -> Iterator[Object]:
    """Return the pods of the first node with their volumes."""
    assert nodes > 60, "replicas are on the first nodes"
    size, first = 10 * GIB, node_name(0)
    for number in range(_RUNNING):
        volume, owner = (
            f"volume-{number}",
            {"kind": "StatefulSet", "name": "db", "controller": True},
        )
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"db-{number}", "namespace": "bench", "uid": f"pod-{number}",
                "labels": {"app": "db"}, "ownerReferences": [owner],
            },
            "spec": {
                "nodeName": first,
                "containers": [{"name": "db", "resources": {"requests": {"cpu": "100m"}}}],
                "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": volume}}],
            },
            "status": {"phase": "Running"},
        }  # fmt: skip
        yield {
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": volume, "namespace": "bench", "uid": volume},
            "spec": {
                "storageClassName": "replicas-3", "volumeName": volume,
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": str(size)}},
            },
            "status": {"phase": "Bound"},
        }  # fmt: skip
        yield {
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": volume},
            "spec": {"csi": {"driver": "driver.longhorn.io", "volumeHandle": volume}},
        }  # fmt: skip
        yield {
            "apiVersion": LONGHORN, "kind": "Volume",
            "metadata": {"name": volume, "namespace": "longhorn-system"},
            "spec": {
                "size": str(size), "numberOfReplicas": 3, "dataLocality": "best-effort",
                "dataEngine": "v1", "nodeID": first,
            },
            "status": {"state": "attached", "robustness": "healthy", "currentNodeID": first},
        }  # fmt: skip
        for copy, (where, disk) in enumerate(_places(number)):
            node = node_name(where)
            yield {
                "apiVersion": LONGHORN, "kind": "Replica",
                "metadata": {"name": f"{volume}-r-{copy}", "namespace": "longhorn-system"},
                "spec": {
                    "volumeName": volume, "volumeSize": str(size), "nodeID": node,
                    "diskID": _disk_id(node, disk), "active": True,
                    "healthyAt": "2026-01-01T00:00:00Z", "dataEngine": "v1",
                },
                "status": {"currentState": "running", "started": True},
            }  # fmt: skip


def _disk_id(node: str, disk: int) -> str:
    return f"{node}-{disk}"


def _stateful_set(pods: int, replicas: int, size_bytes: int) -> Object:
    """Return a StatefulSet that makes all its pods at once."""
    claim = {
        "metadata": {"name": "data"},
        "spec": {
            "storageClassName": f"replicas-{replicas}",
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": str(size_bytes)}},
        },
    }
    container = {"name": "app", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "new", "namespace": "bench"},
        "spec": {
            "replicas": pods,
            "podManagementPolicy": "Parallel",
            "serviceName": "new",
            "template": {
                "metadata": {"labels": {"app": "new"}},
                "spec": {"containers": [container]},
            },
            "volumeClaimTemplates": [claim],
        },
    }


if __name__ == "__main__":
    main()
