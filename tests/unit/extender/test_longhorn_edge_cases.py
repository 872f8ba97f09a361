"""The table of edge cases in longhorn.md section 10, as far as a row decides about one node.

Each id starts with the number of its row. Defaults are the table's: over-provisioning 100 %,
minimal available 25 %, one empty file system of 100 GiB.

Not here:

- 27-31, 43: where a second replica may go (soft anti-affinity, zones, auto-balance). We ask about
  the one replica that must be on the pod's node.
- 32: another zone that is fresh draws the replica away from the node. That is about which of
  several good nodes Longhorn takes, not about whether this one has room.
- 17, and 18 for new replicas: which node takes none is tested in test_space.py.
- 44: room for a replica that is bound to the node is tested in verdicts/test_competitors.py.
- 23, 25, 26: what runs on a node is tested in verdicts/test_attaching.py.
- 37: how long a failed replica keeps its node for itself; only that its room counts, and that it
  is no copy, are tested (with row 38).
- 51: a pending expansion needs room on a disk the replica is on already; no choice of node helps.
"""

from typing import Any

import pytest

from extender import Basis, UnresolvableClaimError
from extender.verdicts.rejections import (
    NodeTags,
    Rejection,
    SettingUnreadable,
    StrictLocalElsewhere,
    Topology,
)
from extender.verdicts.shortages import (
    DiskTags,
    FilesystemLimit,
    InsufficientStorage,
    NoDiskOfType,
    NoUsableDisk,
    VolumesDoNotFit,
)
from longhorn import Locality, Node, NodeName, Volume
from tests.builders import (
    GIB,
    MIB,
    TIB,
    accepted,
    ask,
    backing_image,
    bare_class,
    bound,
    claim,
    conditions,
    disk,
    document,
    fits,
    node,
    node_document,
    placed,
    read,
    rejection,
    replica,
    setting,
    storage_class,
    view_of,
    volume,
)

OVER_PROVISIONING = "storage-over-provisioning-percentage"
EMPTY_NODE_SELECTOR = "allow-empty-node-selector-volume"
EMPTY_DISK_SELECTOR = "allow-empty-disk-selector-volume"


