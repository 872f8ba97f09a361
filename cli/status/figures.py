"""The figures of `status`, by what `survey`, `overview` and `filter` find."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from cli.explaining.pending import PendingPods
from cli.findings import Finding
from cli.overview.figures import NodeFigures
from cli.survey.found import named
from cli.survey.survey import Survey
from extender import ClusterView
from longhorn import Volume, VolumeName, VolumeTold, expanded_bytes
from planner.sizes import amount

VOLUME_LOST, VOLUME_FAULTED, VOLUME_UNREADABLE, VOLUME_DEGRADED = OF_VOLUMES = (
    "volume-lost",
    "volume-faulted",
    "volume-unreadable",
    "volume-degraded",
)
EVICTION = "eviction-under-way"


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """What is counted."""

    nodes: int
    nodes_that_take_replicas: int
    disks: int
    disks_that_take_replicas: int
    scheduled_bytes: int
    limit_bytes: int
    volumes: int
    """But for those that are being deleted."""
    healthy: int
    """Attached, and nothing is wrong with them."""
    degraded: int
    faulted: int
    unreadable: int
    lost: int
    detached: int
    """And nothing else is wrong with them."""
    filling: int
    """Being restored from a backup or copied from another volume, and nothing else is wrong."""
    waiting_pods: int
    """Without a node."""
    pods_that_fit_nowhere: int
    unjudged_pods: int
    """Without a node, and a claim of them cannot be judged."""
    evictions: int
    """Replicas to be moved away."""
    expansions: int
    """Volumes that are being expanded."""


def figures_of(
    found: Survey,
    nodes: Sequence[NodeFigures],
    pods: PendingPods,
    view: ClusterView,
    claims: Mapping[VolumeName, str],
) -> Figures:
    """Count all; *claims* name volumes as the survey does."""
    disks = [(node, disk) for node in nodes for disk in node.disks]
    bad = {code: about_of(found, code) for code in OF_VOLUMES}
    names = {about.partition(" ")[0] for each in bad.values() for about in each}
    volumes = [each for each in view.volumes.values() if not each.deleting]
    well = [each for each in volumes if named(each.name, claims) not in names]
    filling = sum(is_filling(each) for each in well)
    detached = sum(each.attached_to is None and not is_filling(each) for each in well)
    return Figures(
        nodes=len(nodes),
        nodes_that_take_replicas=sum(node.takes_replicas for node in nodes),
        disks=len(disks),
        disks_that_take_replicas=sum(not (node.problem or disk.problem) for node, disk in disks),
        scheduled_bytes=sum(disk.scheduled_bytes for _, disk in disks),
        limit_bytes=sum(disk.limit_bytes for _, disk in disks),
        volumes=len(volumes),
        healthy=len(well) - detached - filling,
        degraded=len(bad[VOLUME_DEGRADED]),
        faulted=len(bad[VOLUME_FAULTED]),
        unreadable=len(bad[VOLUME_UNREADABLE]),
        lost=len(bad[VOLUME_LOST]),
        detached=detached,
        filling=filling,
        waiting_pods=len(pods.pods),
        pods_that_fit_nowhere=sum(not (each.fits or each.error) for each in pods.pods),
        unjudged_pods=sum(bool(each.error) for each in pods.pods),
        evictions=len(about_of(found, EVICTION)),
        expansions=len([*expanding(view, claims)]),
    )


def findings_of(found: Survey, *codes: str) -> list[Finding]:
    """Return the findings whose codes begin so, the worst first."""
    return [each for each in found.findings if each.code.startswith(codes)]


def about_of(found: Survey, *codes: str) -> list[str]:
    """Return what they are about."""
    return [about for each in findings_of(found, *codes) for about in each.objects]


def is_filling(volume: Volume) -> bool:
    """Whether a volume still gets its first data; one on standby gets them again and again."""
    told = volume.told or VolumeTold()
    return told.is_copied or (told.restoring and not volume.standby)


def expanding(view: ClusterView, claims: Mapping[VolumeName, str]) -> Iterator[str]:
    """Name the volumes whose engine or replicas are smaller than they are to be."""
    for name, volume in sorted(view.volumes.items()):
        told = volume.told or VolumeTold()
        is_smaller = expanded_bytes(volume, view.replicas.get(name, ())) > 0
        if not volume.deleting and (told.expanding or is_smaller):
            yield f"{named(name, claims)} to {amount(volume.size_bytes)}"
