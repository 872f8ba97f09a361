"""What kube-scheduler itself reads of pods, volumes and nodes, for commands that explain.

The service does not read this: it is asked only about nodes that pass kube-scheduler's own filters.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from app.kube import objects, translate
from cli.kube.pods import Pod, pod_record
from extender.kubernetes import NodeTerm, PersistentVolume, Requirement, StorageClass
from longhorn import NodeName
from planner import records
from planner.records import Wishes
from planner.workloads import DAEMON_SET


class Toleration(objects.KubeStruct, frozen=True):
    key: objects.Text = None
    operator: objects.Text = None
    value: objects.Text = None
    effect: objects.Text = None


class Expression(objects.KubeStruct, frozen=True):
    key: objects.Text = None
    operator: objects.Text = None
    values: list[str] | None = None


class NodeSelectorTerm(objects.KubeStruct, frozen=True):
    match_expressions: list[Expression] | None = None
    match_fields: list[Expression] | None = None


class NodeSelector(objects.KubeStruct, frozen=True):
    node_selector_terms: list[NodeSelectorTerm] | None = None


class NodeAffinity(objects.KubeStruct, frozen=True):
    required: NodeSelector | None = msgspec.field(
        default=None, name="requiredDuringSchedulingIgnoredDuringExecution"
    )


class PodAffinity(objects.KubeStruct, frozen=True):
    required: list[Any] | None = msgspec.field(
        default=None, name="requiredDuringSchedulingIgnoredDuringExecution"
    )


class Affinity(objects.KubeStruct, frozen=True):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class SpreadConstraint(objects.KubeStruct, frozen=True):
    when_unsatisfiable: objects.Text = None


class Resources(objects.KubeStruct, frozen=True):
    limits: dict[str, str | int | float | None] | None = None
    requests: dict[str, str | int | float | None] | None = None


class Container(objects.KubeStruct, frozen=True):
    resources: Resources | None = None


class Owner(objects.KubeStruct, frozen=True):
    kind: objects.Text = None
    name: objects.Text = None
    controller: bool | None = None


class WholeMetadata(objects.Metadata, frozen=True, rename="camel"):
    labels: dict[str, objects.Text] | None = None
    owner_references: Sequence[Owner] | None = None


class Named(objects.KubeStruct, frozen=True):
    name: objects.Text = None


class WholePodSpec(objects.PodSpec, frozen=True, rename="camel"):
    containers: Sequence[Container] | None = None
    init_containers: Sequence[Container] | None = None
    scheduler_name: objects.Text = None
    node_selector: dict[str, str] | None = None
    affinity: Affinity | None = None
    tolerations: list[Toleration] | None = None
    scheduling_gates: list[Named] | None = None
    topology_spread_constraints: Sequence[SpreadConstraint] | None = None


class WholePod(objects.Pod, frozen=True, rename="camel"):
    metadata: WholeMetadata
    spec: WholePodSpec | None = None


class VolumeNodeAffinity(objects.KubeStruct, frozen=True):
    required: NodeSelector | None = None


class WholePersistentVolumeSpec(objects.PersistentVolumeSpec, frozen=True, rename="camel"):
    node_affinity: VolumeNodeAffinity | None = None
    persistent_volume_reclaim_policy: objects.Text = None


class WholePersistentVolume(objects.PersistentVolume, frozen=True, rename="camel"):
    spec: WholePersistentVolumeSpec | None = None


class TopologyExpression(objects.KubeStruct, frozen=True):
    key: objects.Text = None
    values: list[str] | None = None


class TopologySelectorTerm(objects.KubeStruct, frozen=True):
    match_label_expressions: list[TopologyExpression] | None = None


class WholeStorageClass(objects.StorageClass, frozen=True, rename="camel"):
    allowed_topologies: list[TopologySelectorTerm] | None = None
    reclaim_policy: objects.Text = None


class Taint(objects.KubeStruct, frozen=True):
    key: objects.Text = None
    value: objects.Text = None
    effect: objects.Text = None


class KubernetesNodeMetadata(objects.Metadata, frozen=True, rename="camel"):
    labels: dict[str, objects.Text] | None = None


class KubernetesNodeSpec(objects.KubeStruct, frozen=True):
    unschedulable: bool | None = None
    taints: list[Taint] | None = None


class KubernetesNode(objects.KubeStruct, frozen=True):
    metadata: KubernetesNodeMetadata
    spec: KubernetesNodeSpec | None = None


def whole_pod_record(pod: WholePod) -> Pod:
    """Translate a Pod with all that it asks of kube-scheduler."""
    return pod_record(pod, wishes_of(pod))


def whole_persistent_volume_record(volume: WholePersistentVolume) -> PersistentVolume:
    """Translate a PersistentVolume with the nodes that it is limited to, and what becomes of it.

    Without a policy it is retained (kubernetes pkg/apis/core/v1/defaults.go).
    """
    policy = volume.spec.persistent_volume_reclaim_policy if volume.spec else None
    return msgspec.structs.replace(
        translate.persistent_volume_record(volume),
        terms=volume_terms(volume),
        retained=policy in (None, "", "Retain"),
    )


def whole_storage_class_record(storage_class: WholeStorageClass) -> StorageClass:
    """Translate a StorageClass with the nodes that its volumes are limited to."""
    return msgspec.structs.replace(
        translate.storage_class_record(storage_class),
        terms=class_terms(storage_class),
        retains=storage_class.reclaim_policy == "Retain",
    )


def kubernetes_node_record(node: KubernetesNode) -> records.KubernetesNode:
    """Translate a Kubernetes Node."""
    spec, labels = node.spec or KubernetesNodeSpec(), node.metadata.labels or {}
    return records.KubernetesNode(
        name=NodeName(node.metadata.name),
        labels={name: value or "" for name, value in labels.items()},
        cordoned=bool(spec.unschedulable),
        taints=tuple(
            records.Taint(key=each.key or "", value=each.value or "", effect=each.effect or "")
            for each in spec.taints or ()
        ),
    )


def wishes_of(pod: WholePod) -> Wishes:
    """Return what *pod* asks of kube-scheduler."""
    spec, metadata = pod.spec or WholePodSpec(), pod.metadata
    affinity = spec.affinity or Affinity()
    required = affinity.node_affinity.required if affinity.node_affinity else None
    owner = owner_of(metadata.owner_references)
    return Wishes(
        scheduler=spec.scheduler_name or "",
        resources=frozenset(_resources([*(spec.containers or ()), *(spec.init_containers or ())])),
        labels={name: value or "" for name, value in (metadata.labels or {}).items()},
        node_selector=spec.node_selector or {},
        terms=None if required is None else _terms(required),
        tolerations=tuple(map(_toleration, spec.tolerations or ())),
        has_pod_rules=_has_pod_rules(spec, affinity),
        gates=tuple(each.name or "" for each in spec.scheduling_gates or ()),
        owner=owner,
        of_daemon_set=owner is not None and owner[0] == DAEMON_SET,
        phase=(pod.status.phase if pod.status else None) or "",
        deleting=bool(metadata.deletion_timestamp),
    )


def owner_of(owners: Iterable[Owner] | None) -> tuple[str, str] | None:
    """Return kind and name of the controller among *owners*, None if there is none."""
    for each in owners or ():
        if each.controller:
            return each.kind or "", each.name or ""
    return None


def _toleration(given: Toleration) -> records.Toleration:
    return records.Toleration(
        key=given.key or "",
        operator=given.operator or "",
        value=given.value or "",
        effect=given.effect or "",
    )


def volume_terms(volume: WholePersistentVolume) -> tuple[NodeTerm, ...] | None:
    """Return the terms of a volume's node affinity, None if it has none."""
    affinity = volume.spec.node_affinity if volume.spec else None
    return _terms(affinity.required) if affinity and affinity.required else None


