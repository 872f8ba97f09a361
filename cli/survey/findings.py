"""What is wrong or at risk, found in the objects alone: so it works on a support bundle, too."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import msgspec

from cli.catalogue import RISKS, Severity
from cli.data import data_in
from cli.largest import largest
from cli.survey.losses import endangered
from extender import ClusterView, Extender, UnresolvableClaimError
from extender.demand import (
    ANY_CLAIM,
    LONGHORN_PROVISIONERS,
    estimate_volume,
    future_backing_image,
    has_volume,
)
from extender.kubernetes import StorageClass, class_of
from extender.space import why_unusable
from extender.verdicts import node_rejection
from longhorn import (
    DataState,
    DiskSpace,
    NodeName,
    Settings,
    Volume,
    VolumeData,
    VolumeName,
)
from planner.sizes import amount

_NEAR_PERCENT = 90
"""From so much of its limit on, a disk counts as nearly full."""
_LOW_PERCENT = 10
"""With less of its size left to be written, a disk counts as about to be full."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What one rule found."""

    rule: str
    severity: Severity
    text: str
    objects: tuple[str, ...]
    """What it is about, all of them."""
    remedy: str


class Survey(msgspec.Struct, frozen=True, kw_only=True):
    """What `survey -o json` prints."""

    findings: tuple[Finding, ...]
    """The worst first."""
    nodes_that_may_be_lost: tuple[str, ...]
    """Each of them alone, without that a volume loses its data."""
    notes: tuple[str, ...]
    """What is not known."""


def survey(
    view: ClusterView,
    extender: Extender,
    claims: Mapping[VolumeName, str],
    held: Iterable[str] = (),
) -> Survey:
    """Look at everything.

    Args:
        view: The cluster.
        extender: Decides what fits.
        claims: How volumes are named, by their claims.
        held: Pods that wait for a volume, each with what holds that.
    """
    lost_with, of_classes = endangered(view), [*_of_classes(view, extender)]
    found = [
        *_of_volumes(view, claims),
        *_of_nodes(lost_with, claims),
        *_of_pods([*held]),
        *_of_disks(view),
        *of_classes,
        *_of_claims(view, {each.text for each in of_classes}),
    ]
    order = [*Severity]
    return Survey(
        findings=tuple(sorted(found, key=lambda each: order.index(each.severity))),
        nodes_that_may_be_lost=tuple(sorted(_without_loss(view, lost_with))),
        notes=tuple(_notes(view)),
    )


def _without_loss(view: ClusterView, lost_with: Iterable[NodeName]) -> Iterator[NodeName]:
    """Yield the nodes that may be lost; none if nothing is known of any replica."""
    if not _lacks_replicas(view):
        yield from view.spaces.keys() - {*lost_with}


def _lacks_replicas(view: ClusterView) -> bool:
    return not view.replicas and any(not each.sharded for each in view.volumes.values())


def _notes(view: ClusterView) -> Iterator[str]:
    if view.settings.unreadable is not None:
        yield f"Longhorn's setting {view.settings.unreadable} cannot be read: nothing is placed"
    for (kind, name), why in sorted(view.unreadable.items()):
        yield f"{kind} {name} cannot be read, and is left out: {why}"
    if _lacks_replicas(view):
        yield "no Replica is known: which nodes may be lost is not known either"
    for volume in sorted(view.volumes.values(), key=lambda each: each.name):
        if volume.sharded and volume.name not in view.replicas:
            yield f"where the shards of volume {volume.name} are is not known"


def _of_pods(held: Sequence[str]) -> Iterator[Finding]:
    if held:
        text = f"{_count(len(held), 'pod')} on nodes without the volume that they wait for"
        yield _found("volume-held", text, held)


def _of_nodes(
    lost_with: Mapping[NodeName, list[VolumeName]], claims: Mapping[VolumeName, str]
) -> Iterator[Finding]:
    for node, volumes in sorted(lost_with.items()):
        names = [_named(each, claims) for each in volumes]
        text = f"with node {node} {_count(len(names), 'volume')} would lose all data"
        yield _found("node-has-last-replica", text, names)


def _of_volumes(view: ClusterView, claims: Mapping[VolumeName, str]) -> Iterator[Finding]:
    found: dict[str, list[str]] = {rule: [] for rule in _OF_VOLUMES}
    zones = {name: space.node.zone for name, space in view.spaces.items()}
    for name, volume in sorted(view.volumes.items()):
        data, about = data_in(view, name), _named(name, claims)
        if not (data.is_new or volume.deleting):
            for rule, more in _of_volume(volume, data, zones):
                found[rule].append(f"{about} ({more})" if more else about)
    for rule, names in found.items():
        if names:
            yield _found(rule, f"{_count(len(names), 'volume')} {_OF_VOLUMES[rule]}", names)