@pytest.mark.parametrize(
    ("node", "volume", "percent", "expected"),
    [
        pytest.param(
            node("node-1", disk(scheduled_bytes=40 * GIB)),
            volume(size_bytes=60 * GIB),
            100,
            True,
            id="1-size-is-exactly-what-is-left",
        ),
        pytest.param(
            node("node-1", disk(scheduled_bytes=40 * GIB)),
            volume(size_bytes=60 * GIB + 2 * MIB),
            100,
            False,
            id="2-size-is-2-MiB-more-than-is-left",
        ),
        pytest.param(
            node("node-1", disk(available_bytes=25 * GIB)),
            volume(size_bytes=10 * MIB),
            100,
            False,
            id="3-available-is-exactly-the-minimum",
        ),
        pytest.param(
            node("node-1", disk(available_bytes=25 * GIB + 1)),
            volume(size_bytes=75 * GIB),
            100,
            True,
            id="4-available-is-a-byte-above-the-minimum-and-the-volume-is-new",
        ),
        pytest.param(
            node("node-1", disk(available_bytes=60 * GIB)),
            volume(actual_bytes=35 * GIB),
            100,
            False,
            id="5-data-would-bring-available-down-to-the-minimum",
        ),
        pytest.param(
            node("node-1", disk(available_bytes=60 * GIB)),
            volume(actual_bytes=35 * GIB - 1),
            100,
            True,
            id="5-data-would-leave-a-byte-above-the-minimum",
        ),
        pytest.param(
            node("node-1", disk(reserved_bytes=30 * GIB)),
            volume(size_bytes=70 * GIB),
            100,
            True,
            id="6-size-is-exactly-what-is-not-reserved",
        ),
        pytest.param(
            node("node-1", disk(reserved_bytes=30 * GIB)),
            volume(size_bytes=70 * GIB + 2 * MIB),
            100,
            False,
            id="6-size-is-more-than-is-not-reserved",
        ),
        pytest.param(
            node("node-1", disk(reserved_bytes=50 * GIB)),
            volume(size_bytes=100 * GIB),
            200,
            True,
            id="7-over-provisioning-multiplies-what-is-not-reserved",
        ),
        pytest.param(
            node("node-1", disk(reserved_bytes=50 * GIB)),
            volume(size_bytes=100 * GIB + 2 * MIB),
            200,
            False,
            id="7-over-provisioning-does-not-multiply-the-reserve",
        ),
        pytest.param(
            node("node-1", disk(reserved_bytes=101 * GIB)),
            volume(size_bytes=10 * MIB),
            100,
            False,
            id="8-more-is-reserved-than-there-is",
        ),
        pytest.param(
            node(
                "node-1", disk(maximum_bytes=100 * GIB + 3, available_bytes=25 * GIB + 1)
            ),  # a quarter of the maximum is 25 GiB and 3/4 of a byte
            volume(),
            100,
            True,
            id="9-the-minimum-is-truncated",
        ),
        pytest.param(
            node("node-1", disk(maximum_bytes=100 * GIB + 3, available_bytes=25 * GIB)),
            volume(),
            100,
            False,
            id="9-available-equals-the-truncated-minimum",
        ),
        pytest.param(
            node("node-1", disk(scheduled_bytes=100 * GIB, schedulable=True)),
            volume(size_bytes=10 * MIB),
            100,
            False,
            id="10-a-full-disk-is-schedulable-and-takes-nothing",
        ),
        pytest.param(
            node("node-1", disk(scheduled_bytes=60 * GIB, listed={})),
            volume(size_bytes=40 * GIB),
            100,
            True,
            id="11-what-backing-images-leave-can-be-used",
        ),
        pytest.param(
            node("node-1", disk(scheduled_bytes=60 * GIB, listed={})),
            volume(size_bytes=40 * GIB + 2 * MIB),
            100,
            False,
            id="11-what-backing-images-take-cannot",
        ),
    ],
)
def test_room(node: Node, volume: Volume, percent: int, *, expected: bool) -> None:
    view = view_of(node, *bound(volume), setting(OVER_PROVISIONING, str(percent)))

    assert fits(view) is expected


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(
            node_document(spec={"disks": {}}), id="12-disk-in-the-status-and-not-in-the-spec"
        ),
        pytest.param(
            node_document(status={"diskStatus": {}}), id="12-disk-in-the-spec-and-not-in-the-status"
        ),
        pytest.param(
            node_document(
                disk_status={"conditions": conditions(Ready="False", Schedulable="True")}
            ),
            id="13-disk-not-ready-and-schedulable-by-an-old-condition",
        ),
        pytest.param(
            node_document(disk_status={"conditions": conditions(Ready="True")}),
            id="14-disk-without-a-schedulable-condition",
        ),
        pytest.param(
            node_document(
                disk_status={"conditions": conditions(Ready="True", Schedulable="Unknown")}
            ),
            id="14-disk-whose-schedulable-condition-is-unknown",
        ),
    ],
)
def test_disk_that_is_not_usable(document: dict[str, Any]) -> None:
    view = view_of(read(document), *bound(volume()))

    assert rejection(view) == NoUsableDisk()


@pytest.mark.parametrize(
    "closed",
    [
        pytest.param(disk("disk-1", allow_scheduling=False), id="15-scheduling-disabled"),
        pytest.param(
            disk("disk-1", allow_scheduling=False, evicting=True),
            id="16-eviction-and-scheduling-disabled",
        ),
        pytest.param(disk("disk-1", evicting=True), id="16-eviction-only"),
    ],
)
def test_only_the_other_disk_is_used(closed: Any) -> None:
    view = view_of(node("node-1", closed, disk("disk-2")), *bound(volume()))

    assert placed(view) == {"node-1": {"vol": "disk-2"}}


