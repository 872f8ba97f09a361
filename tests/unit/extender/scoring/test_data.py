"""What of a pod's data is on a node, or near it."""

import pytest

from extender.demand.requests import resolve
from extender.scoring.data import Near, data_near
from longhorn import Locality, NodeName, Replica, Volume
from tests.builders import (
    GIB,
    bound,
    nodes_of,
    pod,
    replica,
    replicas_of,
    view_of,
    volume,
    volumes_of,
)

NODES = nodes_of("1@a 2@a 3@b 4")
NAMES = [NodeName(each.name) for each in NODES]


def near(volumes: str | list[Volume], replicas: str | list[Replica]) -> Near:
    volumes = volumes_of(volumes) if isinstance(volumes, str) else volumes
    replicas = replicas_of(replicas) if isinstance(replicas, str) else replicas
    view = view_of(*NODES, *bound(*volumes), *replicas)
    return data_near(resolve(pod(*(each.name for each in volumes)), view), view)


def shares(found: Near) -> list[float]:
    return [round(each, 4) for each in found.shares(NAMES, view_of(*NODES))]


NOWHERE = [0.0] * 4
FAILED_FOR_GOOD = [replica(on="node-4", failed=True, rebuild_retries=5)]
SHARES: dict[str, tuple[str | list[Volume], str | list[Replica], list[float]]] = {
    # Volumes and replicas, and what each of the nodes has: the first two are in one zone.
    "replica-usable": ("vol", "vol@4", [0, 0, 0, 1]),
    "replica-evicting": ("vol", "vol@4/evicting", [0, 0, 0, 0.5]),
    "replica-being-rebuilt": ("vol", "vol@4/new/started", [0, 0, 0, 0.25]),
    "replica-failed-and-reusable": ("vol", "vol@4/failed", [0, 0, 0, 0.25]),
    "replica-failed-for-good": ("vol", FAILED_FOR_GOOD, NOWHERE),
    "replica-deleting": ("vol", "vol@4/deleting", NOWHERE),
    "replica-duplicate-of-a-migration": ("vol", "vol@4/inactive", NOWHERE),
    # In its zone all of a volume is worth a third.
    "zone-of-one": ("vol", "vol@1", [1, 0.3333, 0, 0]),
    "zone-of-one-of-three": ("vol*3", "vol@1", [1, 0.1111, 0, 0]),
    "zone-of-disabled": ("vol*2~", "vol@1", [1, 0.1667, 0, 0]),
    "zone-each-of-two": ("vol*2~", "vol@1 vol@3", [1, 0.1667, 1, 0]),
    # A volume weighs by its size and by what a local replica saves: a copy of all of a best-effort
    # one, half of the reads and copies of a disabled one. Here 20 and 10.
    "volumes-of-two-weights": (
        "large:40*2~ small:10", "large@3 small@1", [0.3333, 0.1111, 0.6667, 0]),
    # These are not attached to the pod's node.
    "volume-shared": ([volume(shared=True)], "vol@1", NOWHERE),
    "volume-standby": ([volume(standby=True)], "vol@1", NOWHERE),
    "volume-sharded": ([volume(data_chunks=2)], "vol@1", NOWHERE),
    "volume-whose-size-is-not-known": (
        [volume(size_bytes=0, locality=Locality.DISABLED)], "vol@1", NOWHERE),
}  # fmt: skip


@pytest.mark.parametrize("name", SHARES)
def test_node_has_a_share_of_the_data(name):
    volumes, replicas, expected = SHARES[name]

    assert shares(near(volumes, replicas)) == expected


def test_volume_without_data_changes_nothing():
    """Wherever the pod goes, nothing of it has to move."""
    new = volume("new", size_bytes=1_000 * GIB)

    assert near([volume(), new], "vol@1") == near("vol", "vol@1")


def test_replicas_beyond_those_wanted_are_worth_no_more_than_all():
    """Best-effort makes one more before it takes one away."""
    found = near("vol", "vol@1 vol@2")

    assert shares(found) == [1, 1, 0, 0]
    assert found.in_zones == {"a": pytest.approx(1 / 3)}
