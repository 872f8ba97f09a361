"""Clusters as files, for tests of how files are read."""

import contextlib
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from app.errors import InputError
from cli.files import load_cluster
from planner.records import KubernetesNode

YAMLS = "supportbundle_8f5c_2026-11-21T03-00-00Z/yamls"
MEBIBYTE = 2**20
Write = Callable[..., Path]


def node(name: str, more: str = "") -> str:
    return f"apiVersion: v1\nkind: Node\nmetadata: {{name: {name}}}\n{more}"


def nodes_of(path: Path) -> list[str]:
    """Return the Kubernetes nodes in a file that has nothing to complain of."""
    cluster, problems = load_cluster(path)
    assert problems == []
    return list(cluster.of(KubernetesNode))


def refusal(path: Path) -> str:
    """Return why the file cannot be used: one line that names it."""
    with pytest.raises(InputError) as caught:
        load_cluster(path)
    text = str(caught.value)
    assert text.startswith(str(path))
    assert "\n" not in text
    return text.removeprefix(str(path))


def peak_bytes(path: Path, *also: Path) -> int:
    """Return what Python had allocated at most while the files were read or refused."""
    tracemalloc.start()
    try:
        with contextlib.suppress(InputError):
            load_cluster(path, *also)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


DISK_SPEC = (
    "{allowScheduling: true, diskType: filesystem, path: 0000:06:00.0, storageReserved: 5e+09}"
)
DISK_STATUS = """{conditions: [], diskUUID: uuid-1, scheduledReplica: {vol-r-1: 1.073741824e+10},
  storageAvailable: 6.397024534528e+12, storageMaximum: 7.681501126656e+12,
  storageScheduled: 1.073741824e+10}"""
BUNDLED = {
    "cluster/v1/nodes.yaml": """
- {apiVersion: v1, kind: Node, metadata: {name: node-1, namespace: "null"}}""",
    "cluster/storage.k8s.io/v1/storageclasses.yaml": """
- {apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: longhorn},
  parameters: {dataLocality: best-effort, fromBackup: "null", numberOfReplicas: "3"},
  provisioner: driver.longhorn.io}""",
    "namespaced/default/v1/persistentvolumeclaims.yaml": """
- {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, uid: u-1},
  spec: {resources: {requests: {storage: 5e+09}}, storageClassName: longhorn, volumeName: "null"}}
""",
    "namespaced/longhorn-system/longhorn.io/v1beta2/nodes.yaml": f"""
- {{apiVersion: longhorn.io/v1beta2, kind: Node, metadata: {{name: node-1}},
  spec: {{allowScheduling: true, disks: {{disk-1: {DISK_SPEC}}}}},
  status: {{conditions: [], diskStatus: {{disk-1: {DISK_STATUS}}}, region: "null", zone: "null"}}}}
""",
    "namespaced/longhorn-system/longhorn.io/v1beta2/replicas.yaml": """
- {apiVersion: longhorn.io/v1beta2, kind: Replica,
  metadata: {creationTimestamp: 2026-11-21T03:00:00Z, deletionTimestamp: "null", name: vol-r-1},
  spec: {active: true, diskID: "null", failedAt: "null", hardNodeAffinity: "null", nodeID: "null",
    healthyAt: "2026-11-21T03:00:00Z", volumeName: vol, volumeSize: "10737418240"},
  status: {started: false}}""",
    "namespaced/longhorn-system/longhorn.io/v1beta2/settings.yaml": """
- {apiVersion: longhorn.io/v1beta2, kind: Setting, metadata: {name: priority-class}, value: "null"}
""",
}
BUNDLED = {name: f"apiVersion: v1\nkind: List\nitems:{text}\n" for name, text in BUNDLED.items()}
BUNDLED["cluster/v1/persistentvolumes.yaml"] = "null\n"