def _of_volume(
    volume: Volume, data: VolumeData, zones: Mapping[NodeName, str]
) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with a volume that has data, each with more about it."""
    broken = _UNREADABLE.get(data.state)
    if broken is not None:
        yield broken, f"before {' or '.join(map(str, data.awaited))}" if data.awaited else ""
    if data.state is not DataState.READABLE:
        return
    healthy = data.usable
    if len(healthy) < volume.wanted_replicas:
        yield "volume-degraded", f"{len(healthy)} of {volume.wanted_replicas}"
    if volume.wanted_replicas == 1:
        yield "single-replica", ""
    used = {zones.get(each.node or NodeName("")) for each in healthy}
    if len({*zones.values()} - {""}) > 1 and len(healthy) > 1 and len(used) == 1:
        yield "one-zone", ""


_UNREADABLE = {
    DataState.LOST: "volume-lost",
    DataState.FAULTED: "volume-faulted",
    DataState.AWAITED: "volume-unreadable",
}
_OF_VOLUMES = {
    "volume-lost": "without any replica with data: what they held is lost here",
    "volume-faulted": "of which all replicas with data have failed",
    "volume-unreadable": "whose data nothing can read now",
    "volume-degraded": "with fewer healthy replicas than wanted",
    "single-replica": "with one replica: the loss of its disk loses the data",
    "one-zone": "with all replicas in one zone",
}


def _of_disks(view: ClusterView) -> Iterator[Finding]:
    for name, space in sorted(view.spaces.items()):
        problem = node_rejection(space)
        if problem is not None:
            text = f"no replica can be placed on node {name}: {problem}"
            yield _found("node-unusable", text, [name])
        for disk in space.disks:
            about = f"{name}/{disk.disk.name}"
            why = why_unusable(disk.disk)
            if why is not None and problem is None:
                text = f"no replica can be placed on disk {about}: {why}"
                yield _found("disk-unusable", text, [about])
            yield from _of_room(disk, about)


def _of_room(space: DiskSpace, about: str) -> Iterator[Finding]:
    """Judge how full a disk is; of one that is not ready nothing is known."""
    disk = space.disk
    if not disk.ready.is_true or disk.maximum_bytes <= 0:
        return
    percent = 100 * space.scheduled_bytes // max(1, space.limit_bytes)
    if disk.reserved_bytes >= disk.maximum_bytes:
        reserved, size = amount(disk.reserved_bytes), amount(disk.maximum_bytes)
        text = f"disk {about} has {reserved} reserved, and {size} in all: nothing fits on it"
        yield _found("disk-reserved", text, [about])
    elif space.logical_headroom_bytes < 0:
        text = f"disk {about} has more scheduled than its limit: {percent} %"
        yield _found("disk-over-limit", text, [about])
    elif percent >= _NEAR_PERCENT:
        text = f"disk {about} is near its limit: {percent} % of it is scheduled"
        yield _found("disk-near-limit", text, [about])
    left = 100 * space.physical_headroom_bytes // disk.maximum_bytes
    if space.physical_headroom_bytes < 0:
        text = f"disk {about} is full: Longhorn places nothing more on it"
        yield _found("disk-full", text, [about])
    elif left < _LOW_PERCENT:
        text = f"disk {about} is about to be full: {left} % of it may still be written"
        yield _found("disk-full-soon", text, [about])


def _of_classes(view: ClusterView, extender: Extender) -> Iterator[Finding]:
    for name, class_ in sorted(view.storage_classes.items()):
        if class_.provisioner not in LONGHORN_PROVISIONERS:
            continue
        try:
            volume = estimate_volume(ANY_CLAIM, class_, view)
        except UnresolvableClaimError as error:
            yield _found("class-unusable", str(error), [name])
            continue
        yield from _of_binding(class_, volume)
        knows_image = view.backing_images or future_backing_image(class_)
        if volume.backing_image and not knows_image:
            continue  # that its kind was read at all is not known
        figures = largest(class_, view, extender)
        if not figures.largest_bytes and view.spaces and view.settings.unreadable is None:
            text = f"no new volume of StorageClass {name} fits: {figures.problem}"
            yield _found("class-without-room", text, [name], **_takers(volume, view.settings))


def _of_claims(view: ClusterView, told: Collection[str]) -> Iterator[Finding]:
    """Name claims of which Longhorn makes no volume, but for what was *told* of their classes."""
    for key, claim in sorted(view.claims.items()):
        class_ = class_of(claim, view.storage_classes)
        if class_ is None or class_.provisioner not in LONGHORN_PROVISIONERS:
            continue
        if has_volume(claim, view):
            continue
        try:
            estimate_volume(claim, class_, view)
        except UnresolvableClaimError as error:
            if str(error) not in told:
                yield _found("claim-unusable", str(error), [key])


def _takers(volume: Volume, settings: Settings) -> dict[str, str]:
    """Say which disks take replicas of a volume: of which type, with which tags, on which nodes."""
    disk = _tagged(volume.disk_selector, allow_empty=settings.allow_empty_disk_selector)
    node = _tagged(volume.node_selector, allow_empty=settings.allow_empty_node_selector)
    wanted = [*volume.disk_selector, *volume.node_selector]
    type_ = "block disk" if volume.disk_type == "block" else "disk"
    return {
        "disk": f"a {type_}{disk}" + (f" on a node{node}" if node else ""),
        "tags": ", give such tags to another" if wanted else "",
    }


def _tagged(selector: Sequence[str], *, allow_empty: bool) -> str:
    if selector:
        return f" with the tags {','.join(selector)}"
    return "" if allow_empty else " without tags"


def _of_binding(class_: StorageClass, volume: Volume) -> Iterator[Finding]:
    name = class_.name
    if not volume.needs_local_replica:
        text = f"volumes of StorageClass {name} are never sure to be beside their pod"
        yield _found("class-never-local", text, [name])
    elif class_.is_immediate:
        text = (
            f"volumes of StorageClass {name} are to be beside their pod, and made before it has a "
            "node: volumeBindingMode is Immediate"
        )
        yield _found("class-immediate", text, [name])


def _found(rule: str, text: str, objects: Iterable[str], **named: str) -> Finding:
    """Make a finding; *named* are parts of its remedy."""
    entry = RISKS[rule]
    return Finding(
        rule=rule,
        severity=entry.severity,
        text=text,
        objects=tuple(objects),
        remedy=entry.action.format(**named),
    )


def _named(volume: VolumeName, claims: Mapping[VolumeName, str]) -> str:
    return claims.get(volume, volume)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
