"""What is missing where a pod's volumes do not fit on a node."""

from extender.demand.items import Demand
from extender.space import NodeSpace, why_unusable
from extender.verdicts.rejections import Rejection
from extender.verdicts.shortages import (
    DiskTags,
    FilesystemLimit,
    InsufficientStorage,
    NoDiskOfType,
    NoUsableDisk,
    VolumesDoNotFit,
)
from extender.view import ClusterView
from longhorn import Need, all_match, tags_match
from packing import is_stranded


def shortage(demand: Demand, space: NodeSpace, view: ClusterView) -> Rejection:
    """Say what is missing for a demand that does not fit, naming the largest volume it hits."""
    if not space.bins:
        return NoUsableDisk()
    for item, need in demand.by_size:
        if is_stranded(item, space.roomiest):
            if any(bin_.kind in item.kinds for bin_ in space.roomiest):
                return InsufficientStorage(size_bytes=need.size_bytes)
            return _unsuitable_disks(need, space, view)
    return VolumesDoNotFit(
        volumes=len(demand.by_size), size_bytes=sum(need.size_bytes for _, need in demand.by_size)
    )


def _unsuitable_disks(need: Need, space: NodeSpace, view: ClusterView) -> Rejection:
    kinds = [each.kind for each in space.disks if why_unusable(each.disk) is None]
    kinds = [kind for kind in kinds if kind.type == need.disk_type]
    if not kinds:
        return NoDiskOfType(type=need.disk_type)
    allow_empty = view.settings.allow_empty_disk_selector
    if any(all_match(kind.tags, need.disk_selectors, allow_empty=allow_empty) for kind in kinds):
        return FilesystemLimit(size_bytes=need.size_bytes)
    met_by_none = (
        selector
        for selector in need.disk_selectors
        if not any(tags_match(kind.tags, selector, allow_empty=allow_empty) for kind in kinds)
    )
    all_tags = tuple(dict.fromkeys(tag for selector in need.disk_selectors for tag in selector))
    return DiskTags(selector=next(met_by_none, all_tags))
