"""What runs on the nodes of that cluster, byte for byte as an API server writes it.

Engine images, instance managers and CSINodes, and those Kubernetes Nodes whose label switches data
engine v2 off: of all others the service is sent nothing. Here all of them have it, which is the
most that there can be.
"""

import json
from functools import cache
from typing import Any

from benchmarks.clusters import kubernetes_node, node_name
from benchmarks.templates import LONGHORN, NAMESPACE, template
from longhorn import V2_OFF_LABEL

IMAGE = "longhornio/longhorn-engine:v1.12.1"
_INSTANCES = 30
"""Replicas in an instance manager: as many as a node has."""
_MANAGER = (("longhorn-manager", "", ("metadata", "spec")), ("longhorn-manager", "status", ()))

Values = dict[bytes, object]


def instance_manager(values: Values, number: int, edition: int) -> bytes:
    """Return the InstanceManager of a node; another edition does not run."""
    state = b"error" if edition else b"running"
    return _INSTANCE_MANAGER % (values | {b"node": node_name(number).encode(), b"state": state})


def engine_image(values: Values, number: int, edition: int, nodes: int) -> bytes:
    """Return an EngineImage; of another edition one node has none, each time another one."""
    missing = edition % nodes if edition else -1
    return _ENGINE_IMAGE % (
        values
        | {
            b"number": number,
            b"state": b"deploying" if edition else b"deployed",
            b"nodes": b",".join(
                b'"%b":%b' % (name, b"false" if each == missing else b"true")
                for each, name in enumerate(_names(nodes))
            ),
            b"fields": b"".join(b',"f:%b":{}' % name for name in _names(nodes)),
        }
    )


def csi_node(values: Values, number: int, edition: int) -> bytes:
    """Return a CSINode; another edition does not know Longhorn's driver."""
    name = b"other.example" if edition else b"driver.longhorn.io"
    return _CSI_NODE % (values | {b"node": node_name(number).encode(), b"driver": name})


def labelled_node(number: int, edition: int) -> bytes:
    """Return the metadata of a Kubernetes Node; its kubelet's next status is another edition."""
    node = _labelled_node()
    name = node_name(number).encode()
    return node.replace(b"node-name", name).replace(b"#edition", b"%d" % edition)


@cache
def _names(nodes: int) -> list[bytes]:
    return [node_name(number).encode() for number in range(nodes)]


@cache
def _labelled_node() -> bytes:
    metadata: dict[str, Any] = kubernetes_node("node-name")["metadata"]
    metadata["labels"][V2_OFF_LABEL] = "true"
    metadata["annotations"]["edition"] = "#edition"
    known = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}
    return json.dumps({**known, "metadata": metadata}, separators=(",", ":")).encode()


def _instance(number: int) -> dict[str, Any]:
    return {
        "spec": {"backendStoreDriver": "", "dataEngine": "v1", "name": f"r-%(number)d-{number}"},
        "status": {
            "conditions": {},
            "endpoint": "",
            "errorMsg": "",
            "listen": "",
            "portEnd": 10_010 + number * 10,
            "portStart": 10_001 + number * 10,
            "resourceVersion": 1,
            "standbyTargetPortEnd": 0,
            "standbyTargetPortStart": 0,
            "state": "running",
            "targetPortEnd": 0,
            "targetPortStart": 0,
            "type": "replica",
            "uuid": "",
        },
    }


_ENGINE_IMAGE = (
    template(
        {
            "apiVersion": LONGHORN,
            "kind": "EngineImage",
            "metadata": {"name": "ei-%(number)08d", "namespace": NAMESPACE},
            "spec": {"image": IMAGE},
            "status": {
                "state": "%(state)s",
                "nodeDeploymentMap": {"%(nodes)s": True},
                "refCount": 50_000,
                "ownerID": node_name(0),
            },
        },
        _MANAGER,
    )
    .replace(b'{"%(nodes)s":true}', b"{%(nodes)s}")
    .replace(b',"f:%(nodes)s":{}', b"%(fields)s")
)

_INSTANCE_MANAGER = template(
    {
        "apiVersion": LONGHORN,
        "kind": "InstanceManager",
        "metadata": {
            "labels": {
                "longhorn.io/component": "instance-manager",
                "longhorn.io/data-engine": "v1",
                "longhorn.io/instance-manager-image": "imi-00000000",
                "longhorn.io/instance-manager-type": "aio",
                "longhorn.io/managed-by": "longhorn-manager",
                "longhorn.io/node": "%(node)s",
            },
            "name": "instance-manager-%(number)032d",
            "namespace": NAMESPACE,
        },
        "spec": {
            "dataEngine": "v1",
            "dataEngineSpec": {"v2": {"cpuMask": ""}},
            "image": "longhornio/longhorn-instance-manager:v1.12.1",
            "nodeID": "%(node)s",
            "type": "aio",
        },
        "status": {
            "apiMinVersion": 3,
            "apiVersion": 5,
            "currentState": "%(state)s",
            "instanceEngines": {},
            "instanceReplicas": {f"r-%(number)d-{n}": _instance(n) for n in range(_INSTANCES)},
            "ip": "10.42.0.7",
            "ownerID": "%(node)s",
        },
    },
    _MANAGER,
)

_CSI_NODE = template(
    {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {
            "name": "%(node)s",
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "Node", "name": "%(node)s", "uid": "%(uid)s"}
            ],
        },
        "spec": {
            "drivers": [
                {
                    "name": "%(driver)s",
                    "nodeID": "%(node)s",
                    "topologyKeys": ["kubernetes.io/hostname"],
                }
            ]
        },
    },
    (("kubelet", "", ("metadata", "spec")),),
)
