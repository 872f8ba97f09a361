"""What of a pod's data is on a node, or near it."""

import pytest

from extender.demand.requests import resolve
from extender.scoring.data import Near, data_near
from longhorn import Locality, NodeName, Replica, Volume
from tests.builders import GIB, bound, node, pod, replica, view_of, volume

NODES = {"node-1": "a", "node-2": "a", "node-3": "b", "node-4": ""}


NOTHING = view_of(*(node(name, zone=zone) for name, zone in NODES.items()))


def near(volumes: list[Volume], *replicas: Replica) -> Near:
    nodes = [node(name, zone=zone) for name, zone in NODES.items()]
    view = view_of(*nodes, *bound(*volumes), *replicas)
    return data_near(resolve(pod(*(each.name for each in volumes)), view), view)


def shares(found: Near) -> list[float]:
    return [round(each, 4) for each in found.shares([NodeName(name) for name in NODES], NOTHING)]


BEST_EFFORT = volume()
DISABLED = volume(locality=Locality.DISABLED, replicas=2)


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        pytest.param({}, 1, id="usable"),
        pytest.param({"evicting": True}, 0.5, id="evicting"),
        pytest.param({"healthy_once": False, "started": True}, 0.25, id="being-rebuilt"),
        pytest.param({"failed": True}, 0.25, id="failed-and-reusable"),
        pytest.param({"failed": True, "rebuild_retries": 5}, 0, id="failed-for-good"),
        pytest.param({"deleting": True}, 0, id="deleting"),
        pytest.param({"active": False}, 0, id="duplicate-of-a-migration"),
    ],
)
def test_a_replica_counts_by_what_longhorn_keeps_in_it(state, expected):
    found = near([BEST_EFFORT], replica(on="node-4", **state))

    assert shares(found) == [0, 0, 0, expected]


@pytest.mark.parametrize(
    ("volumes", "expected"),
    [
        pytest.param([BEST_EFFORT], [1, 1 / 3, 0, 0], id="one"),
        pytest.param([volume(replicas=3)], [1, 1 / 9, 0, 0], id="one-of-three"),
        pytest.param([DISABLED], [1, 1 / 6, 0, 0], id="disabled"),
    ],
)
def test_in_its_zone_all_of_a_volume_is_worth_a_third(volumes, expected):
    assert shares(near(volumes, replica())) == [round(each, 4) for each in expected]


def test_both_replicas_of_a_zone_count():
    found = near([DISABLED], replica("r-1", on="node-1"), replica("r-2", on="node-3"))

    assert shares(found) == [1, 0.1667, 1, 0]


def test_volumes_weigh_by_their_size_and_by_what_a_local_replica_saves():
    """A copy of all of one best-effort volume, half of the reads and copies of a disabled one."""
    large = volume("large", size_bytes=40 * GIB, locality=Locality.DISABLED, replicas=2)
    small = volume("small", size_bytes=10 * GIB)
    found = near(
        [large, small], replica("l-1", of="large", on="node-3"), replica("s-1", of="small")
    )

    # Weights of 20 and 10.
    assert shares(found) == [0.3333, 0.1111, 0.6667, 0]


def test_a_volume_without_data_changes_nothing():
    """Wherever the pod goes, nothing of it has to move."""
    new = volume("new", size_bytes=1_000 * GIB)

    assert near([BEST_EFFORT, new], replica()) == near([BEST_EFFORT], replica())


@pytest.mark.parametrize(
    "elsewhere", [volume(shared=True), volume(standby=True), volume(data_chunks=2)]
)
def test_volumes_that_are_not_attached_to_the_pods_node_count_nowhere(elsewhere):
    found = near([elsewhere], replica())

    assert shares(found) == [0, 0, 0, 0]


def test_a_volume_of_which_the_size_is_not_known_counts_nowhere():
    found = near([volume(size_bytes=0, locality=Locality.DISABLED)], replica())

    assert shares(found) == [0, 0, 0, 0]


def test_more_replicas_than_wanted_are_worth_no_more_than_all():
    """Best-effort makes one more before it takes one away."""
    found = near([BEST_EFFORT], replica("r-1", on="node-1"), replica("r-2", on="node-2"))

    assert shares(found) == [1, 1, 0, 0]
    assert found.in_zones == {"a": pytest.approx(1 / 3)}