def test_node_keeps_its_replica__18_when_only_the_manager_pod_is_down() -> None:
    strict = volume(locality=Locality.STRICT_LOCAL)
    view = view_of(node("node-1", ready=False), node("node-2"), *bound(strict), replica())

    assert rejection(view, candidate="node-2") == StrictLocalElsewhere()


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        pytest.param(["a"], NodeTags(selector=("a", "b")), id="19-one-of-two-tags"),
        pytest.param(["a", "b", "c"], None, id="19-more-than-the-tags-wanted"),
        pytest.param(["A", "b"], NodeTags(selector=("a", "b")), id="19-case-matters"),
    ],
)
def test_node_tags(tags: list[str], expected: Rejection | None) -> None:
    view = view_of(node(tags=tags), *bound(volume(node_selector=["a", "b"])))

    assert ask(view).rejected.get(NodeName("node-1")) == expected


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        pytest.param(["ssd"], DiskTags(selector=()), id="20-tagged-disk"),
        pytest.param([], None, id="20-untagged-disk"),
    ],
)
def test_empty_disk_selector(tags: list[str], expected: Rejection | None) -> None:
    view = view_of(
        node("node-1", disk(tags=tags)), *bound(volume()), setting(EMPTY_DISK_SELECTOR, "false")
    )

    assert ask(view).rejected.get(NodeName("node-1")) == expected


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        pytest.param(["storage"], NodeTags(selector=()), id="20-tagged-node"),
        pytest.param([], None, id="20-untagged-node"),
    ],
)
def test_empty_node_selector(tags: list[str], expected: Rejection | None) -> None:
    view = view_of(node(tags=tags), *bound(volume()), setting(EMPTY_NODE_SELECTOR, "false"))

    assert ask(view).rejected.get(NodeName("node-1")) == expected


def test_empty_selector_of_a_backing_image__21() -> None:
    view = view_of(
        node("node-1", disk(tags=["ssd"])),
        *bound(volume(disk_selector=["ssd"], backing_image="image")),
        backing_image(disk_selector=[]),
        setting(EMPTY_DISK_SELECTOR, "false"),
    )

    assert rejection(view) == DiskTags(selector=())


@pytest.mark.parametrize(
    ("on_disk", "wanted", "expected"),
    [
        pytest.param(
            "filesystem", "block", NoDiskOfType(type="block"), id="22-v2-volume-on-a-file-system"
        ),
        pytest.param(
            "block",
            "filesystem",
            NoDiskOfType(type="filesystem"),
            id="22-v1-volume-on-a-block-disk",
        ),
        pytest.param("block", "block", None, id="22-v2-volume-on-a-block-disk"),
    ],
)
def test_disk_type(on_disk: str, wanted: str, expected: Rejection | None) -> None:
    view = view_of(node("node-1", disk(type_=on_disk)), *bound(volume(disk_type=wanted)))

    assert ask(view).rejected.get(NodeName("node-1")) == expected


@pytest.mark.parametrize(
    ("filesystem", "size_bytes", "expected"),
    [
        pytest.param(
            "ext2/ext3", 16 * TIB, FilesystemLimit(size_bytes=16 * TIB), id="24-16-TiB-on-ext"
        ),
        pytest.param("ext2/ext3", 16 * TIB - 2 * MIB, None, id="24-2-MiB-less-on-ext"),
        pytest.param("xfs", 16 * TIB, None, id="24-16-TiB-on-xfs"),
        pytest.param("xfs", 16 * TIB - 2 * MIB, None, id="24-2-MiB-less-on-xfs"),
        pytest.param("btrfs", 16 * TIB, None, id="24-no-limit-on-other-file-systems"),
    ],
)
def test_file_size(filesystem: str, size_bytes: int, expected: Rejection | None) -> None:
    large = disk(filesystem=filesystem, maximum_bytes=40 * TIB)
    view = view_of(node("node-1", large), *bound(volume(size_bytes=size_bytes)))

    assert ask(view).rejected.get(NodeName("node-1")) == expected


def test_block_disks_have_no_file_size_limit__24() -> None:
    large = disk(type_="block", filesystem="ext2/ext3", maximum_bytes=40 * TIB)
    view = view_of(node("node-1", large), *bound(volume(size_bytes=16 * TIB, disk_type="block")))

    assert fits(view)


@pytest.mark.parametrize(
    "locality",
    [
        pytest.param(Locality.BEST_EFFORT, id="33-best-effort"),
        pytest.param(Locality.STRICT_LOCAL, id="34-strict-local"),
    ],
)
def test_full_node_is_rejected_though_another_has_room(locality: Locality) -> None:
    view = view_of(
        node("node-1", disk(scheduled_bytes=100 * GIB)),
        node("node-2"),
        *bound(volume(locality=locality)),
    )

    result = ask(view)

    assert result.accepted == ["node-2"]
    assert result.rejected == {"node-1": InsufficientStorage(size_bytes=10 * GIB)}


