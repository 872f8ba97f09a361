"""What nodes of a cluster a trial may use, and what their disks take."""

from collections.abc import Iterator

from cli.explaining.exclusions import exclusions
from cli.explaining.explainer import Explainer
from cli.largest import CLAIMING, with_claim
from cli.trial.cases import LOCAL
from cli.trial.manifests import PROVISIONER
from cli.trial.sizing import LEAST_BYTES, Rooms
from extender import UnresolvableClaimError
from extender.demand import LONGHORN_PROVISIONERS
from extender.kubernetes import StorageClass
from extender.space import NodeSpace
from longhorn import Node, NodeName, Settings, tags_match
from planner.records import KubernetesNode, Wishes

_CLASS = "trial-local"
_FILE_SYSTEM = "filesystem"
"""Disks of data engine v1."""


def rooms(explainer: Explainer, most_nodes: int) -> Rooms:
    """Return what may be scheduled on the disks of the nodes with most room.

    Only nodes count where a pod with a small volume of one replica may go now: by kube-scheduler's
    rules, and by ours.
    """
    view, cluster = explainer.view, explainer.cluster
    names = cluster.candidates()
    kubernetes = cluster.of(KubernetesNode)
    excluded = exclusions(names, kubernetes, cluster.of(Node), Wishes(), ())
    class_ = StorageClass(name=_CLASS, provisioner=PROVISIONER, parameters=LOCAL)
    asked = with_claim(class_, LEAST_BYTES, view)
    candidates = [name for name in names if name not in excluded]
    try:
        accepted = explainer.extender.filter(
            CLAIMING, candidates, asked, utc=explainer.utc
        ).accepted
    except UnresolvableClaimError:
        return {}
    found = {name: [*_rooms(view.spaces[NodeName(name)], view.settings)] for name in accepted}
    most = sorted(found, key=lambda name: (-sum(found[name]), name))[:most_nodes]
    return {name: found[name] for name in most}


def classes(explainer: Explainer) -> list[StorageClass]:
    """Return the StorageClasses of Longhorn, by their names."""
    found = sorted(explainer.view.storage_classes.items())
    return [each for _, each in found if each.provisioner in LONGHORN_PROVISIONERS]


def _rooms(space: NodeSpace, settings: Settings) -> Iterator[int]:
    for disk, usable in zip(space.disks, space.usable, strict=True):
        is_met = tags_match(disk.disk.tags, (), allow_empty=settings.allow_empty_disk_selector)
        if usable is not None and is_met and disk.kind.type == _FILE_SYSTEM:
            yield max(0, disk.logical_headroom_bytes)
