"""On which disk each volume is, or would go."""

import pytest

from app.kube.resource import AnyRecord
from extender import Ledger
from extender.explaining import Charge, LocalDisks, charges, local_disks
from extender.holds import State
from longhorn import DiskName, NodeName, VolumeName
from tests.builders import (
    GIB,
    ask,
    bound,
    disk,
    hold,
    node,
    nodes_of,
    pod,
    replicas_of,
    setting,
    view_of,
    volumes_of,
)

NODE = NodeName("node-1")
OLD, NEW, VOL = VolumeName("old"), VolumeName("new"), VolumeName("vol")
DISK_1, DISK_2 = DiskName("disk-1"), DiskName("disk-2")
NEW_ON_1 = LocalDisks(new={VOL: DISK_1}, new_bytes={VOL: 10 * GIB})
HELD = node("node-1", disk(maximum_bytes=10 * GIB, listed={"old-r-1": 10 * GIB}), disk("disk-2"))
UNREADABLE = setting("storage-over-provisioning-percentage", "abc")
ROWS: dict[str, tuple[list[AnyRecord], str, dict[NodeName, LocalDisks]]] = {
    # The cluster, the pod's volumes, and what is planned on each node.
    "volume-that-is-not-local": ([node()], "vol~", {NODE: LocalDisks()}),
    "replica-that-exists": ([*nodes_of("1:100,100"), *replicas_of("vol@1", disk="disk-2")], "vol",
        {NODE: LocalDisks(existing={VOL: DISK_2})}),
    "replica-that-exists-beside-a-new-one": ([HELD, *replicas_of("old@1")], "old new:20",
        {NODE: LocalDisks(
            existing={OLD: DISK_1}, new={NEW: DISK_2}, new_bytes={NEW: 20 * GIB})}),
    "replica-pending-of-another-volume": (
        [node(), *volumes_of("other"), *replicas_of("other>1")], "vol", {NODE: NEW_ON_1}),
    "node-that-is-not-accepted": ([*nodes_of("1 2:5")], "vol", {NODE: NEW_ON_1}),
    "setting-that-cannot-be-read": ([node(), UNREADABLE], "vol", {}),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_disks_of_local_volumes(name):
    records, own, expected = ROWS[name]
    volumes = volumes_of(own)
    view = view_of(*records, *bound(*volumes))

    answer = ask(view, *(each.name for each in volumes), candidates=["node-2", "node-1", "node-9"])

    assert local_disks(answer) == expected


def test_volumes_are_planned_beside_what_is_held():
    beside = hold("other", volumes=["a", "b"], nodes=["node-1"], only_candidate=True)
    view = view_of(*nodes_of("1:10,20"), *bound(*volumes_of("vol:5")))

    alone, both = (local_disks(ask(view, holds=holds))[NODE].new for holds in ((), (beside,)))

    assert (alone, both) == ({VOL: DISK_1}, {VOL: DISK_2})


def test_charge_names_the_pod_and_what_is_not_placed_yet():
    ledger = Ledger()
    ledger.put(hold("a", volumes=["vol", "old"], nodes=["node-1", "node-2"]))
    ledger.put(hold("b", volumes=["old"], nodes=["node-1"]))
    view = view_of(node("node-1"), *replicas_of("old@1"))

    assert charges(ledger, NODE, view) == [
        Charge(pod=pod(name="a"), state=State.OPEN, bytes={VOL: 10 * GIB})
    ]
    assert charges(ledger, NODE, view, but="uid-a") == []