def test_strict_local_volume_stays_where_it_is__35() -> None:
    strict = volume("strict", locality=Locality.STRICT_LOCAL)
    view = view_of(
        node("node-1"),
        node("node-2"),
        *bound(strict, volume("new")),
        replica("strict-r-1", of="strict", on="node-1"),
    )

    result = ask(view, "strict", "new")

    assert result.accepted == ["node-1"]
    assert result.rejected == {"node-2": StrictLocalElsewhere()}


def test_copy_on_a_disk_that_is_emptied_still_serves__36() -> None:
    view = view_of(
        node("node-1", disk("disk-1", allow_scheduling=False, evicting=True), disk("disk-2")),
        node("node-2"),
        *bound(volume()),
        replica(evicting=True),
    )

    result = ask(view)

    assert (result.basis, result.accepted) == (Basis.REPLICAS, ["node-1"])


def test_volume_beside_an_emptied_disk_goes_to_the_other_disk__36() -> None:
    view = view_of(
        node("node-1", disk("disk-1", allow_scheduling=False, evicting=True), disk("disk-2")),
        *bound(volume("old"), volume("new")),
        replica("old-r-1", of="old", evicting=True),
    )

    assert placed(view, "old", "new") == {"node-1": {"new": "disk-2"}}


def test_replica_failed_for_good_still_takes_its_room__38() -> None:
    dead = replica(failed=True, rebuild_retries=5, size_bytes=60 * GIB)
    full = node("node-1", disk(listed={dead.name: 60 * GIB}))
    view = view_of(full, *bound(volume(size_bytes=60 * GIB)), dead)

    assert rejection(view) == InsufficientStorage(size_bytes=60 * GIB)


def test_replica_failed_for_good_is_no_copy__38() -> None:
    view = view_of(
        node("node-1"), node("node-2"), *bound(volume()), replica(failed=True, rebuild_retries=5)
    )

    result = ask(view)

    assert (result.basis, result.accepted) == (Basis.PLACEMENT, ["node-1", "node-2"])


@pytest.mark.parametrize(
    ("size_bytes", "expected"),
    [
        pytest.param(40 * GIB, True, id="39-beside-the-replica-being-deleted"),
        pytest.param(40 * GIB + 2 * MIB, False, id="39-in-the-room-of-the-replica-being-deleted"),
    ],
)
def test_replica_being_deleted_keeps_its_room(size_bytes: int, *, expected: bool) -> None:
    going = replica(of="other", deleting=True, size_bytes=60 * GIB)
    view = view_of(node(), *bound(volume(size_bytes=size_bytes)), going)

    assert fits(view) is expected


def test_replica_being_deleted_is_no_copy__39() -> None:
    view = view_of(node("node-1"), node("node-2"), *bound(volume()), replica(deleting=True))

    assert accepted(view) == ["node-1", "node-2"]


@pytest.mark.parametrize(
    ("size_bytes", "expected"),
    [
        pytest.param(40 * GIB, True, id="40-beside-the-unlisted-replica"),
        pytest.param(40 * GIB + 2 * MIB, False, id="40-in-the-room-of-the-unlisted-replica"),
    ],
)
def test_assigned_replica_counts_before_it_is_listed(size_bytes: int, *, expected: bool) -> None:
    unlisted = replica("other-r-1", of="other", size_bytes=60 * GIB)
    view = view_of(node(), *bound(volume(size_bytes=size_bytes)), unlisted)

    assert fits(view) is expected


def test_disk_that_lost_its_numbers_is_unusable__41() -> None:
    lost = disk(ready=False, schedulable=False, maximum_bytes=0, listed={})
    view = view_of(node("node-1", lost), *bound(volume()), replica("other-r-1", of="other"))

    assert rejection(view) == NoUsableDisk()


