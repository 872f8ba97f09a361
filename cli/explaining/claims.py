"""What a pod asks for: each claim with its volume, as the user named it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches

import msgspec
from msgspec import structs

from cli.data import data_in
from extender import ClusterView, PodRef, UnresolvableClaimError
from extender.demand import (
    WantedVolume,
    Worth,
    existing_by_node,
    resolve_for_scheduled,
    source_replicas,
)
from extender.kubernetes import ClaimKey, class_name
from longhorn import (
    BackingImage,
    JudgedReplica,
    Selector,
    Usability,
    Volume,
    VolumeName,
    split_tags,
)

_WORTHS = {
    Worth.USABLE: "usable",
    Worth.EVICTING: "being moved away",
    Worth.ROOM: "incomplete",
}


class SelectorReport(msgspec.Struct):
    """Tags that a volume asks for."""

    of: str
    """node or disk."""
    tags: Sequence[str]
    source: str
    """The object and field that asks."""
    hint: str
    """On tags that no node or disk has; empty if all are there."""


class ReplicaReport(msgspec.Struct):
    """A replica that exists."""

    name: str
    node: str
    """Empty if it is not placed."""
    state: str


class ClaimReport(msgspec.Struct):
    """One claim of the pod."""

    claim: str
    volume: str
    """The Longhorn Volume; empty if none is known, or the storage is not Longhorn's."""
    storage_class: str
    state: str
    """new, exists, other (not Longhorn's storage) or unusable."""
    size_bytes: int
    actual_bytes: int
    """What the volume holds already, with its snapshots: it may be more than the size."""
    wanted_replicas: int
    """Or shards, if it is erasure-coded."""
    shard_bytes: int
    """The size of each shard; 0 if it has replicas."""
    locality: str
    local: bool
    """Whether a replica must be on the pod's node."""
    never_local: bool
    """Whether none ever need be: the volume is shared by nodes, or erasure-coded."""
    disk_type: str
    backing_image: str
    selectors: Sequence[SelectorReport]
    replicas: Sequence[ReplicaReport]
    error: str
    """Why it is unusable."""


def claim_reports(
    pod: PodRef, view: ClusterView, say: Callable[[UnresolvableClaimError], str] = str
) -> list[ClaimReport]:
    """Describe each claim of *pod*, in its order; *say* gives the text of an error."""
    return [_claim_report(pod, key, view, say) for key in pod.claims]


def claim_names(reports: Iterable[ClaimReport], namespace: str) -> dict[VolumeName, str]:
    """Return how volumes are to be named: by the claims of the pod, without its own namespace."""
    return {
        VolumeName(each.volume): each.claim.removeprefix(f"{namespace}/")
        for each in reports
        if each.volume
    }


def tag_hint(selector: Selector, tags: Iterable[str], of: str) -> str:
    """Say which tags of a selector nothing has, and which similar ones there are."""
    tags = sorted(tags)
    missing = [tag for tag in selector if tag not in tags]
    if not missing:
        return ""
    texts = []
    for tag in missing:
        like = [each for each in tags if each.strip().lower() == tag.strip().lower()]
        like = like or get_close_matches(tag, tags, n=1)
        texts.append(
            f"no {of} has tag {tag!r}" + (f"; is {like[0]!r} meant? case counts" if like else "")
        )
    there = ", ".join(tags) or "none"
    return f"{'; '.join(texts)} (tags of {of}s: {there})"


