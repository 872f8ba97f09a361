"""One object of each kind with every field that a real one has, as templates for `objects.py`.

The fields are those of Longhorn 1.12's custom resource definitions and of objects that people
published; managedFields is what the API server derives from them.
"""

import json
import re
from collections.abc import Iterable
from typing import Any

Object = dict[str, Any]

LONGHORN = "longhorn.io/v1beta2"
NAMESPACE = "longhorn-system"
DISKS = 10
_TIME = "2026-08-20T08:00:00Z"
_IMAGE = "longhornio/longhorn-engine:v1.12.1"
_DRIVER = "driver.longhorn.io"
_MANAGER = (("longhorn-manager", "", ("metadata", "spec")), ("longhorn-manager", "status", ()))


def template(document: Object, managers: Iterable[tuple[str, str, tuple[str, ...]]]) -> bytes:
    """Return JSON to be filled in with `%`; the string "#%(x)d" stands for a bare %(x)d.

    Args:
        document: The object, without what the API server adds to each.
        managers: Name, subresource and top-level fields of each entry of managedFields.
    """
    entries = [
        {
            "apiVersion": document["apiVersion"],
            "fieldsType": "FieldsV1",
            "fieldsV1": _managed(document, fields or (subresource,)),
            "manager": name,
            "operation": "Update",
            **({"subresource": subresource} if subresource else {}),
            "time": _TIME,
        }
        for name, subresource, fields in managers
    ]
    metadata = {
        **document["metadata"],
        "creationTimestamp": _TIME,
        "managedFields": entries,
        "resourceVersion": "%(version)d",
        "uid": "%(uid)s",
    }
    text = json.dumps({**document, "metadata": metadata}, separators=(",", ":"))
    return re.sub(r'"#(%\(\w+\)[ds])"', r"\1", text).encode()


def _managed(document: Object, names: Iterable[str]) -> Object:
    metadata = {k: v for k, v in document["metadata"].items() if k not in ("name", "namespace")}
    parts = {**document, "metadata": metadata}
    return {f"f:{name}": _fields(parts[name]) for name in names if name in parts}


def _fields(value: object) -> object:
    """Return what FieldsV1 says of *value*: a key for each field, and lists as a whole."""
    if isinstance(value, str) and value.startswith("#%(listed_"):
        return value.replace("listed_", "fields_")
    if not isinstance(value, dict):
        return {}
    return {".": {}, **{f"f:{key}": _fields(part) for key, part in value.items()}}


def _condition(kind: str, status: str, message: str = "") -> Object:
    return {
        "lastProbeTime": "",
        "lastTransitionTime": _TIME,
        "message": message,
        "reason": "",
        "status": status,
        "type": kind,
    }


def _disk(number: int) -> tuple[str, Object, Object]:
    name, path = f"nvme-{number}", f"/mnt/nvme-{number}"
    spec = {
        "allowScheduling": True,
        "diskDriver": "",
        "diskType": "filesystem",
        "evictionRequested": False,
        "path": path,
        "storageReserved": 32212254720,
        "tags": ["fast", "nvme"],
    }
    where = f"Disk {name}({path}) on node %(node)s is"
    status = {
        "conditions": [
            _condition("Ready", "True", f"{where} ready"),
            _condition("Schedulable", "True", f"{where} schedulable"),
        ],
        "diskDriver": "",
        "diskName": name,
        "diskPath": path,
        "diskType": "filesystem",
        "diskUUID": f"%(uuid_{number})s",
        "filesystemType": "ext2/ext3",
        "healthDataLastCollectedAt": _TIME,
        "instanceManagerName": "instance-manager-5b0c9d7e8f6a41b2c3d4e5f60718293a",
        "scheduledBackingImage": {},
        "scheduledReplica": f"#%(listed_{number})s",
        "storageAvailable": f"#%(available_{number})d",
        "storageMaximum": "#%(maximum)d",
        "storageScheduled": f"#%(scheduled_{number})d",
    }
    return name, spec, status


_ALL_DISKS = [_disk(number) for number in range(DISKS)]

NODE = template(
    {
        "apiVersion": LONGHORN,
        "kind": "Node",
        "metadata": {
            "finalizers": ["longhorn.io"],
            "generation": 4,
            "name": "%(node)s",
            "namespace": NAMESPACE,
        },
        "spec": {
            "allowScheduling": True,
            "disks": {name: spec for name, spec, _ in _ALL_DISKS},
            "evictionRequested": False,
            "instanceManagerCPURequest": 0,
            "name": "%(node)s",
            "tags": ["storage"],
        },
        "status": {
            "autoEvicting": False,
            "conditions": [
                _condition("Ready", "True", "Node %(node)s is ready"),
                _condition("Schedulable", "True"),
                _condition("MountPropagation", "True"),
                _condition(
                    "RequiredPackages",
                    "True",
                    "All required packages [nfs-common open-iscsi cryptsetup dmsetup] are installed"
                    " on node %(node)s",
                ),
                _condition("Multipathd", "True"),
                _condition("KernelModulesLoaded", "True", "Kernel modules [dm_crypt] are loaded"),
                _condition("NFSClientInstalled", "True"),
            ],
            "diskStatus": {name: status for name, _, status in _ALL_DISKS},
            "region": "eu-1",
            "snapshotCheckStatus": {"lastPeriodicCheckedAt": _TIME},
            "zone": "eu-1-%(zone)d",
        },
    },
    _MANAGER,
)

