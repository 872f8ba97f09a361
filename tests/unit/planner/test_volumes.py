"""Longhorn in a plan: what it places, moves, and gives up."""

from random import Random

import pytest
from msgspec.structs import replace

from longhorn import Locality, NodeName, Replica, Volume, VolumeName
from planner.cluster import Cluster
from planner.provisioning import provision
from planner.volumes import Settled, Volumes
from tests.builders import (
    GIB,
    bound,
    claim,
    disk,
    node,
    replica,
    setting,
    shard,
    storage_class,
    volume,
)
from tests.unit.planner.clusters import cluster_of, nodes_of, pod_with

VOL = VolumeName("vol")


def volumes_of(cluster: Cluster) -> Volumes:
    return Volumes(cluster, Random(7))


def places(cluster: Cluster, name: VolumeName = VOL) -> list[str]:
    replicas = cluster.view.replicas.get(name, ())
    return sorted(f"{each.node}{' evicting' if each.evicting else ''}" for each in replicas)


def known(cluster: Cluster, name: VolumeName = VOL) -> Volume:
    return cluster.view.volumes[name]


def attached(cluster: Cluster, on: str = "node-1") -> Settled:
    """Attach the volume of pod *pod* on a node, and return what Longhorn then does."""
    volumes = volumes_of(cluster)
    volumes.attach(pod_with("vol", on=on))
    return volumes.settle()


def copies(*on: str, **fields: object) -> list[Replica]:
    return [
        replica(f"vol-r-{name}", on=name, disk=f"{name}-disk", **fields)  # type: ignore[arg-type]
        for name in on
    ]


def test_a_claim_becomes_the_volume_of_its_class():
    cluster = cluster_of(*nodes_of("aab"), storage_class(numberOfReplicas="2"), claim())
    volumes = volumes_of(cluster)

    provision(claim(), None, cluster)

    [made] = cluster.view.volumes.values()
    assert (made.wanted_replicas, made.locality) == (2, Locality.BEST_EFFORT)
    assert volumes.of_pod(pod_with("data")) == [made]


IN_SHARDS = storage_class(
    **{
        "dataEngine": "v2",
        "dataLocality": "disabled",
        "dataLayout.type": "sharded",
        "dataLayout.dataChunks": "2",
        "dataLayout.parityChunks": "1",
        "dataLayout.stripSizeKB": "64",
    }
)
BLOCK = [node(f"node-{n}", disk(f"node-{n}-disk", type_="block")) for n in range(1, 5)]


def test_each_shard_takes_its_part_and_the_volume_starts_with_all_of_them():
    cluster = cluster_of(*BLOCK[:3], IN_SHARDS, claim(size_bytes=50 * GIB))
    volumes = volumes_of(cluster)
    provision(claim(size_bytes=50 * GIB), None, cluster)
    [made] = cluster.view.volumes.values()
    volumes.attach(pod_with("data", on="node-1"))

    settled = volumes.settle()

    assert sorted(each.node or "" for each in settled.placed) == ["node-1", "node-2", "node-3"]
    taken = [space.disks[0].scheduled_bytes for space in cluster.view.spaces.values()]
    assert taken == [made.shard_bytes] * 3
    assert 25 * GIB < made.shard_bytes < 26 * GIB
    assert cluster.view.volumes[made.name].healthy


def in_shards(*on: str) -> Cluster:
    """Build a volume of two data shards and one more, whose disks have counted them."""
    nodes = [
        node(f"node-{n}", disk(f"node-{n}-disk", type_="block", scheduled_bytes=5 * GIB))
        for n in range(1, 4)
    ]
    of = volume(locality=Locality.DISABLED, disk_type="block", replicas=3, soft=False)
    made = replace(of, data_chunks=2, shard_bytes=5 * GIB, node="node-1", attached_to="node-1")
    shards = [shard(f"vol-{n}", on=name, disk=f"{name}-disk") for n, name in enumerate(on)]
    return cluster_of(*nodes, BLOCK[3], *bound(made), *shards)