def test_replicas_on_a_disk_that_lost_its_numbers_still_exist__41() -> None:
    lost = disk(ready=False, schedulable=False, maximum_bytes=0, listed={})
    strict = volume(locality=Locality.STRICT_LOCAL)
    view = view_of(node("node-1", lost), node("node-2"), *bound(strict), replica())

    assert rejection(view, candidate="node-2") == StrictLocalElsewhere()


def test_duplicate_of_a_migration_is_counted_again__42() -> None:
    first = replica("other-r-1", of="other", size_bytes=30 * GIB)
    duplicate = replica("other-r-2", of="other", size_bytes=30 * GIB, active=False)
    view = view_of(node(), *bound(volume(size_bytes=40 * GIB + 2 * MIB)), first, duplicate)

    assert rejection(view) == InsufficientStorage(size_bytes=40 * GIB + 2 * MIB)


def test_duplicate_of_a_migration_is_no_second_copy__42() -> None:
    view = view_of(node("node-1"), node("node-2"), *bound(volume()), replica(active=False))

    assert accepted(view) == ["node-1", "node-2"]


@pytest.mark.parametrize(
    ("requested_bytes", "size_bytes"),
    [
        pytest.param(1, 10 * MIB, id="45-a-byte"),
        pytest.param(10 * MIB + 1, 12 * MIB, id="45-a-byte-more-than-10-MiB"),
        pytest.param(3 * GIB - 1, 3 * GIB, id="45-a-byte-less-than-3-GiB"),
    ],
)
def test_new_volume_is_rounded_up(requested_bytes: int, size_bytes: int) -> None:
    def room_for_new_volume(maximum_bytes: int) -> bool:
        tight = disk(maximum_bytes=maximum_bytes)
        asked = claim("vol", size_bytes=requested_bytes)
        return fits(view_of(node("node-1", tight), asked, storage_class()))

    assert room_for_new_volume(size_bytes)
    assert not room_for_new_volume(size_bytes - 1)


@pytest.mark.parametrize(
    ("value", "basis"),
    [
        pytest.param('{"v1":"best-effort","v2":"disabled"}', Basis.PLACEMENT, id="46-json"),
        pytest.param("best-effort", Basis.PLACEMENT, id="46-plain"),
        pytest.param(
            '{"v1":"disabled","v2":"disabled"}', Basis.NOTHING_LOCAL, id="46-json-disabled"
        ),
        pytest.param("disabled", Basis.NOTHING_LOCAL, id="46-plain-disabled"),
        pytest.param(None, Basis.NOTHING_LOCAL, id="46-no-setting"),
    ],
)
def test_default_locality_comes_from_the_setting(value: str | None, basis: Basis) -> None:
    settings = [] if value is None else [setting("default-data-locality", value)]
    view = view_of(node(), claim("vol"), bare_class(), *settings)

    assert ask(view).basis is basis


@pytest.mark.parametrize(
    ("value", "refused"),
    [
        pytest.param('{"v1":"1","v2":"3"}', False, id="46-json-one-replica"),
        pytest.param("1", False, id="46-plain-one-replica"),
        pytest.param('{"v1":"2","v2":"1"}', True, id="46-json-two-replicas"),
        pytest.param("2", True, id="46-plain-two-replicas"),
        pytest.param(None, True, id="46-three-replicas-without-the-setting"),
    ],
)
def test_default_replica_count_comes_from_the_setting(value: str | None, *, refused: bool) -> None:
    settings = [] if value is None else [setting("default-replica-count", value)]
    strict = bare_class(parameters={"dataLocality": "strict-local"})
    view = view_of(node(), claim("vol"), strict, *settings)

    if refused:
        with pytest.raises(UnresolvableClaimError):
            ask(view)
    else:
        assert fits(view)


def test_selector_is_not_trimmed__47() -> None:
    view = view_of(
        node(tags=["ssd", "fast"]), claim("vol"), storage_class(nodeSelector="ssd, fast")
    )

    with pytest.raises(UnresolvableClaimError, match="tag ' fast' is on no Longhorn node"):
        ask(view)


def test_volumes_that_can_be_packed_are_accepted_in_any_order__48() -> None:
    disks = disk("disk-1", maximum_bytes=100 * GIB), disk("disk-2", maximum_bytes=60 * GIB)
    volumes = volume("small", size_bytes=60 * GIB), volume("large", size_bytes=100 * GIB)
    view = view_of(node("node-1", *disks), *bound(*volumes))

    assert fits(view, "small", "large")
    assert fits(view, "large", "small")


