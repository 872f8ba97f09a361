"""What fills a disk: replicas, failed ones and left-over ones among them, and backing images."""

from collections.abc import Iterator, Mapping

import msgspec

from cli.explaining.details import claims_of_volumes
from extender import ClusterView
from longhorn import (
    DiskId,
    DiskSpace,
    NodeName,
    Replica,
    named_volume,
)
from planner.sizes import amount


class Content(msgspec.Struct, frozen=True, kw_only=True):
    """One thing on a disk."""

    name: str
    """The claim of a replica's volume, or the volume; or the backing image."""
    replica: str
    """Empty for a backing image."""
    scheduled_bytes: int
    written_bytes: int
    """All that its volume holds with its snapshots; 0 if that is not known."""
    note: str
    """What is odd about it; empty if nothing is."""


class Contents:
    """What is on the disks of a cluster.

    Args:
        view: The cluster.
    """

    def __init__(self, view: ClusterView) -> None:
        self._view, self._claims = view, claims_of_volumes(view)
        self._on: dict[tuple[NodeName | None, DiskId | None], list[Replica]] = {}
        for replicas in view.replicas.values():
            for each in replicas:
                self._on.setdefault((each.node, each.disk), []).append(each)

    def of(self, space: DiskSpace, node: NodeName) -> list[Content]:
        """Return what is on a disk, what takes most of it first."""
        found = [*self._replicas(space, node), *_images(space)]
        return sorted(found, key=lambda e: (-max(e.written_bytes, e.scheduled_bytes), e.name))

    def _replicas(self, space: DiskSpace, node: NodeName) -> Iterator[Content]:
        disk, unlisted = space.disk, {str(n): size for n, size in space.unlisted.items()}
        there: dict[str, Replica] = {
            each.name: each for each in self._on.get((node, disk.id), ()) if disk.id
        }
        for name in dict.fromkeys([*there, *disk.listed, *unlisted]):
            replica = there.get(name)
            volume = self._view.volumes.get(replica.volume if replica else named_volume(name))
            has_data = replica is not None and replica.may_have_data
            written = volume.actual_bytes if volume is not None and has_data else 0
            owner = replica.volume if replica is not None else named_volume(name)
            yield Content(
                name=self._claims.get(owner, str(owner) or name),
                replica=name,
                scheduled_bytes=disk.listed.get(name, 0) + unlisted.get(name, 0),
                written_bytes=written,
                note=_odd(replica, is_orphan=volume is None)
                or ("more than its size: snapshots" if _exceeds(written, replica) else ""),
            )


def _exceeds(written_bytes: int, replica: Replica | None) -> bool:
    return replica is not None and written_bytes > replica.size_bytes


def _odd(replica: Replica | None, *, is_orphan: bool) -> str:
    if replica is None:
        return "there is no such Replica"
    if is_orphan:
        return "there is no such Volume"
    if replica.failed:
        return "failed"
    if not replica.may_have_data:
        return "without data"
    return "being deleted" if replica.deleting else ""


def _images(space: DiskSpace) -> Iterator[Content]:
    images: Mapping[str, int] = {**space.disk.listed_images, **space.unlisted_images}
    for name, size in images.items():
        yield Content(
            name=f"backing image {name}",
            replica="",
            scheduled_bytes=size,
            written_bytes=size,
            note="",
        )


def in_words(each: Content) -> str:
    """Say what one thing takes of a disk."""
    written = f", {amount(each.written_bytes)} written" if each.written_bytes else ""
    note = f" ({each.note})" if each.note else ""
    return f"{each.name} {amount(each.scheduled_bytes)}{written}{note}"
