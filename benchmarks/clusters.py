"""Seeded clusters and requests to measure /filter with, as Kubernetes would print them."""

import json
from random import Random
from typing import Any

GIB = 2**30
_LONGHORN = "longhorn.io/v1beta2"
_TRUE = [{"type": "Ready", "status": "True"}, {"type": "Schedulable", "status": "True"}]

Object = dict[str, Any]


def node_name(number: int) -> str:
    """Return the name of a node."""
    return f"worker-{number:05d}.example.internal"


def cluster(nodes: int, disks: int, pods: list[Object], *, seed: int, replicas: int = 1) -> Object:
    """Return a list of all objects: nodes whose disks are filled at random, and claims.

    Disks have 100 to 400 GiB, of which 30 to 100 % are scheduled, so that the larger pods fit on
    some nodes only. Volumes have so many *replicas*.
    """
    random = Random(seed)
    items = [_storage_class(replicas)]
    items += [_longhorn_node(node_name(n), disks, random) for n in range(nodes)]
    items += [claim for pod in pods for claim in pod_claims(pod)]
    return {"apiVersion": "v1", "kind": "List", "items": items}


def pod(name: str, sizes_bytes: list[int]) -> Object:
    """Return a pod with a claim of each size."""
    volumes = [
        {"name": f"v{n}", "persistentVolumeClaim": {"claimName": f"{name}-{n}-{size}"}}
        for n, size in enumerate(sizes_bytes)
    ]
    container = {
        "name": "app",
        "image": "registry.example/app:1",
        "resources": {"requests": {"longhorn.io/scheduler-extender": "1"}},
    }
    return {
        "metadata": {"name": name, "namespace": "bench", "uid": f"uid-{name}"},
        "spec": {"volumes": volumes, "containers": [container]},
        "status": {"phase": "Pending"},
    }


def pod_claims(pod: Object) -> list[Object]:
    """Return the unbound claims of a pod made by `pod`; the size is in the name."""
    names = [v["persistentVolumeClaim"]["claimName"] for v in pod["spec"]["volumes"]]
    return [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": "bench", "uid": name},
            "spec": {
                "storageClassName": "longhorn-local",
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": name.rpartition("-")[2]}},
            },
        }
        for name in names
    ]


def names_part(nodes: int) -> bytes:
    """Return what a filter call says of the candidates, by name."""
    names = [node_name(n) for n in range(nodes)]
    return b'"Nodes":null,"NodeNames":' + _encode(names)


def nodes_part(nodes: int) -> bytes:
    """Return what a filter call says of the candidates, as whole nodes of about 12 kB.

    The keys are in kube-scheduler's order.
    """
    items = [kubernetes_node(node_name(n)) for n in range(nodes)]
    return b'"Nodes":' + _encode({"metadata": {}, "items": items}) + b',"NodeNames":null'


def request(pod: Object, candidates: bytes) -> bytes:
    """Return the body of a filter call, *candidates* from one of the functions above."""
    return b'{"Pod":' + _encode(pod) + b"," + candidates + b"}"


def kubernetes_node(name: str) -> Object:
    """Return a node with the 50 images the kubelet reports, which are most of its size."""
    images = [
        {
            "names": [
                f"registry.example/team-{n:02d}/component@sha256:{n:064d}",
                f"registry.example/team-{n:02d}/component:v1.{n}.0",
            ],
            "sizeBytes": 100_000_000 + n,
        }
        for n in range(50)
    ]
    return {
        "metadata": {
            "name": name,
            "uid": f"uid-{name}",
            "resourceVersion": "1234567",
            "labels": {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": "a"},
            "annotations": {"example/pad": "x" * 2_000},
        },
        "spec": {"podCIDR": "10.0.0.0/24"},
        "status": {"capacity": {"cpu": "8", "pods": "110"}, "images": images},
    }


def _encode(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _storage_class(replicas: int) -> Object:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "longhorn-local"},
        "provisioner": "driver.longhorn.io",
        "parameters": {"numberOfReplicas": str(replicas), "dataLocality": "best-effort"},
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def _longhorn_node(name: str, disks: int, random: Random) -> Object:
    specs, statuses = {}, {}
    for number in range(disks):
        size = random.choice((100, 200, 400)) * GIB
        scheduled = round(size * random.uniform(0.3, 1.0)) // GIB * GIB
        specs[f"disk-{number}"] = {
            "diskType": "filesystem",
            "path": f"/mnt/disk-{number}",
            "allowScheduling": True,
            "evictionRequested": False,
            "storageReserved": 0,
            "tags": [],
        }
        statuses[f"disk-{number}"] = {
            "diskUUID": f"{name}-{number}",
            "diskType": "filesystem",
            "filesystemType": "ext2/ext3",
            "conditions": _TRUE,
            "storageMaximum": size,
            "storageAvailable": size * 9 // 10,
            "storageScheduled": scheduled,
            "scheduledReplica": {},
        }
    return {
        "apiVersion": _LONGHORN,
        "kind": "Node",
        "metadata": {"name": name, "namespace": "longhorn-system"},
        "spec": {"name": name, "allowScheduling": True, "tags": [], "disks": specs},
        "status": {"conditions": _TRUE, "diskStatus": statuses, "zone": "", "region": ""},
    }
