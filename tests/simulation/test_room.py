"""Whether volumes have room on the disks of a node."""

import pytest

from tests.actors.api import Object
from tests.actors.longhorn import DiskSpec, disk_uuid, longhorn_node
from tests.simulation.room import Want, has_room, has_room_in_any_order

GIB = 2**30
NODE = longhorn_node(
    "node-1",
    {"hdd": DiskSpec(size_bytes=100 * GIB), "ssd": DiskSpec(size_bytes=60 * GIB, tags=("ssd",))},
)
SETTINGS = {"storage-over-provisioning-percentage": "100"}


def wants(*sizes: int, tags: tuple[str, ...] = ()) -> list[Want]:
    return [
        Want(volume=f"{tags}{number}", size_bytes=gib * GIB, tags=tags)
        for number, gib in enumerate(sizes)
    ]


def replica(gib: int, disk: str) -> Object:
    where = {"nodeID": "node-1", "diskID": disk_uuid("node-1", disk)}
    spec = {"volumeName": "other", "volumeSize": str(gib * GIB), **where}
    return {"metadata": {"name": f"other-{disk}-{gib}"}, "spec": spec}


@pytest.mark.parametrize(
    ("asked", "taken", "expected"),
    [
        pytest.param([], [], True, id="nothing"),
        pytest.param(wants(100, 60), [], True, id="to-the-last-byte"),
        pytest.param(wants(101), [], False, id="larger-than-any-disk"),
        pytest.param(wants(60, 60, 40), [], True, id="in-some-arrangement"),
        pytest.param(wants(61, 61), [], False, id="enough-in-all-but-on-no-two-disks"),
        pytest.param(wants(60), [replica(41, "hdd")], True, id="beside-another-volume"),
        pytest.param(wants(60), [replica(41, "hdd"), replica(1, "ssd")], False, id="taken"),
        pytest.param(wants(60), [replica(200, "hdd")], True, id="a-disk-beyond-its-limit"),
        pytest.param(wants(60, tags=("ssd",)), [], True, id="tagged"),
        pytest.param(wants(61, tags=("ssd",)), [], False, id="tagged-and-too-large"),
        pytest.param(wants(30, tags=("ssd",)) + wants(40, 60), [], True, id="tagged-and-not"),
        pytest.param(wants(30, tags=("ssd",)) + wants(40, 61), [], False, id="tagged-in-the-way"),
        pytest.param(wants(1, tags=("nvme",)), [], False, id="no-such-tag"),
    ],
)
def test_has_room(asked, taken, expected):
    assert has_room(NODE, taken, asked, SETTINGS) is expected


def test_over_provisioning_makes_room():
    assert has_room(NODE, [], wants(200, 120), {"storage-over-provisioning-percentage": "200"})


def test_a_disk_that_longhorn_does_not_use_has_none():
    status = NODE["status"]
    hdd = {**status["diskStatus"]["hdd"], "conditions": []}
    node = {**NODE, "status": {**status, "diskStatus": {**status["diskStatus"], "hdd": hdd}}}

    found = [
        has_room(node, [], wants(100), SETTINGS, only_usable=usable) for usable in (False, True)
    ]

    assert found == [True, False]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        pytest.param(wants(60, 40), True, id="whatever-comes-first"),
        pytest.param(wants(60, 60, 30), False, id="the-last-one-may-find-both-disks-taken"),
        pytest.param(wants(100, 60), False, id="the-small-one-may-take-the-large-disk"),
        pytest.param(wants(60, tags=("ssd",)) + wants(100), True, id="each-to-its-disk"),
        pytest.param(wants(1, 1, 1, 1, 1, 1), False, id="too-many-to-say"),
    ],
)
def test_has_room_in_any_order(asked, expected):
    assert has_room_in_any_order(NODE, [], asked, SETTINGS) is expected
