"""Longhorn in a plan: what it places, moves, and gives up."""

from random import Random

import pytest
from msgspec.structs import replace

from longhorn import Locality, NodeName, Replica, Volume, VolumeName
from planner.cluster import Cluster
from planner.provisioning import provision
from planner.volumes import Settled, Volumes
from tests.builders import GIB, bound, claim, disk, node, shard, storage_class, volume
from tests.unit.planner.clusters import cluster_of, pod_with
from tests.unit.planner.notation import records_of

VOL = VolumeName("vol")


def volumes_of(cluster: Cluster) -> Volumes:
    return Volumes(cluster, Random(7))


def places(cluster: Cluster) -> str:
    """Return the numbers of the nodes that the volume has replicas on, `x` if one is evicted."""
    replicas = cluster.view.replicas.get(VOL, ())
    return " ".join(
        sorted(f"{str(each.node)[-1]}{'x' if each.evicting else ''}" for each in replicas)
    )


def known(cluster: Cluster) -> Volume:
    return cluster.view.volumes[VOL]


def attached(cluster: Cluster, on: int = 1) -> tuple[Volumes, Settled]:
    """Attach the volume of pod *pod* on a node, and return what Longhorn then does."""
    volumes = volumes_of(cluster)
    volumes.attach(pod_with("vol", on=f"node-{on}"))
    return volumes, volumes.settle()


def replicas_on(cluster: Cluster, *nodes: str) -> list[Replica]:
    return [each for each in cluster.view.replicas[VOL] if each.node in nodes]


def test_claim_becomes_the_volume_of_its_class():
    cluster = cluster_of(*records_of("aab"), storage_class(numberOfReplicas="2"), claim())
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


