"""What the extender has not heard of yet counts wherever it may be, as in the service."""

from random import Random

from planner.engine import Scheduler
from planner.policy import TODAY_POLICY
from planner.scheduling import Batch, Scheduling
from planner.volumes import Volumes
from tests.builders import GIB, claim, disk, node, storage_class
from tests.unit.planner.clusters import cluster_of, kubernetes_node, pod_with

SEEDS = range(30)


def nodes_of_two_pods(*rooms: int, others: int = 0, seed: int) -> list[str]:
    """Schedule two pods, which are spread if they may be; return their nodes, sorted.

    Args:
        rooms: Of how many pods each of the first nodes has room for the volumes.
        others: How many nodes have no disks.
        seed: Of what is left to chance.
    """
    pods = tuple(pod_with(name, name=name) for name in ("one", "two"))
    cluster, random = (
        cluster_of(
            *(kubernetes_node(f"node-{number}") for number in range(len(rooms) + others)),
            *(
                node(
                    f"node-{number}",
                    *(disk(f"disk-{number}-{n}", maximum_bytes=150 * GIB) for n in range(room)),
                )
                for number, room in enumerate(rooms)
            ),
            storage_class(),
            *(claim(name, size_bytes=100 * GIB) for name in ("one", "two")),
        ),
        Random(seed),
    )
    scheduling = Scheduling(
        cluster, Scheduler(TODAY_POLICY, random), Volumes(cluster, random), random, in_flight=20
    )
    scheduling.create(pods, [])
    scheduling.schedule([Batch(pods=pods)])
    return sorted(str(each.node) for each in cluster.pods.values())


def test_a_pod_may_be_kept_off_a_node_where_the_last_one_might_be():
    found = [nodes_of_two_pods(2, 1, seed=seed) for seed in SEEDS]

    assert ["node-0", "node-0"] in found
    assert ["node-0", "node-1"] in found


def test_a_pod_for_which_no_other_node_is_left_waits_for_the_news():
    found = [nodes_of_two_pods(1, 1, seed=seed) for seed in SEEDS]

    assert found == [["node-0", "node-1"]] * len(SEEDS)


def test_in_a_large_cluster_the_news_are_not_late():
    found = [nodes_of_two_pods(2, 1, others=99, seed=seed) for seed in SEEDS]

    assert found == [["node-0", "node-1"]] * len(SEEDS)
