"""Whether replicas find room in the cluster together."""

import pytest
from msgspec import structs

from longhorn import Settings, Volume
from tests.builders import GIB, disk, node, replica, volume
from tests.simulation.together import Found, Known, Missing, find_room, spaces_of

SETTINGS = Settings(minimal_available_percent=0)
HARD = structs.replace(SETTINGS, zone_soft_anti_affinity=False)
SHARED = structs.replace(SETTINGS, soft_anti_affinity=True)


def cluster(*gib: int, zones: str = "") -> Known:
    """Build nodes of one disk of these sizes; the first one has a replica of 10 GiB."""
    nodes = [
        node(f"node-{number}", disk(maximum_bytes=size * GIB), zone=zones[number : number + 1])
        for number, size in enumerate(gib)
    ]
    there = replica("there-1", of="there", on="node-0", size_bytes=10 * GIB)
    return Known(nodes=nodes, volumes={}, replicas={"there": [there]})


def of(gib: int, name: str = "vol") -> Volume:
    return volume(name, size_bytes=gib * GIB)


@pytest.mark.parametrize(
    ("missing", "sizes", "zones", "settings", "expected"),
    [
        pytest.param(Missing(volume=of(30), anywhere=3), (40, 30, 30), "", SETTINGS, 3, id="all"),
        pytest.param(Missing(volume=of(31), anywhere=3), (40, 31, 31), "", SETTINGS, 2, id="taken"),
        pytest.param(Missing(volume=of(10), anywhere=2), (40,), "", SETTINGS, 1, id="one-a-node"),
        pytest.param(Missing(volume=of(10), anywhere=4), (40,), "", SHARED, 3, id="shared-node"),
        pytest.param(Missing(volume=of(10), anywhere=3), (40,) * 3, "aab", HARD, 2, id="zones"),
        pytest.param(
            Missing(volume=of(10), anywhere=2, local="node-0"),
            (40, 40),
            "",
            SETTINGS,
            2,
            id="local",
        ),
    ],
)
def test_for_how_many_replicas_there_is_room(missing, sizes, zones, settings, expected):
    spaces = spaces_of(cluster(*sizes, zones=zones), settings)

    found = find_room([missing], spaces, settings)

    assert found is not None
    assert found["vol"].anywhere + found["vol"].local == expected


def test_a_replica_that_there_is_keeps_others_off_its_node():
    known = cluster(40, 40)
    there = Missing(volume=of(10, "there"), replicas=known.replicas["there"], anywhere=2)

    found = find_room([there], spaces_of(known, SETTINGS), SETTINGS)

    assert found == {"there": Found(anywhere=1, local=0)}


def test_what_is_gone_takes_room_where_a_disk_lists_it_still():
    [there] = cluster(40).replicas["there"]
    listed = disk(maximum_bytes=40 * GIB, listed={there.name: 10 * GIB, "gone-1": 5 * GIB})
    known = structs.replace(cluster(40), nodes=[node("node-0", listed)])

    [beside] = spaces_of(known, SETTINGS)
    [lagging] = spaces_of(known, SETTINGS, by_lists=True)

    assert beside.disks[0].logical_headroom_bytes == 30 * GIB
    assert lagging.disks[0].logical_headroom_bytes == 25 * GIB


def test_volumes_find_room_together_or_not():
    spaces = spaces_of(cluster(40, 30), SETTINGS)
    pair = Missing(volume=of(20, "pair"), anywhere=2).whole
    local = Missing(volume=of(10, "local"), local="node-1").whole

    assert find_room([pair, local], spaces, SETTINGS) is not None
    assert find_room([pair, structs.replace(local, local="node-9")], spaces, SETTINGS) is None
    assert find_room([pair, Missing(volume=of(11), local="node-1").whole], spaces, SETTINGS) is None
