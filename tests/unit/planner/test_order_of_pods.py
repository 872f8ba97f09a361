"""In which order pods are asked about: only some of them find room, and these came first."""

from collections.abc import Callable, Sequence
from random import Random

from planner.cluster import Cluster
from planner.engine import Scheduler
from planner.records import Pod
from planner.scheduling import Batch, Scheduled, Scheduling
from planner.volumes import Volumes
from tests.unit.planner.scheduling import cluster, node, pod, policy

SEEDS = range(20)
HALF = {"cpu": 2000}


def batch(
    name: str, count: int, *, is_ordered: bool = False, after: int = 0, each: int = 0
) -> Batch:
    """Build pods of which a node has room for two."""
    pods = tuple(pod(f"{name}-{number}", requests=HALF) for number in range(count))
    return Batch(pods=pods, is_ordered=is_ordered, created_after=after, objects_per_pod=each)


def scheduled(
    batches: Sequence[Batch],
    seed: int,
    *,
    in_flight: int = 20,
    asked: Callable[[int], None] = lambda _: None,
) -> tuple[Cluster, Scheduled]:
    """Schedule pods on one node."""
    where, random = cluster([node("node-1")]), Random(seed)
    scheduling = Scheduling(
        where,
        Scheduler(policy(["PodFitsResources"]), random),
        Volumes(where, random),
        random,
        in_flight=in_flight,
        asked=asked,
    )
    scheduling.create([each for batch in batches for each in batch.pods], [])
    return where, scheduling.schedule(batches)


def placed(batches: Sequence[Batch], seed: int) -> set[str]:
    """Return the names of the pods that get a node."""
    where, _ = scheduled(batches, seed)
    return {_name(each) for each in where.pods.values() if each.node}


def test_pods_of_one_workload_keep_their_order():
    assert {frozenset(placed([batch("a", 4)], seed)) for seed in SEEDS} == {
        frozenset({"a-0", "a-1"})
    }


def test_chance_mixes_the_pods_of_several_workloads():
    found = {frozenset(placed([batch("a", 2), batch("b", 2)], seed)) for seed in SEEDS}

    assert found == {frozenset(each) for each in (("a-0", "a-1"), ("a-0", "b-0"), ("b-0", "b-1"))}


def test_the_first_pod_of_an_ordered_workload_comes_along_with_the_others():
    ordered = batch("a", 2, is_ordered=True)

    found = {frozenset(placed([ordered, batch("b", 2)], seed)) for seed in SEEDS}

    assert found == {frozenset({"a-0", "b-0"}), frozenset({"b-0", "b-1"})}


def test_pods_come_in_the_order_in_which_they_are_created():
    one_by_one = [batch("b", 1, after=1), batch("a", 1), batch("c", 1, after=2)]

    assert {frozenset(placed(one_by_one, seed)) for seed in SEEDS} == {frozenset({"a-0", "b-0"})}


def test_a_controller_creates_pods_sooner_or_later_than_others_create_what_follows():
    """Its pod takes two objects: as long as 0.2 of the others take at least, and 6 at most."""
    controller = batch("a", 1, each=2)

    def first(name: str, *, after: int) -> set[frozenset[str]]:
        others = batch(name, 2, after=after)
        return {frozenset(placed([controller, others], seed)) for seed in SEEDS}

    assert first("b", after=0) == {frozenset({"b-0", "b-1"})}
    assert first("c", after=1) == {frozenset({"a-0", "c-0"}), frozenset({"c-0", "c-1"})}
    assert first("d", after=6) == {frozenset({"a-0", "d-0"})}


def test_the_later_pods_of_an_ordered_workload_wait_for_those_before():
    _, done = scheduled([batch("a", 4, is_ordered=True)], seed=0)

    assert done.not_created == {"default/a-3": "default/a-2"}


def test_how_many_pods_longhorn_is_behind_is_left_to_chance():
    sizes = list[int]()
    for seed in SEEDS:
        scheduled([batch("a", 9)], seed, in_flight=3, asked=sizes.append)

    assert {*sizes} == {1, 2, 3}


def _name(which: Pod) -> str:
    return which.ref.name