def _claim_report(
    pod: PodRef, key: ClaimKey, view: ClusterView, say: Callable[[UnresolvableClaimError], str]
) -> ClaimReport:
    claim = view.claims.get(key)
    report = ClaimReport(
        claim=key,
        volume="",
        storage_class=class_name(claim.storage_class, view.storage_classes) if claim else "",
        state="other",
        size_bytes=claim.requested_bytes if claim else 0,
        actual_bytes=0,
        wanted_replicas=0,
        shard_bytes=0,
        locality="",
        local=False,
        never_local=False,
        disk_type="",
        backing_image="",
        selectors=[],
        replicas=[],
        error="",
    )
    try:
        request = resolve_for_scheduled(structs.replace(pod, claims=(key,)), view)
    except UnresolvableClaimError as error:
        hints = _class_selectors(report.storage_class, view)
        return structs.replace(report, state="unusable", error=say(error), selectors=[*hints])
    wanted = next(iter((*request.volumes, *request.remote)), None)
    if wanted is None:
        return report
    volume = wanted.volume
    exists = volume.name in view.volumes
    return structs.replace(
        report,
        volume=volume.name,
        state="exists" if exists else "new",
        size_bytes=volume.size_bytes,
        actual_bytes=volume.actual_bytes,
        wanted_replicas=volume.wanted_replicas,
        shard_bytes=volume.shard_bytes,
        locality=volume.locality,
        local=wanted.is_local,
        never_local=volume.shared or volume.sharded,
        disk_type=volume.disk_type,
        backing_image=volume.backing_image or "",
        selectors=[*_selectors(volume, report.storage_class, view)],
        replicas=[*_replicas(wanted, view)],
    )


def _selectors(volume: Volume, storage_class: str, view: ClusterView) -> Iterator[SelectorReport]:
    if volume.name in view.volumes:
        source = f"Volume {volume.name}"
    else:
        source = f"StorageClass {storage_class}"
    yield from _both(volume.node_selector, volume.disk_selector, source, view)
    image = view.backing_images.get(volume.backing_image or "")
    if image is not None:
        yield from _image_selectors(image, view)


def _image_selectors(image: BackingImage, view: ClusterView) -> Iterator[SelectorReport]:
    source = f"BackingImage {image.name}"
    yield from _both(image.node_selector, image.disk_selector, source, view)


def _class_selectors(storage_class: str, view: ClusterView) -> Iterator[SelectorReport]:
    """Return those of a class whose volumes cannot be made: its tags may be why."""
    found = view.storage_classes.get(storage_class)
    parameters = found.parameters if found else {}
    nodes, disks = (
        split_tags(parameters[name]) if parameters.get(name) else ()
        for name in ("nodeSelector", "diskSelector")
    )
    yield from _both(nodes, disks, f"StorageClass {storage_class}", view)


def _both(
    nodes: Selector, disks: Selector, source: str, view: ClusterView
) -> Iterator[SelectorReport]:
    for of, selector, tags in (
        ("node", nodes, view.node_tags),
        ("disk", disks, view.disk_tags),
    ):
        if selector:
            yield SelectorReport(
                of=of,
                tags=selector,
                source=f"{of}Selector of {source}",
                hint=tag_hint(selector, tags, of),
            )


def _replicas(wanted: WantedVolume, view: ClusterView) -> Iterator[ReplicaReport]:
    for judged in data_in(view, wanted.name).judged:
        replica = judged.replica
        yield ReplicaReport(
            name=replica.name, node=replica.node or "", state=_state(judged, wanted, view)
        )


def _state(judged: JudgedReplica, wanted: WantedVolume, view: ClusterView) -> str:
    replica = judged.replica
    if replica.deleting:
        return "being deleted"
    if replica.turned_away_from is not None:
        return f"not granted by its disk on {replica.named_place[0]}, not placed yet"
    if replica.node is None:
        only = replica.hard_node_affinity
        return f"not placed yet, for {only} alone" if only else "not placed yet"
    if judged.awaits is not None and not replica.failed:
        return f"not usable before {judged.awaits}"
    siblings = view.replicas.get(wanted.name, ())
    others = [each for each in siblings if each is not replica and each.healthy_once]
    # Whether a volume was ever written is seen from all its replicas.
    found = existing_by_node(
        [replica, *(structs.replace(o, node=None) for o in others)],
        wanted.need,
        view,
        shared=source_replicas(wanted.volume, view),
    )
    if replica.node in found:
        state = _WORTHS[found[replica.node].worth]
        return "failed, can be used again" if replica.failed else state
    if judged.usability is Usability.GONE:
        return "on a node or disk that Longhorn does not know any more"
    return "failed" if replica.failed else "on a node that is not ready"
