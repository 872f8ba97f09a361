"""What a node and a disk must be like, besides having room, for a replica to be placed there."""

from collections.abc import Iterable

from extender.demand.requests import Need
from extender.space import DiskKind
from extender.verdicts.rejections import NodeTags, Rejection, Topology
from longhorn import Node, Settings, TopologyTerm

_EXT_LIMIT_BYTES = 2**44
_XFS_LIMIT_BYTES = 2**63 - 1

Selector = tuple[str, ...]


def tags_match(tags: frozenset[str], selector: Selector, *, allow_empty: bool) -> bool:
    """Say whether *tags* meet *selector*: all of it, case-sensitive, nothing trimmed.

    An empty selector meets anything if *allow_empty*, else only what has no tags. Source:
    longhorn-manager types.IsSelectorsInTags.
    """
    if not selector:
        return allow_empty or not tags
    return tags.issuperset(selector)


def node_mismatch(
    node: Node,
    selectors: Iterable[Selector],
    topologies: Iterable[tuple[TopologyTerm, ...]],
    settings: Settings,
) -> Rejection | None:
    """Say what keeps replicas of such selectors and topologies from *node*, if anything."""
    for terms in topologies:
        if not any(
            term.zone in ("", node.zone) and term.region in ("", node.region) for term in terms
        ):
            return Topology()
    for selector in selectors:
        if not tags_match(node.tags, selector, allow_empty=settings.allow_empty_node_selector):
            return NodeTags(selector=selector)
    return None


def disk_suits(kind: DiskKind, need: Need, settings: Settings) -> bool:
    """Say whether a disk of this kind may hold the replica, room aside."""
    return (
        kind.type == need.disk_type
        and tags_suit(kind, need, settings)
        and _file_size_suits(kind, need)
    )


def tags_suit(kind: DiskKind, need: Need, settings: Settings) -> bool:
    """Say whether disks of this kind meet all disk selectors."""
    return all(selector_met(kind, selector, settings) for selector in need.disk_selectors)


def selector_met(kind: DiskKind, selector: Selector, settings: Settings) -> bool:
    """Say whether disks of this kind meet one disk selector."""
    return tags_match(kind.tags, selector, allow_empty=settings.allow_empty_disk_selector)


def _file_size_suits(kind: DiskKind, need: Need) -> bool:
    """Whether one file of the volume's size is possible (datastore IsSupportedVolumeSize)."""
    if kind.type == "filesystem" and kind.filesystem.startswith("ext"):
        return need.size_bytes < _EXT_LIMIT_BYTES
    if kind.type == "filesystem" and kind.filesystem == "xfs":
        return need.size_bytes < _XFS_LIMIT_BYTES
    return True
