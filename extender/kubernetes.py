"""Kubernetes' objects, as far as decisions read them: plain frozen records, sizes in bytes."""

from collections.abc import Iterable, Mapping
from typing import NewType

import msgspec

from longhorn import V2_OFF_LABEL, NodeName

ClaimKey = NewType("ClaimKey", str)
"""Namespace and name of a PVC, joined by a slash."""
GroupKey = NewType("GroupKey", str)
"""The same of a PodGroup."""


class PodRef(msgspec.Struct, frozen=True, kw_only=True):
    """The pod kube-scheduler asks about, as far as its volumes matter."""

    namespace: str
    name: str
    uid: str
    claims: tuple[ClaimKey, ...]
    """In the order of the pod's volumes; generic ephemeral volumes by the claim made for them."""


class PodStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How far a pod has come, by the API server or by kube-scheduler."""

    version: int = 0
    """resourceVersion: of two, the larger one is the later. 0 if it is not known."""
    node: NodeName | None = None
    """spec.nodeName: None until the pod is bound."""
    nominated: NodeName | None = None
    """status.nominatedNodeName: where kube-scheduler means to bind it."""
    refusal: str | None = None
    """What the condition PodScheduled says while it is False; else None."""
    running: bool = False
    """It has begun to run, so that its volumes are attached."""
    ended: bool = False
    """It has run, or is being deleted before it was bound: nothing will be placed for it."""

    @property
    def waits(self) -> bool:
        """Whether kube-scheduler has yet to find a node for it."""
        return self.node is None and not self.ended


class Claim(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A PersistentVolumeClaim."""

    key: ClaimKey
    uid: str | None
    """None for a claim that is only in a file."""
    persistent_volume: str | None
    """Name of the bound PersistentVolume, None while unbound."""
    storage_class: str | None
    """None stands for the default class, "" for none."""
    requested_bytes: int
    read_write_many: bool
    read_write_once_pod: bool = False
    """One pod at a time may use it, wherever it is. Read for plans alone."""
    read_only_many: bool = False
    is_block: bool = False
    """Without a file system."""
    selected_node: NodeName | None = None
    """Where kube-scheduler wants it provisioned. It stays when that is done or has failed."""
    deleting: bool = False
    copy_of: ClaimKey | None = None
    """Another claim of its namespace, whose data it begins with."""
    is_restored: bool = False
    """It begins with the data of something else, such as a snapshot."""
    controller: str | None = None
    """The uid of what controls it, such as a pod. Read for the command line alone."""


class Requirement(msgspec.Struct, frozen=True, kw_only=True):
    """What a label or a field of a Kubernetes Node must be."""

    key: str
    operator: str
    """In, NotIn, Exists, DoesNotExist, Gt or Lt; any other is met by nothing."""
    values: tuple[str, ...] = ()


class NodeTerm(msgspec.Struct, frozen=True, kw_only=True):
    """Requirements that a Kubernetes Node must meet, all of them; without any, no node does."""

    labels: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()


class PersistentVolume(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A PersistentVolume; one that is not a CSI volume has neither driver nor handle."""

    name: str
    driver: str | None
    volume_handle: str | None
    """What the driver calls the volume."""
    terms: tuple[NodeTerm, ...] | None = None
    """Of its node affinity: a node must meet one. None if it has none. kube-scheduler judges it, so
    it is read for the command line alone."""
    retained: bool = False
    """Whether it and its volume stay when its claim is deleted. Read for the command line alone."""


class CsiNode(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A CSINode: which CSI drivers a kubelet knows."""

    name: NodeName
    has_longhorn: bool


class EngineOptOut(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A Kubernetes Node whose label switches Longhorn's data engine v2 off."""

    name: NodeName


def opt_out(name: NodeName, labels: Mapping[str, str]) -> EngineOptOut | None:
    """Say whether the labels of a Kubernetes Node switch data engine v2 off."""
    return EngineOptOut(name=name) if labels.get(V2_OFF_LABEL) == "true" else None


class StorageClass(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A StorageClass with its parameters as written."""

    name: str
    provisioner: str
    parameters: Mapping[str, str]
    is_default: bool = False
    """Whether it is for claims that name no class. There may be several such classes."""
    is_immediate: bool = False
    """Whether volumes are made before kube-scheduler looks at their pod. The API server writes this
    into each class; one without it is only in a file."""
    terms: tuple[NodeTerm, ...] | None = None
    """Its `allowedTopologies`, as above: volumes are made for such nodes alone."""
    created: str = ""
    """When, as the API server writes it: such texts sort as the times do. "" if it is not known.
    Read for plans alone."""
    retains: bool = False
    """Whether its volumes stay when their claims are deleted. Read for the command line alone."""


class ClaimTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """What the claim of a generic ephemeral volume will ask for."""

    persistent_volume: str | None = None
    storage_class: str | None = None
    """None stands for the default class, "" for none."""


class NewPod(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that is about to be created. It may have no name yet."""

    claims: tuple[ClaimKey, ...] = ()
    """Those that its volumes name."""
    templates: tuple[ClaimTemplate, ...] = ()
    """Those of its generic ephemeral volumes."""
    asks_for_extender: bool = False
    """Some container or init container has the resource."""
    scheduler: str = ""
    """spec.schedulerName, "" if there is none."""
    opted_out: bool = False
    """Its label says that nothing is to be injected."""
    of_daemon_set: bool = False
    """A DaemonSet controls it, which has chosen its node."""
    is_bound: bool = False
    """It has a node already."""


def class_of(claim: Claim, classes: Mapping[str, StorageClass]) -> StorageClass | None:
    """Return the class that a claim asks for, None if it asks for none or that is not there."""
    return classes.get(class_name(claim.storage_class, classes))


def class_name(named: str | None, classes: Mapping[str, StorageClass]) -> str:
    """Return the name of the class that counts: the one that is *named*, or the default one.

    "" if that asks for no class, or is left open while no class is the default.
    """
    return default_class(classes.values()) if named is None else named


def default_class(classes: Iterable[StorageClass]) -> str:
    """Return the name of the class for claims that name none, "" if there is no such class.

    Of several default classes the newest counts, among equally old ones the first by name: by this
    class volumes are made. Source: kubernetes pkg/volume/util/storageclass.go GetDefaultClass.
    """
    defaults = [each for each in classes if each.is_default]
    newest = max((each.created for each in defaults), default="")
    return min((each.name for each in defaults if each.created == newest), default="")
