"""Whether a plan counts kube-scheduler's points for free storage: by the version of the cluster."""

import pytest

from app.kube.mirror import Known
from app.settings import Settings
from cli.kube.cluster_objects import ClusterObjects
from cli.planning.cluster import planned_cluster
from planner.records import KubernetesNode
from planner.workloads import DEPLOYMENT, Workload
from tests.builders import setting
from tests.unit.planner.scheduling import node

TRACKED = setting("csi-storage-capacity-tracking", "true")
NEW, OLD, SILENT = (
    node(name, kubelet=version) for name, version in (("a", "v1.37.2"), ("b", "v1.36.3"), ("c", ""))
)
SECOND = Workload(kind=DEPLOYMENT, namespace="any", name="longhorn-scheduler")


def planned(*records: Known | KubernetesNode | Workload) -> tuple[bool, list[str]]:
    """Return whether points for free storage count, and what is said not to be known."""
    objects = ClusterObjects()
    for record in records:
        objects.add(record)
    cluster, notes = planned_cluster(objects, Settings(), None)
    return cluster.scores_capacity, notes


@pytest.mark.parametrize(
    ("records", "counts"),
    [
        pytest.param([OLD, NEW, SILENT], True, id="newest-kubelet"),
        pytest.param([OLD, SILENT], False, id="older"),
        pytest.param([NEW, SECOND], False, id="second-scheduler"),
        pytest.param([SILENT, SECOND], False, id="second-scheduler-of-any-version"),
    ],
)
def test_they_count_from_1_37_on(records, *, counts):
    assert planned(TRACKED, *records) == (counts, [])


def test_where_no_node_says_its_version_that_is_told():
    counts, [told] = planned(TRACKED, SILENT)

    assert not counts
    assert told.startswith("no Kubernetes Node says its version")
    assert planned(SILENT) == (False, [])