def test_a_lost_shard_is_made_again_and_its_room_given_back():
    cluster = in_shards("node-1", "node-2", "node-3")
    volumes = volumes_of(cluster)

    lost = volumes.fail(r for r in cluster.view.replicas[VOL] if r.node == "node-2")
    settled = volumes.settle()

    assert (lost, [each.node for each in settled.placed]) == ([], ["node-4"])
    assert [each.node for each in settled.removed] == ["node-2"]
    taken = [space.disks[0].scheduled_bytes // GIB for space in cluster.view.spaces.values()]
    assert taken == [5, 0, 5, 5]


def test_with_more_shards_lost_than_it_can_do_without_a_volume_is_lost():
    cluster = in_shards("node-1", "node-2", "node-3")
    volumes = volumes_of(cluster)

    lost = volumes.fail(r for r in cluster.view.replicas[VOL] if r.node != "node-2")

    assert [each.name for each in lost] == [VOL]


def test_a_class_of_the_first_releases_makes_longhorn_volumes_too():
    old = storage_class(provisioner="rancher.io/longhorn")
    cluster = cluster_of(*nodes_of("a"), old, claim())

    provision(claim(), None, cluster)

    assert len(cluster.view.volumes) == 1


def test_a_claim_of_other_storage_is_bound_and_has_no_longhorn_volume():
    cluster = cluster_of(*nodes_of("a"), storage_class(provisioner="other.io"), claim())
    volumes = volumes_of(cluster)

    provision(claim(), None, cluster)

    assert cluster.view.claims[claim().key].persistent_volume
    assert volumes.of_pod(pod_with("data")) == []


def test_disabled_locality_is_placed_before_it_is_attached():
    cluster = cluster_of(*nodes_of("abc"), volume(replicas=3, locality=Locality.DISABLED))

    done = volumes_of(cluster).settle()

    assert places(cluster) == ["node-1", "node-2", "node-3"]
    assert len(done.placed) == 3


def test_best_effort_waits_for_its_node_and_takes_it_first():
    cluster = cluster_of(*nodes_of("abc"), *bound(volume(replicas=2)))

    assert volumes_of(cluster).settle().placed == ()
    done = attached(cluster, on="node-2")

    assert done.placed[0].node == "node-2"
    assert known(cluster).healthy


def test_fresh_zones_come_first():
    for seed in range(20):
        cluster = cluster_of(*nodes_of("aaab"), volume(replicas=2, locality=Locality.DISABLED))
        Volumes(cluster, Random(seed)).settle()
        assert "node-4" in places(cluster)


def test_hard_zones_leave_replicas_out_and_say_so():
    zone = setting("replica-zone-soft-anti-affinity", "false")
    cluster = cluster_of(*nodes_of("aabb"), zone, *bound(volume(replicas=3)))

    done = attached(cluster)

    assert len(places(cluster)) == 2
    assert known(cluster).degraded
    assert done.unplaced == {VOL: ()}


def test_strict_local_goes_nowhere_else():
    cluster = cluster_of(
        node("node-1", disk("full", maximum_bytes=5 * GIB)),
        node("node-2", disk("free")),
        *bound(volume(locality=Locality.STRICT_LOCAL)),
    )

    attached(cluster)

    assert places(cluster) == []
    assert volumes_of(cluster).is_stuck(known(cluster), pod_with("vol", on="node-1"))


def test_a_moved_pod_gets_a_replica_and_one_elsewhere_goes():
    there = copies("node-1", "node-2")
    cluster = cluster_of(*nodes_of("abc"), *bound(volume(replicas=2)), *there)

    done = attached(cluster, on="node-3")

    assert "node-3" in places(cluster)
    assert len(places(cluster)) == 2
    assert len(done.removed) == 1


def test_without_room_beside_the_pod_all_stays_as_it_is():
    there = copies("node-1", "node-2")
    small = node("node-3", disk("small", maximum_bytes=5 * GIB))
    cluster = cluster_of(*nodes_of("ab"), small, *bound(volume(replicas=2)), *there)

    done = attached(cluster, on="node-3")

    assert places(cluster) == ["node-1", "node-2"]
    assert done.unplaced.keys() == {VOL}


def test_an_evicted_replica_moves_and_gives_its_room_back():
    listed = {"vol-r-node-1": 10 * GIB}
    cluster = cluster_of(
        node("node-1", disk("node-1-disk", listed=listed, evicting=True)),
        node("node-2", disk("node-2-disk")),
        *bound(volume(replicas=1)),
        *copies("node-1"),
    )
    volumes = volumes_of(cluster)

    volumes.follow_evictions()
    volumes.settle()

    assert places(cluster) == ["node-2"]
    [space] = cluster.view.spaces[NodeName("node-1")].disks
    assert space.scheduled_bytes == 0


def test_an_evicted_replica_stays_while_there_is_no_other_place():
    drained = node("node-1", disk("node-1-disk", evicting=True))
    cluster = cluster_of(drained, *bound(volume(replicas=1)), *copies("node-1"))
    volumes = volumes_of(cluster)

    volumes.follow_evictions()
    done = volumes.settle()

    assert places(cluster) == ["node-1 evicting"]
    assert done.unplaced.keys() == {VOL}


@pytest.mark.parametrize("lost", [("node-1",), ("node-1", "node-2")])
def test_a_lost_replica_is_made_again_from_what_is_left(lost):
    there = copies("node-1", "node-2", "node-3")
    cluster = cluster_of(*nodes_of("abcde"), *bound(volume(replicas=3)), *there)
    volumes = volumes_of(cluster)
    volumes.attach(pod_with("vol", on="node-3"))
    volumes.settle()
    for name in lost:
        cluster.put(node(name, disk(f"{name}-disk"), ready=False))

    assert volumes.fail(copies(*lost)) == []
    volumes.settle()

    assert len(places(cluster)) == 3
    assert not {*lost} & {*places(cluster)}


def test_with_its_last_replica_the_volume_is_lost():
    cluster = cluster_of(*nodes_of("ab"), *bound(volume(replicas=1)), *copies("node-1"))
    volumes = volumes_of(cluster)

    [lost] = volumes.fail(copies("node-1"))
    done = volumes.settle()

    assert lost.name == VOL
    assert volumes.replicas.is_lost(known(cluster))
    assert done.placed == ()


def test_a_shared_volume_is_used_wherever_it_is_attached():
    cluster = cluster_of(*nodes_of("ab"), *bound(volume(shared=True)), *copies("node-1"))
    volumes = volumes_of(cluster)
    volumes.attach(pod_with("vol", on="node-1"))
    volumes.settle()

    assert not volumes.is_stuck(known(cluster), pod_with("vol", on="node-2", name="other"))


def test_a_volume_that_another_node_uses_keeps_its_pod_waiting():
    cluster = cluster_of(*nodes_of("ab"), *bound(volume()), *copies("node-1"))
    volumes = volumes_of(cluster)
    volumes.attach(pod_with("vol", on="node-1"))
    volumes.attach(pod_with("vol", on="node-2", name="other"))
    volumes.settle()

    assert volumes.is_stuck(known(cluster), pod_with("vol", on="node-2", name="other"))


def test_detached_only_when_no_other_pod_of_the_node_uses_it():
    first, second = pod_with("vol", on="node-1"), pod_with("vol", on="node-1", name="other")
    cluster = cluster_of(*nodes_of("a"), first, second, *bound(volume()), *copies("node-1"))
    volumes = volumes_of(cluster)
    volumes.attach(first)
    volumes.settle()

    volumes.detach(first)
    assert known(cluster).attached_to == "node-1"
    cluster.remove_pod(first.key)
    volumes.detach(second)

    assert known(cluster).attached_to is None