VOLUME = template(
    {
        "apiVersion": LONGHORN,
        "kind": "Volume",
        "metadata": {
            "finalizers": ["longhorn.io"],
            "generation": 51,
            "labels": {
                "backup-target": "default",
                "longhornvolume": "%(volume)s",
                "recurring-job-group.longhorn.io/default": "enabled",
                "setting.longhorn.io/remove-snapshots-during-filesystem-trim": "ignored",
                "setting.longhorn.io/replica-auto-balance": "ignored",
                "setting.longhorn.io/snapshot-data-integrity": "ignored",
            },
            "name": "%(volume)s",
            "namespace": NAMESPACE,
        },
        "spec": {
            "Standby": False,
            "accessMode": "rwo",
            "backingImage": "",
            "backupBlockSize": "2097152",
            "backupCompressionMethod": "lz4",
            "backupTargetName": "default",
            "dataEngine": "v1",
            "dataLocality": "best-effort",
            "dataSource": "",
            "disableFrontend": False,
            "diskSelector": [],
            "encrypted": False,
            "freezeFilesystemForSnapshot": "ignored",
            "fromBackup": "",
            "frontend": "blockdev",
            "image": _IMAGE,
            "lastAttachedBy": "",
            "migratable": False,
            "migrationNodeID": "",
            "nodeID": "%(node)s",
            "nodeSelector": [],
            "numberOfReplicas": 3,
            "offlineRebuilding": "ignored",
            "replicaAutoBalance": "ignored",
            "replicaDiskSoftAntiAffinity": "ignored",
            "replicaRebuildingBandwidthLimit": 0,
            "replicaSoftAntiAffinity": "ignored",
            "replicaZoneSoftAntiAffinity": "ignored",
            "restoreVolumeRecurringJob": "ignored",
            "revisionCounterDisabled": True,
            "size": "%(size)d",
            "snapshotDataIntegrity": "ignored",
            "snapshotMaxCount": 250,
            "snapshotMaxSize": "0",
            "staleReplicaTimeout": 30,
            "topologyRequirement": [],
            "unmapMarkSnapChainRemoved": "ignored",
        },
        "status": {
            "actualSize": "#%(actual)d",
            "cloneStatus": {
                "attemptCount": 0,
                "nextAllowedAttemptAt": "",
                "snapshot": "",
                "sourceVolume": "",
                "state": "",
            },
            "conditions": [
                _condition("WaitForBackingImage", "False"),
                _condition("Scheduled", "True"),
                _condition("TooManySnapshots", "False"),
                _condition("Restore", "False"),
            ],
            "currentImage": _IMAGE,
            "currentMigrationNodeID": "",
            "currentNodeID": "%(node)s",
            "expansionRequired": False,
            "frontendDisabled": False,
            "isStandby": False,
            "kubernetesStatus": {
                "lastPVCRefAt": "",
                "lastPodRefAt": "",
                "namespace": "team-%(namespace)d",
                "pvName": "%(volume)s",
                "pvStatus": "Bound",
                "pvcName": "data-database-%(number)d",
                "workloadsStatus": [
                    {
                        "podName": "database-%(number)d",
                        "podStatus": "Running",
                        "workloadName": "database",
                        "workloadType": "StatefulSet",
                    }
                ],
            },
            "lastBackup": "",
            "lastBackupAt": "",
            "lastDegradedAt": "",
            "ownerID": "%(node)s",
            "remountRequestedAt": "",
            "restoreInitiated": False,
            "restoreRequired": False,
            "robustness": "healthy",
            "shareEndpoint": "",
            "shareState": "",
            "state": "attached",
        },
    },
    _MANAGER,
)

