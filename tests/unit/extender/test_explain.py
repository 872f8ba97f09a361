"""On which disk each volume is, or would go."""

from extender import DiskName, Locality, NodeName, Plan, VolumeName, explain
from tests.builders import (
    GENEROUS,
    GIB,
    ask,
    bound,
    disk,
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


def test_nothing_is_planned_when_nothing_is_local() -> None:
    view = view_of(node(), *bound(volume(locality=Locality.DISABLED)))

    assert explain(pod(), ask(view), view, GENEROUS) == {NODE: Plan()}


def test_replicas_are_held() -> None:
    view = view_of(
        node("node-1", disk("disk-1"), disk("disk-2")), *bound(volume()), replica(disk="disk-2")
    )

    assert explain(pod(), ask(view), view, GENEROUS) == {NODE: Plan(existing={VOL: DISK_2})}


def test_new_replicas_are_placed() -> None:
    view = view_of(node(), *bound(volume()))

    assert explain(pod(), ask(view), view, GENEROUS) == {
        NODE: Plan(placed={VOL: DISK_1}, placed_bytes={VOL: 10 * GIB})
    }


def test_some_are_held_and_some_placed() -> None:
    disks = disk("disk-1", maximum_bytes=10 * GIB, listed={"old-r-1": 10 * GIB}), disk("disk-2")
    view = view_of(
        node("node-1", *disks),
        *bound(volume("old"), volume("new", size_bytes=20 * GIB)),
        replica("old-r-1", of="old"),
    )

    assert explain(pod("old", "new"), ask(view, "old", "new"), view, GENEROUS) == {
        NODE: Plan(existing={OLD: DISK_1}, placed={NEW: DISK_2}, placed_bytes={NEW: 20 * GIB})
    }


def test_pending_replicas_are_not_the_pods() -> None:
    view = view_of(node(), *bound(volume()), volume("other"), pending())

    assert explain(pod(), ask(view), view, GENEROUS) == {
        NODE: Plan(placed={VOL: DISK_1}, placed_bytes={VOL: 10 * GIB})
    }


def test_only_accepted_nodes_have_a_plan() -> None:
    full = node("node-2", disk(scheduled_bytes=100 * GIB))
    view = view_of(node(), full, *bound(volume()))

    plans = explain(pod(), ask(view, candidates=["node-2", "node-1", "node-9"]), view, GENEROUS)

    assert list(plans) == ["node-1"]


def test_rejected_everywhere_means_no_plans() -> None:
    view = view_of(node(ready=False), *bound(volume()))

    assert explain(pod(), ask(view), view, GENEROUS) == {}


def test_nothing_is_planned_while_a_setting_cannot_be_read() -> None:
    unreadable = setting("storage-over-provisioning-percentage", "abc")
    view = view_of(node(), *bound(volume()), unreadable)

    assert explain(pod("vol"), ask(view), view, GENEROUS) == {}
