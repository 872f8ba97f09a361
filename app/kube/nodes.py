"""What the service reads of Kubernetes' nodes: whether Longhorn's driver and engines run there."""

from app.kube.objects import KubeStruct, Metadata, Text
from extender.demand import LONGHORN_DRIVERS
from extender.kubernetes import CsiNode, EngineOptOut
from longhorn import NodeName


class CsiDriver(KubeStruct, frozen=True):
    name: Text = None


class CsiNodeSpec(KubeStruct, frozen=True):
    drivers: list[CsiDriver] | None = None


class CsiNodeObject(KubeStruct, frozen=True):
    metadata: Metadata
    spec: CsiNodeSpec | None = None


class OptedOutNode(KubeStruct, frozen=True):
    """A Kubernetes Node of which only the label matters that it was selected by."""

    metadata: Metadata


def csi_node_record(node: CsiNodeObject) -> CsiNode:
    """Translate a CSINode."""
    drivers = (node.spec.drivers if node.spec else None) or ()
    return CsiNode(
        name=NodeName(node.metadata.name),
        has_longhorn=any(driver.name in LONGHORN_DRIVERS for driver in drivers),
    )


def opted_out_record(node: OptedOutNode) -> EngineOptOut:
    """Translate a Kubernetes Node with the label."""
    return EngineOptOut(name=NodeName(node.metadata.name))
