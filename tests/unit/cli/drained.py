"""Clusters for tests of `may-drain`, as documents: every default is in nobody's way.

A node has an instance manager that runs behind its budget, with its pod.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cli.draining.cluster import Cluster, Means, cluster_of, situation
from cli.draining.judging import Verdict, judge
from cli.kube.cluster_objects import ClusterObjects
from cli.kube.decoding import read_object
from cli.kube.draining.kinds import DRAINED
from longhorn import NodeName
from tests.builders import MANAGER_IMAGE, conditions, core_document, document

Document = dict[str, Any]
LONGHORN = "longhorn-system"
THEN = "2026-10-01T08:00:00Z"
SETTINGS = {
    "node-drain-policy": "block-if-contains-last-replica",
    "kubernetes-cluster-autoscaler-enabled": "false",
    "default-instance-manager-image": MANAGER_IMAGE,
}


def host(name: str = "node-1", *, cordoned: bool = False, ready: bool | None = True) -> Document:
    """Build a Kubernetes Node, ready or not; None is unknown."""
    status = {"conditions": conditions(Ready="Unknown" if ready is None else str(ready))}
    node = core_document("Node", name, spec={}, status=status)
    del node["metadata"]["namespace"]
    if cordoned:
        node["spec"]["unschedulable"] = True
    return node


def manager(node: str = "node-1", engine: str = "v1", **changes: Any) -> Document:
    """Build an InstanceManager; *changes* are fields of its status, or type and image."""
    spec = {"nodeID": node, "dataEngine": engine, "type": "aio", "image": MANAGER_IMAGE}
    spec |= {name: changes.pop(name) for name in ("type", "image") if name in changes}
    name, deleting = changes.pop("name", f"im-{engine}-{node}"), changes.pop("deleting", False)
    metadata = {"deletionTimestamp": THEN} if deleting else {}
    status = {"currentState": "running", **changes}
    return document("InstanceManager", name, metadata=metadata, spec=spec, status=status)


def engines(*names: str) -> dict[str, object]:
    """Build what an instance manager says of its engines."""
    return {name: {"spec": {"name": name}} for name in names}


def budget(
    name: str,
    namespace: str = LONGHORN,
    *,
    labels: Mapping[str, str] | None = None,
    allowed: int | None = 0,
    **status: int,
) -> Document:
    """Build a PodDisruptionBudget; None is that of an instance manager, which no label names."""
    selector = {"matchLabels": {"im": name} if labels is None else labels}
    given = {} if allowed is None else {"disruptionsAllowed": allowed, **status}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"minAvailable": 1, "selector": selector},
        "status": given,
    }


def pod(
    name: str = "web-0",
    node: str = "node-1",
    *,
    owner: str | None = "ReplicaSet",
    claims: Iterable[str] = (),
    namespace: str = "default",
    phase: str = "Running",
    ready: bool = True,
    **fields: Any,
) -> Document:
    """Build a pod; *fields* are labels, annotations, deletionTimestamp, and emptyDir."""
    references = [{"kind": owner, "name": "it", "controller": True}] if owner else []
    volumes: list[object] = [{"name": c, "persistentVolumeClaim": {"claimName": c}} for c in claims]
    if fields.pop("emptyDir", False):
        volumes.append({"name": "tmp", "emptyDir": {}})
    return core_document(
        "Pod",
        name,
        metadata={"namespace": namespace, "ownerReferences": references, **fields},
        spec={"nodeName": node, "volumes": volumes},
        status={"phase": phase, "conditions": conditions(Ready=str(ready))},
    )


def manager_pod(node: str = "node-1", engine: str = "v1", **fields: Any) -> Document:
    """Build the pod of an instance manager."""
    name = f"im-{engine}-{node}"
    return pod(
        name, node, namespace=LONGHORN, owner="InstanceManager", labels={"im": name}, **fields
    )


def node(name: str = "node-1", *, cordoned: bool = False, **status: Any) -> list[Document]:
    """Build a node with all that is there; *status* is that of its instance manager."""
    return [
        host(name, cordoned=cordoned),
        manager(name, **status),
        budget(f"im-v1-{name}"),
        manager_pod(name),
    ]


def replica(node: str = "node-1", volume: str = "vol", **fields: Any) -> Document:
    """Build a healthy Replica that runs; *fields* are those of its spec, and manager and state."""
    name = fields.pop("name", f"{volume}-r-{node}")
    named, state = fields.pop("manager", f"im-v1-{node}"), fields.pop("state", "running")
    spec = {"volumeName": volume, "nodeID": node, "dataEngine": "v1", "healthyAt": THEN,
            "failedAt": "", "desireState": state}  # fmt: skip
    return document(
        "Replica",
        name,
        metadata={"labels": {"longhornnode": fields.pop("label", node)}},
        spec={**spec, **fields},
        status={"currentState": state, "instanceManagerName": named},
    )


def volume(name: str = "vol", claim: str = "", **spec: Any) -> Document:
    """Build a Volume of a claim in `default`."""
    used = {"namespace": "default", "pvcName": claim} if claim else {}
    return document("Volume", name, spec=spec, status={"kubernetesStatus": used})


def attachment(volume: str = "vol", **nodes: str) -> Document:
    """Build a VolumeAttachment: `attachment(csi_attacher="node-1")`."""
    tickets = {
        type_: {"type": type_.replace("_", "-"), "nodeID": node} for type_, node in nodes.items()
    }
    return document(
        "VolumeAttachment", volume, spec={"volume": volume, "attachmentTickets": tickets}
    )


def settings(**changes: str | None) -> list[Document]:
    """Build the Settings; None leaves one out, and underscores stand for dashes."""
    values = {**SETTINGS, **{name.replace("_", "-"): value for name, value in changes.items()}}
    return [
        document("Setting", name, value=value)
        for name, value in values.items()
        if value is not None
    ]


def cluster(*documents: Document) -> Cluster:
    """Read documents as the command does; there are the default settings unless others are."""
    given = [*documents]
    if not any(each["kind"] == "Setting" for each in given):
        given += settings()
    objects = ClusterObjects()
    for each in given:
        record = read_object(each, DRAINED)
        assert record is not None
        objects.add(record)
    return cluster_of(objects)


def judged(
    *documents: Document,
    node: str = "node-1",
    also: Sequence[str] = (),
    **means: bool,
) -> Verdict:
    """Judge a node of a cluster, which is drained together with others; *means* are options."""
    case = situation(cluster(*documents), map(NodeName, [node, *also]), Means(**means))
    return judge(NodeName(node), case, ())
