"""Whether volumes fit together on one node, and why not."""

import pytest

from app.kube.resources import AnyRecord
from extender import Rejection
from extender.verdicts.rejections import (
    DiskTags,
    FilesystemLimit,
    InsufficientStorage,
    NodeNotReady,
    NodeTags,
    NoDiskOfType,
    NoUsableDisk,
    Topology,
    VolumesDoNotFit,
)
from longhorn import Disk, Node, NodeName, Volume
from tests.builders import (
    GIB,
    TIB,
    ask,
    backing_image,
    bound,
    disk,
    fits,
    node,
    placed,
    rejection,
    setting,
    view_of,
    volume,
)


def test_each_volume_is_given_a_disk() -> None:
    disks = disk("small", maximum_bytes=10 * GIB), disk("large", maximum_bytes=50 * GIB)
    volumes = volume("a", size_bytes=50 * GIB), volume("b", size_bytes=10 * GIB)

    view = view_of(node("node-1", *disks), *bound(*volumes))

    assert placed(view, "a", "b") == {"node-1": {"a": "large", "b": "small"}}


def test_volumes_share_a_disk_that_holds_both_exactly() -> None:
    volumes = volume("a", size_bytes=60 * GIB), volume("b", size_bytes=40 * GIB)

    view = view_of(node(), *bound(*volumes))

    assert placed(view, "a", "b") == {"node-1": {"a": "disk-1", "b": "disk-1"}}


def test_data_of_all_volumes_on_a_disk_count_together() -> None:
    half_full = disk(available_bytes=65 * GIB)
    volumes = [volume(name, actual_bytes=20 * GIB) for name in "ab"]
    view = view_of(node("node-1", half_full), *bound(*volumes))

    assert fits(view, "a")
    assert rejection(view, "a", "b") == VolumesDoNotFit(volumes=2, size_bytes=20 * GIB)


def test_volumes_of_different_demands_go_to_different_disks() -> None:
    disks = (
        disk("plain"),
        disk("fast", tags=["ssd"]),
        disk("raw", type_="block", filesystem=""),
    )
    volumes = (
        volume("a", size_bytes=100 * GIB),
        volume("b", size_bytes=100 * GIB, disk_selector=["ssd"]),
        volume("c", size_bytes=100 * GIB, disk_type="block"),
    )
    view = view_of(node("node-1", *disks), *bound(*volumes))

    assert placed(view, "a", "b", "c") == {"node-1": {"a": "plain", "b": "fast", "c": "raw"}}


def test_disk_with_negative_headroom_does_not_take_from_the_others() -> None:
    disks = disk("disk-1", scheduled_bytes=500 * GIB), disk("disk-2")
    view = view_of(node("node-1", *disks), *bound(volume(size_bytes=100 * GIB)))

    assert placed(view) == {"node-1": {"vol": "disk-2"}}


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


def test_both_selectors_must_be_met_on_the_same_disk() -> None:
    disks = disk("disk-1", tags=["ssd"]), disk("disk-2", tags=["nvme"])
    picky = volume(backing_image="image", disk_selector=["ssd"])
    view = view_of(node("node-1", *disks), *bound(picky), backing_image(disk_selector=["nvme"]))

    assert isinstance(rejection(view), DiskTags)


def test_volumes_limited_to_different_zones_fit_nowhere() -> None:
    volumes = volume("a", topology=[("a", "")]), volume("b", topology=[("b", "")])
    view = view_of(node(zone="a"), *bound(*volumes))

    assert fits(view, "a")
    assert rejection(view, "a", "b") == Topology()


@pytest.mark.parametrize(
    "disks",
    [
        pytest.param([disk("a"), disk("b", schedulable=False)], id="second-disk-not-schedulable"),
        pytest.param([disk("a"), disk("b", ready=False)], id="second-disk-not-ready"),
        pytest.param([disk("a"), disk("b", uuid="")], id="second-disk-without-uuid"),
    ],
)
def test_unusable_disk_adds_no_room(disks: list[Disk]) -> None:
    volumes = [volume(name, size_bytes=100 * GIB) for name in "xy"]
    view = view_of(node("node-1", *disks), *bound(*volumes))

    assert rejection(view, "x", "y") == VolumesDoNotFit(volumes=2, size_bytes=200 * GIB)


@pytest.mark.parametrize(
    ("percent", "expected"),
    [
        pytest.param("0", True, id="0-any-byte-will-do"),
        pytest.param("100", False, id="100-nothing-fits"),
    ],
)
def test_extremes_of_minimal_available(percent: str, *, expected: bool) -> None:
    nearly_full = disk(available_bytes=1) if expected else disk()
    view = view_of(
        node("node-1", nearly_full),
        *bound(volume()),
        setting("storage-minimal-available-percentage", percent),
    )

    assert fits(view) is expected


def test_nothing_fits_without_provisioning() -> None:
    view = view_of(node(), *bound(volume()), setting("storage-over-provisioning-percentage", "0"))

    assert rejection(view) == InsufficientStorage(size_bytes=10 * GIB)


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