def test_lost_shard_is_made_again_and_its_room_given_back():
    cluster = in_shards("node-1", "node-2", "node-3")
    volumes = volumes_of(cluster)

    lost = volumes.fail(replicas_on(cluster, "node-2"))
    settled = volumes.settle()

    assert (lost, [each.node for each in settled.placed]) == ([], ["node-4"])
    assert [each.node for each in settled.removed] == ["node-2"]
    taken = [space.disks[0].scheduled_bytes // GIB for space in cluster.view.spaces.values()]
    assert taken == [5, 0, 5, 5]


def test_with_more_shards_lost_than_it_can_do_without_a_volume_is_lost():
    cluster = in_shards("node-1", "node-2", "node-3")
    volumes = volumes_of(cluster)

    lost = volumes.fail(replicas_on(cluster, "node-1", "node-3"))

    assert [each.name for each in lost] == [VOL]


def test_class_of_the_first_releases_makes_longhorn_volumes_too():
    old = storage_class(provisioner="rancher.io/longhorn")
    cluster = cluster_of(*records_of("a"), old, claim())

    provision(claim(), None, cluster)

    assert len(cluster.view.volumes) == 1


def test_claim_of_other_storage_is_bound_and_has_no_longhorn_volume():
    cluster = cluster_of(*records_of("a"), storage_class(provisioner="other.io"), claim())
    volumes = volumes_of(cluster)

    provision(claim(), None, cluster)

    assert cluster.view.claims[claim().key].persistent_volume
    assert volumes.of_pod(pod_with("data")) == []


def test_disabled_locality_is_placed_before_it_is_attached():
    cluster = cluster_of(*records_of("abc vol*3~/claimless"))

    done = volumes_of(cluster).settle()

    assert (places(cluster), len(done.placed)) == ("1 2 3", 3)


def test_best_effort_waits_for_its_node_and_takes_it_first():
    cluster = cluster_of(*records_of("abc vol*2"))

    assert volumes_of(cluster).settle().placed == ()
    _, done = attached(cluster, on=2)

    assert done.placed[0].node == "node-2"
    assert known(cluster).healthy


def test_fresh_zones_come_first():
    for seed in range(20):
        cluster = cluster_of(*records_of("aaab vol*2~/claimless"))
        Volumes(cluster, Random(seed)).settle()
        assert "4" in places(cluster)


def test_hard_zones_leave_replicas_out_and_say_so():
    cluster = cluster_of(*records_of("aabb replica-zone-soft-anti-affinity=false vol*3"))

    _, done = attached(cluster)

    assert len(places(cluster).split()) == 2
    assert known(cluster).degraded
    assert done.unplaced == {VOL: ()}


def test_strict_local_goes_nowhere_else():
    cluster = cluster_of(*records_of("ab:5,100 vol*1!"))

    volumes, _ = attached(cluster)

    assert places(cluster) == ""
    assert volumes.is_stuck(known(cluster), pod_with("vol", on="node-1"))


def test_moved_pod_gets_a_replica_and_one_elsewhere_goes():
    cluster = cluster_of(*records_of("abc vol[1,2]"))

    _, done = attached(cluster, on=3)

    assert places(cluster) in ("1 3", "2 3")
    assert len(done.removed) == 1


def test_without_room_beside_the_pod_all_stays_as_it_is():
    cluster = cluster_of(*records_of("abc:100,100,5 vol[1,2]"))

    _, done = attached(cluster, on=3)

    assert places(cluster) == "1 2"
    assert done.unplaced.keys() == {VOL}


def test_evicted_replica_moves_and_gives_its_room_back():
    listed = {"vol-r-node-1": 10 * GIB}
    evicting = node("node-1", disk("node-1-disk", listed=listed, evicting=True))
    cluster = cluster_of(*records_of("ab vol[1]"), evicting)
    volumes = volumes_of(cluster)

    volumes.follow_evictions()
    volumes.settle()

    assert places(cluster) == "2"
    [space] = cluster.view.spaces[NodeName("node-1")].disks
    assert space.scheduled_bytes == 0


def test_evicted_replica_stays_while_there_is_no_other_place():
    evicting = node("node-1", disk("node-1-disk", evicting=True))
    cluster = cluster_of(*records_of("a vol[1]"), evicting)
    volumes = volumes_of(cluster)

    volumes.follow_evictions()
    done = volumes.settle()

    assert places(cluster) == "1x"
    assert done.unplaced.keys() == {VOL}


@pytest.mark.parametrize("lost", [("node-1",), ("node-1", "node-2")])
def test_lost_replica_is_made_again_from_what_is_left(lost):
    cluster = cluster_of(*records_of("abcde vol[1,2,3]"))
    volumes, _ = attached(cluster, on=3)
    for name in lost:
        cluster.put(node(name, disk(f"{name}-disk"), ready=False))

    assert volumes.fail(replicas_on(cluster, *lost)) == []
    volumes.settle()

    assert len(places(cluster).split()) == 3
    assert replicas_on(cluster, *lost) == []


def test_volume_is_lost_with_its_last_replica():
    cluster = cluster_of(*records_of("ab vol[1]"))
    volumes = volumes_of(cluster)

    [lost] = volumes.fail(replicas_on(cluster, "node-1"))
    done = volumes.settle()

    assert lost.name == VOL
    assert volumes.replicas.is_lost(known(cluster))
    assert done.placed == ()


@pytest.mark.parametrize(("shared", "is_stuck"), [("/shared", False), ("", True)])
def test_only_a_shared_volume_is_used_wherever_it_is_attached(shared, is_stuck):
    cluster = cluster_of(*records_of(f"ab vol[1]{shared}"))
    other = pod_with("vol", on="node-2", name="other")
    volumes, _ = attached(cluster)
    volumes.attach(other)
    volumes.settle()

    assert bool(volumes.is_stuck(known(cluster), other)) is is_stuck


def test_volume_is_detached_once_no_other_pod_of_the_node_uses_it():
    first, second = pod_with("vol", on="node-1"), pod_with("vol", on="node-1", name="other")
    cluster = cluster_of(*records_of("a vol[1]"), first, second)
    volumes, _ = attached(cluster)

    volumes.detach(first)
    assert known(cluster).attached_to == "node-1"
    cluster.remove_pod(first.key)
    volumes.detach(second)

    assert known(cluster).attached_to is None
