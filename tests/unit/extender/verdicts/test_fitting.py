"""Whether volumes fit together on one node, and why not."""

import pytest

from app.kube.resource import AnyRecord
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
from longhorn import Node, NodeName, Volume
from tests.builders import (
    GIB,
    TIB,
    ask,
    backing_image,
    bound,
    disk,
    node,
    rejection,
    view_of,
    volume,
)


@pytest.mark.parametrize(
    ("node", "volumes", "expected"),
    [
        pytest.param(
            node(ready=False, tags=["x"]),
            [volume(node_selector=["y"])],
            NodeNotReady(),
            id="state-of-the-node-before-its-tags",
        ),
        pytest.param(
            node("node-1", disk(schedulable=False), zone="a"),
            [volume(topology=[("b", "")])],
            Topology(),
            id="topology-before-disks",
        ),
        pytest.param(
            node("node-1", disk(schedulable=False)),
            [volume(size_bytes=16 * TIB, disk_type="block")],
            NoUsableDisk(),
            id="no-disk-at-all",
        ),
        pytest.param(
            node("node-1", disk(), disk("disk-2", type_="block", schedulable=False)),
            [volume(disk_type="block")],
            NoDiskOfType(type="block"),
            id="the-block-disk-is-unusable",
        ),
        pytest.param(
            node("node-1", disk(tags=["a"])),
            [volume(disk_selector=["a", "b"], size_bytes=16 * TIB)],
            DiskTags(selector=("a", "b")),
            id="tags-before-size",
        ),
        pytest.param(
            node("node-1", disk(maximum_bytes=10 * GIB)),
            [volume(size_bytes=16 * TIB)],
            FilesystemLimit(size_bytes=16 * TIB),
            id="file-system-before-room",
        ),
        pytest.param(
            node("node-1", disk(available_bytes=20 * GIB)),
            [volume()],
            InsufficientStorage(size_bytes=10 * GIB),
            id="file-system-too-full-for-anything",
        ),
        pytest.param(
            node(),
            [volume("a", size_bytes=200 * GIB), volume("b", size_bytes=300 * GIB)],
            InsufficientStorage(size_bytes=300 * GIB),
            id="the-largest-volume-is-named",
        ),
        pytest.param(
            node(),
            [volume("a", size_bytes=60 * GIB), volume("b", disk_type="block")],
            NoDiskOfType(type="block"),
            id="the-volume-that-has-no-disk-is-named",
        ),
        pytest.param(
            node("node-1", disk("disk-1"), disk("disk-2")),
            [volume(name, size_bytes=60 * GIB) for name in "abc"],
            VolumesDoNotFit(volumes=3, size_bytes=180 * GIB),
            id="each-fits-alone",
        ),
    ],
)
def test_reason(node: Node, volumes: list[Volume], expected: Rejection) -> None:
    view = view_of(node, *bound(*volumes))

    assert rejection(view, *(volume.name for volume in volumes)) == expected


@pytest.mark.parametrize(
    ("volume", "image", "expected"),
    [
        pytest.param(volume(backing_image="image"), backing_image(), None, id="no-selectors"),
        pytest.param(
            volume(backing_image="image"),
            backing_image(node_selector=["gpu"]),
            NodeTags(selector=("gpu",)),
            id="node-selector-of-the-image",
        ),
        pytest.param(
            volume(backing_image="image", disk_selector=["ssd"]),
            backing_image(disk_selector=["nvme"]),
            DiskTags(selector=("nvme",)),
            id="disk-selector-of-the-image",
        ),
        pytest.param(
            volume(backing_image="image", disk_selector=["hdd"]),
            backing_image(disk_selector=["ssd"]),
            DiskTags(selector=("hdd",)),
            id="disk-selector-of-the-volume",
        ),
        pytest.param(
            volume(backing_image="image", disk_selector=["ssd"], node_selector=["storage"]),
            backing_image(disk_selector=["ssd"], node_selector=["storage"]),
            None,
            id="both-met",
        ),
    ],
)
def test_selectors_of_a_backing_image(
    volume: Volume, image: AnyRecord, expected: Rejection | None
) -> None:
    tagged = node("node-1", disk(tags=["ssd"]), tags=["storage"])
    view = view_of(tagged, *bound(volume), image)

    assert ask(view).rejected.get(NodeName("node-1")) == expected


@pytest.mark.parametrize(
    ("tags", "named"),
    [
        pytest.param([[], ["ssd"]], ("nvme",), id="the-one-that-no-disk-meets"),
        pytest.param([[], ["ssd"], ["ssd"]], ("nvme",), id="however-many-disks"),
        pytest.param([["ssd"], ["nvme"]], ("ssd", "nvme"), id="both-if-no-one-disk-meets-both"),
    ],
)
def test_selector_that_is_named_is_met_by_no_disk(
    tags: list[list[str]], named: tuple[str, ...]
) -> None:
    disks = [disk(f"disk-{n}", tags=each) for n, each in enumerate(tags)]
    picky = volume(backing_image="image", disk_selector=["ssd"])
    view = view_of(node("node-1", *disks), *bound(picky), backing_image(disk_selector=["nvme"]))

    assert rejection(view) == DiskTags(selector=named)
