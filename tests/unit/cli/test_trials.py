"""Trying remedies changes nothing for good."""

from hypothesis import given

from app.settings import Settings
from cli.explaining.explainer import Explainer
from cli.kube.cluster_objects import ClusterObjects
from cli.kube.view import build_view
from cli.names import Named
from cli.remedies.remedy import setting_edit
from cli.remedies.trials import changed
from cli.volumes.command import explain_volume
from longhorn import NodeName
from tests.builders import GIB, node_document, read
from tests.unit.cli.test_volumes_places import clusters


@given(clusters())
def test_cluster_is_as_before_once_all_was_tried(documents):
    cluster = ClusterObjects()
    for each in documents:
        cluster.add(read(each))
    explainer = Explainer(cluster, Settings(), None, "a file")

    explain_volume(Named.VOLUME, "vol", "default", explainer, cluster.candidates())

    found, fresh = explainer.builder.view, build_view(cluster)
    assert (found.settings, found.spaces, found.due) == (fresh.settings, fresh.spaces, fresh.due)
    assert (found.volumes, found.replicas) == (fresh.volumes, fresh.replicas)
    assert explainer.view.spaces is found.spaces


def test_change_that_longhorn_refuses_gives_no_cluster():
    cluster = ClusterObjects()
    cluster.add(read(node_document("a", disk_status={"storageScheduled": GIB})))
    builder = Explainer(cluster, Settings(), None, "a file").builder
    name = "storage-minimal-available-percentage"

    with changed(builder, [setting_edit(name, "101")], [NodeName("a")]) as view:
        assert view is None
    with changed(builder, [setting_edit(name, "100")], [NodeName("a")]) as view:
        assert view is not None
        assert view.settings.minimal_available_percent == 100
    assert builder.view.settings.minimal_available_percent == 25
