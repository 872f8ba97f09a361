"""The objects of a trial. All have one label, by which they are found again."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import msgspec

from app.config import RESOURCE
from cli.trial.cases import Class

Object = dict[str, Any]

LABEL = "longhorn-scheduler-extender/trial"
SELECTOR = f"{LABEL}=true"
_LABELS = {LABEL: "true"}
_NO_INJECTION = {"longhorn-scheduler-extender/injection": "disabled"}
"""A pod asks for an extender by its manifest or not at all."""
PROVISIONER = "driver.longhorn.io"
_NOBODY = 65_535
_END_SECONDS = 2


class Way(StrEnum):
    """Who is asked for nodes of pods."""

    NONE = "none"
    """kube-scheduler alone."""
    OURS = "ours"
    """This extender besides."""
    LONGHORN = "longhorn"
    """That of Longhorn 1.13 besides."""


class Asking(msgspec.Struct, frozen=True, kw_only=True):
    """How pods are made."""

    way: Way
    scheduler: str
    image: str


def namespace(name: str) -> Object:
    """Build the namespace of a trial."""
    return {"metadata": {"name": name, "labels": _LABELS}}


def storage_class(class_: Class) -> Object:
    """Build a StorageClass whose volumes go with their claims."""
    return {
        "metadata": {"name": class_.name, "labels": _LABELS},
        "provisioner": PROVISIONER,
        "parameters": dict(class_.parameters),
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "Immediate" if class_.is_immediate else "WaitForFirstConsumer",
    }


def stateful_set(
    name: str,
    namespace: str,
    *,
    pods: int,
    claims: int,
    claim_bytes: int,
    class_: Class,
    asking: Asking,
    nodes: Sequence[str],
) -> Object:
    """Build a StatefulSet that starts all its pods at once, on these nodes alone.

    Its claims are raw devices: not even a file system is written to them.
    """
    labels = {"app": name}
    names = [f"data-{number}" for number in range(claims)]
    return {
        "metadata": {"name": name, "namespace": namespace, "labels": _LABELS},
        "spec": {
            "replicas": pods,
            "serviceName": name,
            "podManagementPolicy": "Parallel",
            "updateStrategy": {"type": "OnDelete"},
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": {**_LABELS, **labels, **_NO_INJECTION}},
                "spec": {**pod_spec(asking, nodes), **_devices(names, asking)},
            },
            "volumeClaimTemplates": [
                {
                    "metadata": {"name": each, "labels": _LABELS},
                    "spec": {
                        "accessModes": ["ReadWriteOnce"],
                        "volumeMode": "Block",
                        "storageClassName": class_.name,
                        "resources": {"requests": {"storage": str(claim_bytes)}},
                    },
                }
                for each in names
            ],
        },
    }


def probe(namespace: str, asking: Asking, nodes: Sequence[str]) -> Object:
    """Build a pod without claims, which asks as the others do."""
    labels = {**_LABELS, **_NO_INJECTION}
    spec = {**pod_spec(asking, nodes), "containers": [_container(asking)]}
    return {"metadata": {"name": "probe", "namespace": namespace, "labels": labels}, "spec": spec}


def pod_spec(asking: Asking, nodes: Sequence[str]) -> Object:
    """Build what all pods have in common, but for their containers."""
    return {
        "schedulerName": asking.scheduler,
        "terminationGracePeriodSeconds": _END_SECONDS,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _NOBODY,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "affinity": affinity(nodes),
    }


def affinity(nodes: Sequence[str]) -> Object:
    """Build what keeps a pod to nodes by their names, whatever their labels are."""
    terms = [
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}
        for name in nodes
    ]
    required = {"nodeSelectorTerms": terms}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def eviction(pod: str, namespace: str) -> Object:
    """Build what asks for a pod to go, as `kubectl drain` does."""
    return {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod, "namespace": namespace},
    }


def _devices(names: Sequence[str], asking: Asking) -> Object:
    devices = [{"name": each, "devicePath": f"/dev/{each}"} for each in names]
    return {"containers": [{**_container(asking), "volumeDevices": devices}]}


def _container(asking: Asking) -> Object:
    asks = {} if asking.way is Way.NONE else {RESOURCE: "1"}
    return {
        "name": "trial",
        "image": asking.image,
        "resources": {"limits": asks, "requests": asks},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        },
    }
