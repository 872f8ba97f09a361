"""The points that kube-scheduler gives for free storage, from Kubernetes 1.37 on."""

import pytest

from planner.cluster import Cluster, Record
from planner.policy import TODAY_POLICY
from planner.priorities import PRIORITIES
from tests.builders import GIB, claim, disk, replica, setting, storage_class, volume
from tests.builders import node as longhorn_node
from tests.unit.planner.scheduling import cluster, node, pod, schedule, scores

SCORE = PRIORITIES["VolumeBinding"]
TRACKED = setting("csi-storage-capacity-tracking", "true")
TWO = [node("large"), node("tight")]
DISKS = [
    longhorn_node("large", disk("a", maximum_bytes=600 * GIB), disk("b", maximum_bytes=400 * GIB)),
    longhorn_node("tight", disk("c", maximum_bytes=60 * GIB)),
]


def scoring(*records: Record) -> Cluster:
    """Build a cluster whose kube-scheduler gives such points, with two nodes of other sizes."""
    given = [storage_class("local"), claim("data", size_bytes=59 * GIB), *records]
    where = cluster(TWO, records=[*DISKS, *given])
    where.scores_capacity = True
    return where


def test_a_node_has_a_tenth_for_each_ten_hundredths_that_stay_free():
    found = scores(SCORE, pod(claims=["data"]), scoring(TRACKED))

    # 59 of 1,000 GiB are 5 hundredths, of 60 they are 98
    assert found == {"large": 9.5, "tight": 0.2}


def test_volumes_of_a_class_count_together_and_classes_by_their_mean():
    more = claim("more", size_bytes=141 * GIB)
    other = claim("other", size_bytes=100 * GIB, storage_class="other")
    where = scoring(TRACKED, more, other, storage_class("other"))

    found = scores(SCORE, pod(claims=["data", "more", "other"]), where)

    # (80 + 90) / 2, and nothing where more is asked for than is free
    assert found == {"large": 8.5, "tight": 0}


def test_what_the_plan_has_placed_is_not_free():
    big = volume("big", size_bytes=500 * GIB)
    where = scoring(TRACKED, big, replica(of="big", on="large", disk="a", size_bytes=500 * GIB))

    assert scores(SCORE, pod(claims=["data"]), where)["large"] == 8.9


def test_a_class_may_have_zones_tell_what_they_have():
    where = scoring(TRACKED, storage_class("local", storageCapacityMode="zone"))

    assert scores(SCORE, pod(claims=["data"]), where) == {"large": 9.5, "tight": 9.5}


@pytest.mark.parametrize(
    "records",
    [
        pytest.param([], id="not-tracked"),
        pytest.param([TRACKED, claim("data", persistent_volume="pv")], id="bound"),
        pytest.param([TRACKED, claim("data", storage_class="none")], id="no-class"),
        pytest.param([TRACKED, storage_class("local", provisioner="other")], id="not-ours"),
    ],
)
def test_nothing_else_gives_points(records):
    assert scores(SCORE, pod(claims=["data"]), scoring(*records)) == {"large": 0, "tight": 0}


def test_an_older_kube_scheduler_gives_none():
    where = scoring(TRACKED)
    where.scores_capacity = False

    assert scores(SCORE, pod(claims=["data"]), where) == {"large": 0, "tight": 0}


def test_they_count_in_todays_policy():
    where, asked = scoring(TRACKED), pod(claims=["data"])
    before = cluster(
        TWO, records=[*DISKS, storage_class("local"), claim("data", size_bytes=59 * GIB)]
    )

    found, others = (schedule(TODAY_POLICY, asked, each).scores for each in (where, before))

    gains = {name: round(found[name] - others[name], 9) for name in found}
    assert gains == {"large": 9.5, "tight": 0.2}
