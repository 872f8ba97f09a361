"""Objects that people published are read as tests/data/real/INDEX.md says they must be."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from cli.documents import load_documents
from cli.files import load_cluster
from cli.kube.cluster_objects import ClusterObjects
from cli.kube.decoding import read_object
from cli.kube.view import build_view
from extender import Basis, ClusterView, Extender, PodRef
from extender.demand.existing import ExistingReplica, Worth, existing_by_node
from extender.kubernetes import Claim, PersistentVolume
from extender.space import why_unusable
from extender.verdicts.shortages import NoUsableDisk
from longhorn import Condition, DiskSpace, Node, NodeName, Replica, Unreadable, Volume, need_of
from tests.builders import GENEROUS, bound, disk, node, rejection, setting, view_of, volume

REAL = Path(__file__).parents[3] / "data" / "real"
NVME_RUN = "rochecompaan-homelab-k8s-nvme-run"
RWX_RUN = "rochecompaan-homelab-k8s-rwx-run"


def load(name: str, *problems: str) -> ClusterObjects:
    """Load a file, and check which problems it has."""
    cluster, found = load_cluster(REAL / f"{name}.yaml")
    assert found == list(problems)
    return cluster


def only_disk(view: ClusterView, node: str) -> DiskSpace:
    (space,) = view.spaces[NodeName(node)].disks
    return space


def test_philprime_node_1_is_usable():
    space = only_disk(build_view(load("philprime-node-1")), "kubernetes-node-1")

    assert space.disk.name == "nvme-1"
    assert space.limit_bytes == space.logical_headroom_bytes == 491106525184
    assert space.minimal_available_bytes == 122776631296
    assert space.disk.available_bytes == 491048140800
    assert why_unusable(space.disk) is None


def test_philprime_node_1_reserved_has_no_status_and_no_usable_disk():
    cluster = load("philprime-node-1-reserved")

    (node,) = cluster.of(Node).values()

    assert node.disks == ()
    assert build_view(cluster).spaces[node.name].bins == ()


def test_harvester_harv21_as_published():
    cluster = load("harvester-harv21")
    cluster.add(setting("storage-over-provisioning-percentage", "200"))

    view = build_view(cluster)
    space = only_disk(view, "harv21")

    assert (space.limit_bytes, space.logical_headroom_bytes) == (127817711616, 109564100608)
    assert why_unusable(space.disk) == "is not ready"
    assert not view.spaces[NodeName("harv21")].node.ready.is_true


def test_harvester_harv2_volume_asks_for_no_local_room():
    cluster = load("harvester-harv2-volume")
    (claim,) = cluster.of(Claim).values()
    (found,) = cluster.of(Volume).values()

    assert claim.read_write_many
    assert claim.persistent_volume == found.name
    assert not found.shared  # it is RWX and migratable
    assert not found.needs_local_replica


def test_rochecompaan_volumes_list_asks_for_no_local_room():
    volumes = load("rochecompaan-homelab-k8s-volumes-list").of(Volume).values()

    assert len(volumes) == 15
    assert not any(found.needs_local_replica for found in volumes)
    assert max(found.actual_bytes / found.size_bytes for found in volumes) > 1.9


@pytest.mark.parametrize("name", [RWX_RUN, NVME_RUN])
def test_rochecompaan_run_asks_for_no_local_room(name):
    cluster = load(name)
    pod = PodRef(namespace="default", name="pod", uid="", claims=tuple(cluster.of(Claim)))

    found = Extender(GENEROUS).filter(pod, [NodeName("any")], build_view(cluster))

    assert [len(cluster.of(each)) for each in (Claim, PersistentVolume, Volume)] == [1, 1, 1]
    assert len(cluster.of(Replica)) == 3
    assert found.basis is Basis.NOTHING_LOCAL


def test_rochecompaan_nvme_run_has_usable_replicas_on_three_nodes():
    replicas = list(load(NVME_RUN).of(Replica).values())
    nodes = [node(r.node, disk(uuid=r.disk)) for r in replicas if r.node is not None]

    existing = existing_by_node(replicas, need_of(volume(), None), view_of(*nodes))

    usable = ExistingReplica(worth=Worth.USABLE, disk=nodes[0].disks[0].name)
    assert existing == dict.fromkeys(("walmsley", "dauwalter", "kipsang"), usable)
    assert not any(r.started for r in replicas)


def test_duongdx_worker2_has_no_usable_disk():
    nameless = f"{REAL / 'duongdx-worker2.yaml'}[1] is a Replica without a name"
    (worker,) = load("duongdx-worker2", nameless).of(Node).values()
    usable = replace(worker, ready=Condition("True"), schedulable=Condition("True"))

    assert worker.disks == ()
    assert rejection(view_of(usable, *bound(volume())), candidate="worker2") == NoUsableDisk()


@pytest.mark.parametrize(
    "name", ["harvester-setting-other-group", "harvester-volumeattachment-other-group"]
)
def test_objects_of_other_groups_are_ignored(name):
    documents = load_documents(REAL / f"{name}.yaml")

    assert [read_object(document) for _, document in documents] == [None, None]


@pytest.mark.parametrize("path", sorted(REAL.glob("*.yaml")), ids=lambda path: path.stem)
def test_nothing_published_is_unreadable_but_the_nameless_replica(path):
    documents = [d for origin, d in load_documents(path) if "duongdx-worker2.yaml[1]" not in origin]

    assert not [d for d in documents if isinstance(read_object(d), Unreadable)]
