"""Our verdict on one node and one volume is Longhorn's, but for decision 6.

Both read the same JSON: the extender through the application's translation, the simulator by
itself. They share no code.
"""

from datetime import UTC, datetime
from typing import Any

import msgspec
from hypothesis import event, given, settings
from hypothesis import strategies as st

import simulator
from app.kube.resources import AnyRecord
from app.kube.translate import Setting
from longhorn import BackingImage, Disk, Node, Replica, Volume
from tests.builders import backing_image, bound, conditions, document, fits, read, replica, view_of
from tests.strategies import (
    all_settings,
    nodes,
    placed_replicas,
    rarely,
    selectors,
    volumes,
    with_listed,
)

NOW = datetime(2026, 8, 20, tzinfo=UTC)


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """One node, and one volume whose only replica is to be placed there."""

    node: Node
    volume: Volume
    pinned: bool
    """Whether the replica exists already, bound to the node; else the volume is detached."""
    image: BackingImage
    others: tuple[Replica, ...]
    """Replicas of another volume, which the disks list."""
    settings: tuple[Setting, ...]


@st.composite
def situations(draw: st.DrawFn) -> Situation:
    node = draw(nodes("node-1"))
    volume = draw(volumes("vol"))
    other = draw(volumes("other"))
    others = draw(placed_replicas([node], [other]))
    values = draw(all_settings())
    if draw(rarely) and draw(rarely):
        values = (msgspec.structs.replace(values[0], value="abc"), *values[1:])
    return Situation(
        node=with_listed(node, others, True),  # noqa: FBT003  # they are listed
        volume=msgspec.structs.replace(volume, backing_image="image" if draw(rarely) else ""),
        pinned=draw(st.booleans()),
        image=backing_image(node_selector=draw(selectors), disk_selector=draw(selectors)),
        others=others,
        settings=values,
    )


@settings(max_examples=300)
@given(situations())
def test_we_accept_the_node_where_longhorn_finds_a_disk_that_is_ready_and_stays(
    situation: Situation,
) -> None:
    found = longhorns_disks(situation)
    ready = {disk.id for disk in situation.node.disks if disk.ready and not situation.node.evicting}
    event(f"Longhorn takes the node: {bool(found)}, we: {bool(found & ready)}")

    assert ours(situation) is bool(found & ready)


def ours(situation: Situation) -> bool:
    """Ask the extender, from objects in JSON."""
    records: list[Any] = [
        read(node_json(situation.node)),
        read(volume_json(situation.volume)),
        read(image_json(situation.image)),
        *(read(replica_json(each)) for each in (*situation.others, *unplaced(situation))),
        *situation.settings,
    ]
    claim: list[AnyRecord] = [
        each for each in bound(situation.volume) if each is not situation.volume
    ]
    return fits(view_of(*records, *claim), "vol")


def longhorns_disks(situation: Situation) -> set[str]:
    """Ask the simulator, from the same JSON."""
    [new] = unplaced(situation) or [replica(of="vol", on="")]
    found = simulator.find_candidates(
        msgspec.convert(replica_json(new), simulator.Replica, strict=False),
        msgspec.convert(volume_json(situation.volume), simulator.Volume, strict=False),
        [
            msgspec.convert(replica_json(each), simulator.Replica, strict=False)
            for each in situation.others
        ],
        [msgspec.convert(node_json(situation.node), simulator.Node, strict=False)],
        simulator.read_settings({each.name: each.value for each in situation.settings}),
        backing_image=msgspec.convert(image_json(situation.image), simulator.BackingImage),
        now=NOW,
    )
    assert {candidate.node for candidate in found.disks} <= {"node-1"}
    return {candidate.disk for candidate in found.disks}


def unplaced(situation: Situation) -> list[Replica]:
    name = situation.node.name if situation.pinned else ""
    return [replica(of="vol", on="", pinned_to=name, healthy_once=False)] if name else []


def node_json(node: Node) -> dict[str, Any]:
    return document(
        "Node",
        node.name,
        spec={
            "allowScheduling": node.allow_scheduling,
            "evictionRequested": node.evicting,
            "tags": sorted(node.tags) or None,
            "disks": {disk.name: disk_spec_json(disk) for disk in node.disks},
        },
        status={
            "zone": node.zone,
            "region": node.region,
            "conditions": conditions(Ready=str(node.ready), Schedulable=str(node.schedulable)),
            "diskStatus": {disk.name: disk_status_json(disk) for disk in node.disks},
        },
    )


def disk_spec_json(disk: Disk) -> dict[str, Any]:
    return {
        "diskType": disk.type,
        "allowScheduling": disk.allow_scheduling,
        "evictionRequested": disk.evicting,
        "storageReserved": disk.reserved_bytes,
        "tags": sorted(disk.tags) or None,
    }


def disk_status_json(disk: Disk) -> dict[str, Any]:
    return {
        "diskUUID": disk.id,
        "filesystemType": disk.filesystem,
        "conditions": conditions(Ready=str(disk.ready), Schedulable=str(disk.schedulable)),
        "storageMaximum": disk.maximum_bytes,
        "storageAvailable": disk.available_bytes,
        "storageScheduled": disk.scheduled_bytes,
        "scheduledReplica": dict(disk.listed) or None,
    }


def volume_json(volume: Volume) -> dict[str, Any]:
    return document(
        "Volume",
        volume.name,
        spec={
            "size": str(volume.size_bytes),
            "dataLocality": volume.locality.value,
            "dataEngine": "v2" if volume.disk_type == "block" else "v1",
            "nodeSelector": list(volume.node_selector),
            "diskSelector": list(volume.disk_selector) or None,
            "backingImage": volume.backing_image,
            "topologyRequirement": [
                {"zone": term.zone, "region": term.region} for term in volume.topology
            ],
        },
        status={"actualSize": volume.actual_bytes},
    )


def replica_json(replica: Replica) -> dict[str, Any]:
    deleting = {"deletionTimestamp": "2026-08-20T00:00:00Z"} if replica.deleting else {}
    return document(
        "Replica",
        replica.name,
        metadata=deleting,
        spec={
            "volumeName": replica.volume,
            "volumeSize": str(replica.size_bytes),
            "nodeID": replica.node,
            "diskID": replica.disk,
            "hardNodeAffinity": replica.hard_node_affinity,
            "healthyAt": "2026-08-20T00:00:00Z" if replica.healthy_once else "",
            "failedAt": "2026-08-20T00:00:00Z" if replica.failed else "",
            "active": replica.active,
            "evictionRequested": replica.evicting,
            "rebuildRetryCount": replica.rebuild_retries,
        },
        status={"started": replica.started},
    )


def image_json(image: BackingImage) -> dict[str, Any]:
    return document(
        "BackingImage",
        image.name,
        spec={
            "nodeSelector": list(image.node_selector),
            "diskSelector": list(image.disk_selector),
        },
    )
