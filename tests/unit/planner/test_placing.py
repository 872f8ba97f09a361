"""The planner's search against Longhorn's own, on random clusters that change."""

from datetime import UTC, datetime
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from longhorn import Candidate, Locality, choices, find_candidates
from planner.cluster import Cluster
from planner.placing import Placing
from tests.builders import GENEROUS, GIB, disk, node, replica, setting, volume
from tests.effort import examples

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NODES = 5
SEEDS = st.integers(0, 2**32)


def random_cluster(random: Random) -> Cluster:
    """Make nodes of some disks in some zones, that differ in what decides where replicas go."""
    cluster = Cluster(GENEROUS)
    for number in range(random.randint(1, NODES)):
        put_node(cluster, f"node-{number}", random)
    for name in ("replica-soft-anti-affinity", "replica-zone-soft-anti-affinity"):
        if random.random() < 0.5:
            cluster.put(setting(name, random.choice(["true", "false"])))
    if random.random() < 0.1:
        cluster.put(setting("replica-auto-balance", "best-effort"))
    return cluster


def put_node(cluster: Cluster, name: str, random: Random) -> None:
    disks = [
        disk(
            f"disk-{name}-{number}",
            maximum_bytes=random.choice([20, 40, 40, 100]) * GIB,
            available_bytes=random.choice([None, 10 * GIB]),
            tags=random.choice([(), (), ("ssd",)]),
            schedulable=random.random() < 0.9,
        )
        for number in range(random.randint(1, 3))
    ]
    cluster.put(
        node(
            name,
            *disks,
            zone=random.choice(["a", "b", "c"]),
            tags=random.choice([(), (), ("fast",)]),
            ready=random.random() < 0.9,
        )
    )


@settings(max_examples=examples(300))
@given(seed=SEEDS)
def test_it_takes_a_disk_that_longhorn_may_take(seed):
    random = Random(seed)
    cluster, placing = random_cluster(random), Placing(random)
    for number in range(6):
        of = volume(
            f"vol-{number}",
            size_bytes=random.choice([5, 10, 30]) * GIB,
            replicas=3,
            locality=random.choice([*Locality]),
            node=random.choice([None, "node-0", "node-1"]),
            disk_selector=random.choice([(), (), ("ssd",)]),
            node_selector=random.choice([(), (), ("fast",)]),
        )
        cluster.put(of)
        for count in range(3):
            blank = replica(
                f"vol-{number}-r-{count}",
                of=of.name,
                on="",
                pinned_to=random.choice([None, None, None, "node-1"]),
                size_bytes=of.size_bytes,
                healthy_once=False,
            )
            view = cluster.view
            expected = find_candidates(blank, of, view.replicas.get(of.name, ()), view, NOW)
            found = placing.place(blank, of, view, NOW)
            if isinstance(found, Candidate):
                assert found in choices(expected, of.size_bytes)
                cluster.put(
                    structs.replace(blank, node=found.node, disk=found.disk, healthy_once=True)
                )
            else:
                assert not expected.disks
                assert found == expected.errors
        if random.random() < 0.3:
            put_node(cluster, f"node-{random.randrange(NODES)}", random)


def test_equal_disks_are_all_taken_some_time():
    cluster = Cluster(GENEROUS)
    for name in ("node-1", "node-2", "node-3"):
        cluster.put(node(name, disk(f"{name}-1"), disk(f"{name}-2")))
    of = volume(replicas=1, locality=Locality.DISABLED)
    cluster.put(of)
    blank = replica("vol-r-1", on="", disk="", healthy_once=False)
    placing = Placing(Random(1))

    found = {placing.place(blank, of, cluster.view) for _ in range(200)}

    assert len(found) == 6