def test_volumes_that_cannot_be_packed_are_rejected__48() -> None:
    disks = disk("disk-1", maximum_bytes=100 * GIB), disk("disk-2", maximum_bytes=60 * GIB)
    volumes = volume("a", size_bytes=80 * GIB), volume("b", size_bytes=80 * GIB)
    view = view_of(node("node-1", *disks), *bound(*volumes))

    assert rejection(view, "a", "b") == VolumesDoNotFit(volumes=2, size_bytes=160 * GIB)


@pytest.mark.parametrize(
    "volume",
    [
        pytest.param(volume(shared=True), id="49-rwx-not-migratable"),
        pytest.param(volume(data_chunks=2, disk_type="block"), id="52-sharded"),
    ],
)
def test_volume_without_demand_on_the_node(volume: Volume) -> None:
    full = node("node-1", disk(scheduled_bytes=100 * GIB))

    assert fits(view_of(full, node("node-2"), *bound(volume)))


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        pytest.param({"accessMode": "rwx", "migratable": False}, True, id="49-rwx-not-migratable"),
        pytest.param({"accessMode": "rwx", "migratable": True}, False, id="49-rwx-migratable"),
        pytest.param({"accessMode": "rwop"}, False, id="49-rwop-is-like-rwo"),
        pytest.param({"dataLayout": {"type": "sharded"}}, True, id="52-sharded"),
        pytest.param({"dataLayout": {"type": "replicated"}}, False, id="52-replicated"),
    ],
)
def test_volume_kinds_as_longhorn_writes_them(document: dict[str, Any], *, expected: bool) -> None:
    spec = {"size": str(10 * GIB), "dataLocality": "best-effort", **document}
    full = node("node-1", disk(scheduled_bytes=100 * GIB))
    records = [r for r in bound(volume()) if not isinstance(r, Volume)]
    view = view_of(full, read(volume_document(spec)), *records)

    assert fits(view) is expected


@pytest.mark.parametrize(
    ("available_bytes", "expected"),
    [
        pytest.param(55 * GIB, False, id="50-no-room-for-the-data"),
        pytest.param(55 * GIB + 1, True, id="50-room-for-the-data"),
    ],
)
def test_restored_volume_needs_a_whole_copy_here(available_bytes: int, *, expected: bool) -> None:
    restored = volume(size_bytes=40 * GIB, actual_bytes=30 * GIB)
    view = view_of(
        node("node-1", disk(available_bytes=available_bytes)),
        node("node-2"),
        *bound(restored),
        replica(on="node-2", size_bytes=40 * GIB),
    )

    assert fits(view) is expected


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(OVER_PROVISIONING, id="53-over-provisioning"),
        pytest.param("storage-minimal-available-percentage", id="53-minimal-available"),
        pytest.param(EMPTY_NODE_SELECTOR, id="53-empty-node-selector"),
        pytest.param(EMPTY_DISK_SELECTOR, id="53-empty-disk-selector"),
    ],
)
def test_setting_that_cannot_be_parsed(name: str) -> None:
    view = view_of(node(), *bound(volume()), setting(name, "abc"))

    assert rejection(view) == SettingUnreadable(setting=name)


@pytest.mark.parametrize(
    ("topology", "expected"),
    [
        pytest.param([("a", "")], None, id="54-in-the-zone"),
        pytest.param([("b", "")], Topology(), id="54-in-another-zone"),
        pytest.param([("", "r")], None, id="54-in-the-region"),
        pytest.param([("b", "r")], Topology(), id="54-in-the-region-and-another-zone"),
        pytest.param([("b", ""), ("a", "r")], None, id="54-one-of-two-terms"),
        pytest.param([], None, id="54-unconstrained"),
    ],
)
def test_topology(topology: list[tuple[str, str]], expected: Rejection | None) -> None:
    view = view_of(node(zone="a", region="r"), *bound(volume(topology=topology)))

    assert ask(view).rejected.get(NodeName("node-1")) == expected


def volume_document(spec: dict[str, Any]) -> dict[str, Any]:
    return document("Volume", "vol", spec=spec)
