"""StorageClasses whose volumes find no room or are refused, and claims that get no volume."""

from collections.abc import Collection, Iterator, Sequence

from cli.findings import Finding
from cli.largest import largest
from cli.survey.found import found
from extender import ClusterView, Extender, UnresolvableClaimError
from extender.demand import (
    ANY_CLAIM,
    LONGHORN_PROVISIONERS,
    estimate_volume,
    future_backing_image,
    has_volume,
)
from extender.kubernetes import StorageClass, class_of
from longhorn import Settings, Volume


def of_classes(view: ClusterView, extender: Extender) -> Iterator[Finding]:
    """Judge the StorageClasses of Longhorn."""
    for name, class_ in sorted(view.storage_classes.items()):
        if class_.provisioner not in LONGHORN_PROVISIONERS:
            continue
        try:
            volume = estimate_volume(ANY_CLAIM, class_, view)
        except UnresolvableClaimError as error:
            yield found("class-unusable", str(error), [name])
            continue
        yield from _of_binding(class_, volume)
        knows_image = view.backing_images or future_backing_image(class_)
        if volume.backing_image and not knows_image:
            continue  # that its kind was read at all is not known
        figures = largest(class_, view, extender)
        if not figures.largest_bytes and view.spaces and view.settings.unreadable is None:
            text = f"no new volume of StorageClass {name} fits: {figures.problem}"
            yield found("class-without-room", text, [name], **_takers(volume, view.settings))


def of_claims(view: ClusterView, told: Collection[str]) -> Iterator[Finding]:
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
                yield found("claim-unusable", str(error), [key])


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
        text = f"volumes of StorageClass {name} may be on other nodes than their pod"
        yield found("class-never-local", text, [name])
    elif class_.is_immediate:
        text = (
            f"volumes of StorageClass {name} are to be beside their pod, and made before it has a "
            "node: volumeBindingMode is Immediate"
        )
        yield found("class-immediate", text, [name])