def class_terms(storage_class: WholeStorageClass) -> tuple[NodeTerm, ...] | None:
    """Return the `allowedTopologies` of a class, None if it has none."""
    found = tuple(
        NodeTerm(
            labels=tuple(
                Requirement(key=each.key or "", operator="In", values=tuple(each.values or ()))
                for each in term.match_label_expressions or ()
            )
        )
        for term in storage_class.allowed_topologies or ()
    )
    return found or None


def _terms(selector: NodeSelector) -> tuple[NodeTerm, ...]:
    return tuple(map(node_term, selector.node_selector_terms or ()))


def node_term(given: NodeSelectorTerm) -> NodeTerm:
    """Translate what nodes are to have."""
    return NodeTerm(
        labels=requirements(given.match_expressions), fields=requirements(given.match_fields)
    )


def requirements(expressions: Iterable[Expression] | None) -> tuple[Requirement, ...]:
    """Translate what labels or fields must be."""
    return tuple(
        Requirement(
            key=each.key or "", operator=each.operator or "", values=tuple(each.values or ())
        )
        for each in expressions or ()
    )


def _has_pod_rules(spec: WholePodSpec, affinity: Affinity) -> bool:
    rules = (affinity.pod_affinity, affinity.pod_anti_affinity)
    return any(each is not None and each.required for each in rules) or any(
        each.when_unsatisfiable == "DoNotSchedule"
        for each in spec.topology_spread_constraints or ()
    )


def _resources(containers: Iterable[Container]) -> Iterable[str]:
    for container in containers:
        given = container.resources or Resources()
        for kind in (given.limits, given.requests):
            yield from kind or ()