REPLICA = template(
    {
        "apiVersion": LONGHORN,
        "kind": "Replica",
        "metadata": {
            "finalizers": ["longhorn.io"],
            "generation": 8,
            "labels": {
                "longhorn.io/backing-image": "",
                "longhorndiskuuid": "%(disk)s",
                "longhornnode": "%(node)s",
                "longhornvolume": "%(volume)s",
            },
            "name": "%(replica)s",
            "namespace": NAMESPACE,
            "ownerReferences": [
                {
                    "apiVersion": LONGHORN,
                    "kind": "Volume",
                    "name": "%(volume)s",
                    "uid": "%(uid)s",
                }
            ],
        },
        "spec": {
            "active": True,
            "backingImage": "",
            "dataDirectoryName": "%(volume)s-%(suffix)s",
            "dataEngine": "v1",
            "desireState": "running",
            "diskID": "%(disk)s",
            "diskPath": "/mnt/nvme-%(disk_number)d",
            "engineName": "%(volume)s-e-0",
            "evictionRequested": False,
            "failedAt": "",
            "hardNodeAffinity": "",
            "healthyAt": _TIME,
            "image": _IMAGE,
            "lastFailedAt": "",
            "lastHealthyAt": _TIME,
            "linkedCloneSrcReplicaName": "",
            "logRequested": False,
            "migrationEngineName": "",
            "nodeID": "%(node)s",
            "rebuildRetryCount": 0,
            "revisionCounterDisabled": True,
            "salvageRequested": False,
            "snapshotMaxCount": 250,
            "snapshotMaxSize": "0",
            "unmapMarkDiskChainRemovedEnabled": False,
            "volumeName": "%(volume)s",
            "volumeSize": "%(size)d",
        },
        "status": {
            "conditions": [
                _condition("RebuildFailed", "False"),
                _condition("WaitForBackingImage", "False"),
            ],
            "currentImage": _IMAGE,
            "currentState": "running",
            "instanceManagerName": "instance-manager-5b0c9d7e8f6a41b2c3d4e5f60718293a",
            "ip": "10.42.%(host)s",
            "logFetched": False,
            "ownerID": "%(node)s",
            "port": 10010,
            "salvageExecuted": False,
            "started": True,
            "starting": False,
            "storageIP": "10.42.%(host)s",
            "ublkID": 0,
            "uuid": "",
        },
    },
    _MANAGER,
)

SETTING = template(
    {
        "apiVersion": LONGHORN,
        "kind": "Setting",
        "metadata": {
            "annotations": {"longhorn.io/config-map-resource-version": "1500000000"},
            "generation": 1,
            "name": "%(name)s",
            "namespace": NAMESPACE,
        },
        "value": "%(value)s",
        "status": {"applied": True},
    },
    (("longhorn-manager", "", ("metadata", "value")), ("longhorn-manager", "status", ())),
)

CLAIM = template(
    {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "annotations": {
                "pv.kubernetes.io/bind-completed": "yes",
                "pv.kubernetes.io/bound-by-controller": "yes",
                "volume.beta.kubernetes.io/storage-provisioner": _DRIVER,
                "volume.kubernetes.io/selected-node": "%(node)s",
                "volume.kubernetes.io/storage-provisioner": _DRIVER,
            },
            "finalizers": ["kubernetes.io/pvc-protection"],
            "labels": {
                "app.kubernetes.io/instance": "database-%(number)d",
                "app.kubernetes.io/name": "database",
            },
            "name": "data-database-%(number)d",
            "namespace": "team-%(namespace)d",
        },
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "%(gib)dGi"}},
            "storageClassName": "longhorn-local",
            "volumeMode": "Filesystem",
            "volumeName": "%(volume)s",
        },
        "status": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "%(gib)dGi"},
            "phase": "Bound",
        },
    },
    (
        ("kube-controller-manager", "", ("metadata", "spec")),
        ("kube-controller-manager", "status", ()),
        ("kube-scheduler", "", ("metadata",)),
    ),
)

PERSISTENT_VOLUME = template(
    {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {
            "annotations": {
                "longhorn.io/volume-scheduling-error": "",
                "pv.kubernetes.io/provisioned-by": _DRIVER,
                "volume.kubernetes.io/provisioner-deletion-secret-name": "",
                "volume.kubernetes.io/provisioner-deletion-secret-namespace": "",
            },
            "finalizers": [
                "kubernetes.io/pv-protection",
                "external-attacher/driver-longhorn-io",
            ],
            "name": "%(volume)s",
        },
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "%(gib)dGi"},
            "claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "name": "data-database-%(number)d",
                "namespace": "team-%(namespace)d",
                "resourceVersion": "1500000000",
                "uid": "%(claim_uid)s",
            },
            "csi": {
                "driver": _DRIVER,
                "fsType": "ext4",
                "volumeAttributes": {
                    "dataEngine": "v1",
                    "dataLocality": "best-effort",
                    "disableRevisionCounter": "true",
                    "fsType": "ext4",
                    "numberOfReplicas": "3",
                    "staleReplicaTimeout": "30",
                    "storage.kubernetes.io/csiProvisionerIdentity": (
                        "1765183300000-4711-driver.longhorn.io"
                    ),
                },
                "volumeHandle": "%(volume)s",
            },
            "persistentVolumeReclaimPolicy": "Delete",
            "storageClassName": "longhorn-local",
            "volumeMode": "Filesystem",
        },
        "status": {"lastPhaseTransitionTime": _TIME, "phase": "Bound"},
    },
    (
        ("csi-provisioner", "", ("metadata", "spec")),
        ("csi-attacher", "", ("metadata",)),
        ("kube-controller-manager", "status", ()),
    ),
)

STORAGE_CLASS = template(
    {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "longhorn-local"},
        "provisioner": _DRIVER,
        "parameters": {"numberOfReplicas": "3", "dataLocality": "best-effort"},
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "WaitForFirstConsumer",
    },
    (("kubectl", "", ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode")),),
)
