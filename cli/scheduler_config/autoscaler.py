"""What cluster-autoscaler must know of us and of Longhorn's room; pure.

It asks the plugins of kube-scheduler whether a pod fits on a node, or on one that it would add, and
no extender: kubernetes/autoscaler PR 5708 and cluster-autoscaler simulator/framework/handle.go.
"""

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum

import yaml

from app.config import RESOURCE
from app.errors import InputError
from app.serving.names import is_name
from cli.planning.values import size_bytes
from cli.scheduler_config.wanted import API_VERSION, KIND

TEMPLATE_LABEL = "cluster-autoscaler.kubernetes.io/template-node"
"""Of a node that is not there yet. Source: kubernetes/autoscaler PR 9702,
cluster-autoscaler simulator/node_info_utils.go."""

CONFIGURATION = f"""\
# For --scheduler-config-file of cluster-autoscaler, which takes one profile and asks no extender.
apiVersion: {API_VERSION}
kind: {KIND}
profiles:
  - schedulerName: default-scheduler
    pluginConfig:
      - name: NodeResourcesFit
        args:
          # Pods that ask for the extender ask for this. No node has it, so that they would seem to
          # fit on none, not even on a new one. ignoredByScheduler of an extender counts for
          # kube-scheduler alone.
          ignoredResources:
            - {RESOURCE}
"""

_WHY_CAPACITY = """\
# What a new node has for new volumes of the class: maximumVolumeSize on its best disk, capacity on
# all of them. It counts for the nodes that cluster-autoscaler thinks of adding, and for no other.
"""
_GIB = 2**30
_LABEL_KEY = re.compile(
    r"([a-z0-9][-.a-z0-9]{0,252}/)?[A-Za-z0-9]([-._A-Za-z0-9]{0,61}[A-Za-z0-9])?"
)
_LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-._A-Za-z0-9]{0,61}[A-Za-z0-9])?")


class For(StrEnum):
    """Whose configuration is printed."""

    KUBE_SCHEDULER = "kube-scheduler"
    CLUSTER_AUTOSCALER = "cluster-autoscaler"


def template_capacities(
    classes: Sequence[str], disks: Sequence[str], labels: Sequence[str], namespace: str
) -> str:
    """Write a CSIStorageCapacity of new nodes for each class, with the fields of Longhorn's.

    Source: longhorn-manager csi/controller_server.go GetCapacity. Its objects carry labels of
    external-provisioner, which deletes those that it does not know; these have none.

    Args:
        classes: Names of StorageClasses.
        disks: What Longhorn may put on each disk of a new node, like 500Gi.
        labels: KEY=VALUE of the nodes of one node group; none for all nodes.
        namespace: Of Longhorn.

    Raises:
        InputError: One of them cannot be used.
    """
    if not (classes and disks):
        missing = "--template-node-disk" if classes else "--storage-class"
        raise InputError(f"{missing} is missing: capacity of new nodes is by class and disk")
    for name in classes:
        if not is_name(name):
            raise InputError(f"--storage-class {name[:80]!r} is no name of a StorageClass")
    sizes = [_size_bytes(disk) for disk in disks]
    group = dict(_label(each) for each in labels)
    return _WHY_CAPACITY + yaml.safe_dump_all(
        (_capacity(name, sizes, group, namespace) for name in dict.fromkeys(classes)),
        sort_keys=False,
    )


def _capacity(
    name: str, sizes: Sequence[int], group: Mapping[str, str], namespace: str
) -> dict[str, object]:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIStorageCapacity",
        "metadata": {"name": _name(name, group), "namespace": namespace},
        "storageClassName": name,
        "nodeTopology": {"matchLabels": {TEMPLATE_LABEL: "true", **group}},
        "capacity": _quantity(sum(sizes)),
        "maximumVolumeSize": _quantity(max(sizes)),
    }


def _name(class_: str, group: Mapping[str, str]) -> str:
    """Name the object after class and group, so that each group may have one of its own."""
    values = [re.sub(r"[^a-z0-9]+", "-", value.lower()) for value in group.values()]
    return "-".join(["template-node", class_, *values])[:253].rstrip("-.")


def _quantity(bytes_: int) -> str:
    whole, rest = divmod(bytes_, _GIB)
    return str(bytes_) if rest else f"{whole}Gi"


def _size_bytes(text: str) -> int:
    try:
        return size_bytes(text)
    except ValueError as error:
        raise InputError(f"--template-node-disk: {error}") from error


def _label(text: str) -> tuple[str, str]:
    key, _, value = text.partition("=")
    if not (_LABEL_KEY.fullmatch(key) and _LABEL_VALUE.fullmatch(value)):
        raise InputError(
            f"--template-node-label {text[:80]!r} is no label; it must be like pool=storage"
        )
    if key in (TEMPLATE_LABEL, "kubernetes.io/hostname"):
        raise InputError(f"--template-node-label {key} cannot be given: no group is known by it")
    return key, value
