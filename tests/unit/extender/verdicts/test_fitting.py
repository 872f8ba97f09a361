"""Whether volumes fit together on one node, and why not."""

import pytest

from extender import Rejection
from extender.verdicts.rejections import NodeNotReady, NodeTags, Topology
from extender.verdicts.shortages import (
    DiskTags,
    FilesystemLimit,
    InsufficientStorage,
    NoDiskOfType,
    NoUsableDisk,
    VolumesDoNotFit,
)
from longhorn import BackingImage, Disk, Node, Volume
from tests.builders import (
    GIB,
    TIB,
    ask,
    backing_image,
    bound,
    disk,
    node,
    nodes_of,
    view_of,
    volume,
    volumes_of,
)


def with_disks(*disks: Disk, zone: str = "") -> Node:
    return node("node-1", *disks, zone=zone)


def with_tags(*tags: list[str]) -> Node:
    return with_disks(*(disk(f"disk-{n}", tags=each) for n, each in enumerate(tags)))


def imaged(node_selector: str = "", disk_selector: str = "") -> list[Volume]:
    """Build a volume of a backing image with such selectors."""
    return [
        volume(
            backing_image="image",
            node_selector=node_selector.split(),
            disk_selector=disk_selector.split(),
        )
    ]


PLAIN = backing_image()
TAGGED = node("node-1", disk(tags=["ssd"]), tags=["storage"])
STORAGE = backing_image(node_selector=["storage"], disk_selector=["ssd"])
NVME = backing_image(disk_selector=["nvme"])
ROWS: dict[str, tuple[Node, list[Volume], BackingImage, Rejection | None]] = {
    "node-state-before-its-tags": (node(ready=False, tags=["x"]), [volume(node_selector=["y"])],
        PLAIN, NodeNotReady()),
    "topology-before-disks": (with_disks(disk(schedulable=False), zone="a"),
        [volume(topology=[("b", "")])], PLAIN, Topology()),
    "disk-none": (with_disks(disk(schedulable=False)),
        [volume(size_bytes=16 * TIB, disk_type="block")], PLAIN, NoUsableDisk()),
    "disk-of-type-block-unusable": (
        with_disks(disk(), disk("disk-2", type_="block", schedulable=False)),
        [volume(disk_type="block")], PLAIN, NoDiskOfType(type="block")),
    "tags-before-size": (with_tags(["a"]),
        [volume(disk_selector=["a", "b"], size_bytes=16 * TIB)], PLAIN,
        DiskTags(selector=("a", "b"))),
    "filesystem-before-room": (nodes_of("1:10")[0], volumes_of("vol:16384"), PLAIN,
        FilesystemLimit(size_bytes=16 * TIB)),
    "filesystem-too-full-for-anything": (with_disks(disk(available_bytes=20 * GIB)),
        [volume()], PLAIN, InsufficientStorage(size_bytes=10 * GIB)),
    "volume-that-is-largest-is-named": (node(), volumes_of("a:200 b:300"), PLAIN,
        InsufficientStorage(size_bytes=300 * GIB)),
    "volume-that-has-no-disk-is-named": (
        node(), [*volumes_of("a:60"), volume("b", disk_type="block")], PLAIN,
        NoDiskOfType(type="block")),
    "volumes-that-fit-alone": (with_disks(disk("disk-1"), disk("disk-2")),
        volumes_of("a:60 b:60 c:60"), PLAIN, VolumesDoNotFit(volumes=3, size_bytes=180 * GIB)),
    "image-without-selectors": (TAGGED, imaged(), PLAIN, None),
    "image-with-node-selector": (TAGGED, imaged(), backing_image(node_selector=["gpu"]),
        NodeTags(selector=("gpu",))),
    "image-with-disk-selector": (TAGGED, imaged("", "ssd"), NVME, DiskTags(selector=("nvme",))),
    "image-of-a-volume-with-disk-selector": (TAGGED, imaged("", "hdd"),
        backing_image(disk_selector=["ssd"]), DiskTags(selector=("hdd",))),
    "image-and-volume-with-selectors-that-are-met": (
        TAGGED, imaged("storage", "ssd"), STORAGE, None),
    "selector-that-no-disk-meets": (
        with_tags([], ["ssd"]), imaged("", "ssd"), NVME, DiskTags(selector=("nvme",))),
    "selector-that-no-disk-of-many-meets": (
        with_tags([], ["ssd"], ["ssd"]), imaged("", "ssd"), NVME, DiskTags(selector=("nvme",))),
    "selectors-that-no-disk-meets-both": (
        with_tags(["ssd"], ["nvme"]), imaged("", "ssd"), NVME, DiskTags(selector=("ssd", "nvme"))),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_reason_why_volumes_do_not_fit(name):
    at, volumes, image, expected = ROWS[name]
    view = view_of(at, *bound(*volumes), image)

    answer = ask(view, *(each.name for each in volumes), candidates=["node-1"])

    assert answer.rejected == ({} if expected is None else {"node-1": expected})
