"""On which disk each volume is, or would go."""

from extender import Ledger
from extender.explaining import Charge, LocalDisks, charges, local_disks
from extender.holds import State
from longhorn import DiskName, Locality, NodeName, VolumeName
from tests.builders import (
    GIB,
    ask,
    bound,
    disk,
    hold,
    node,
    pending,
    pod,
    replica,
    setting,
    view_of,
    volume,
)

NODE = NodeName("node-1")
OLD, NEW, VOL = VolumeName("old"), VolumeName("new"), VolumeName("vol")
DISK_1, DISK_2 = DiskName("disk-1"), DiskName("disk-2")


def test_nothing_is_planned_when_nothing_is_local():
    view = view_of(node(), *bound(volume(locality=Locality.DISABLED)))

    assert local_disks(ask(view)) == {NODE: LocalDisks()}


def test_replicas_are_held():
    view = view_of(
        node("node-1", disk("disk-1"), disk("disk-2")), *bound(volume()), replica(disk="disk-2")
    )

    assert local_disks(ask(view)) == {NODE: LocalDisks(existing={VOL: DISK_2})}


def test_some_are_held_and_some_placed():
    disks = disk("disk-1", maximum_bytes=10 * GIB, listed={"old-r-1": 10 * GIB}), disk("disk-2")
    view = view_of(
        node("node-1", *disks),
        *bound(volume("old"), volume("new", size_bytes=20 * GIB)),
        replica("old-r-1", of="old"),
    )

    assert local_disks(ask(view, "old", "new")) == {
        NODE: LocalDisks(
            existing={OLD: DISK_1},
            new={NEW: DISK_2},
            new_bytes={NEW: 20 * GIB},
        )
    }


def test_pending_replicas_are_not_the_pods():
    view = view_of(node(), *bound(volume()), volume("other"), pending())

    assert local_disks(ask(view)) == {
        NODE: LocalDisks(
            new={VOL: DISK_1},
            new_bytes={VOL: 10 * GIB},
        )
    }


def test_only_accepted_nodes_have_a_plan():
    full = node("node-2", disk(scheduled_bytes=100 * GIB))
    view = view_of(node(), full, *bound(volume()))

    plans = local_disks(ask(view, candidates=["node-2", "node-1", "node-9"]))

    assert list(plans) == ["node-1"]


def test_nothing_is_planned_while_a_setting_cannot_be_read():
    unreadable = setting("storage-over-provisioning-percentage", "abc")
    view = view_of(node(), *bound(volume()), unreadable)

    assert local_disks(ask(view)) == {}


def test_volumes_are_planned_beside_what_is_held():
    beside = hold("other", volumes=["a", "b"], nodes=["node-1"], only_candidate=True)
    disks = disk("disk-1", maximum_bytes=10 * GIB), disk("disk-2", maximum_bytes=20 * GIB)
    view = view_of(node("node-1", *disks), *bound(volume("vol", size_bytes=5 * GIB)))

    placed = {
        name: local_disks(ask(view, holds=holds))[NODE].new
        for name, holds in {"alone": (), "beside": (beside,)}.items()
    }

    assert placed == {"alone": {VOL: DISK_1}, "beside": {VOL: DISK_2}}


def test_charge_names_the_pod_and_what_is_not_placed_yet():
    ledger = Ledger()
    ledger.put(hold("a", volumes=["vol", "old"], nodes=["node-1", "node-2"]))
    ledger.put(hold("b", volumes=["old"], nodes=["node-1"]))
    placed = replica(of="old", on="node-1")
    view = view_of(node("node-1"), placed)

    assert charges(ledger, NODE, view) == [
        Charge(pod=pod(name="a"), state=State.OPEN, bytes={VOL: 10 * GIB})
    ]
    assert charges(ledger, NODE, view, but="uid-a") == []
