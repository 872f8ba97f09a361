"""What runs on nodes, as objects say it: what Longhorn asks of each before it uses a node."""

from typing import Any

import msgspec
import pytest

from app.kube.resources import OPTED_OUT_NODES
from app.kube.sources import sources
from app.settings import load
from extender.kubernetes import CsiNode, EngineOptOut
from longhorn import EngineImage, InstanceManager, NodeName
from tests.builders import core_document, csi_node, csi_node_document, document, read

BOTH = {"node-1": True, "node-2": True}


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        pytest.param({"state": "deployed", "nodeDeploymentMap": BOTH}, {*BOTH}, id="deployed"),
        pytest.param(
            {"state": "deploying", "nodeDeploymentMap": {"node-1": True, "node-2": False}},
            {"node-1"},
            id="deploying-the-map-says-where",
        ),
        pytest.param({"state": "error", "nodeDeploymentMap": BOTH}, set(), id="error"),
        pytest.param(
            {"state": "incompatible", "nodeDeploymentMap": BOTH}, set(), id="incompatible"
        ),
        pytest.param({"state": "", "nodeDeploymentMap": BOTH}, set(), id="no-state"),
        pytest.param(
            {"state": "deployed", "incompatible": True, "nodeDeploymentMap": BOTH},
            {*BOTH},
            id="the-field-incompatible-is-not-asked",
        ),
        pytest.param(
            {"state": "deployed", "nodeDeploymentMap": {"node-1": None}}, set(), id="null"
        ),
        pytest.param({"state": "deployed", "nodeDeploymentMap": None}, set(), id="no-map"),
        pytest.param(None, set(), id="no-status"),
    ],
)
def test_where_an_engine_image_is_ready(status, expected):
    written = document("EngineImage", "ei-1", spec={"image": "engine:1"}, status=status)

    assert read(written) == EngineImage(name="ei-1", image="engine:1", nodes=frozenset(expected))


@pytest.mark.parametrize(
    ("state", "is_running"),
    [
        ("running", True),
        ("starting", False),
        ("stopped", False),
        ("error", False),
        ("unknown", False),
        ("", False),
    ],
)
@pytest.mark.parametrize("engine", ["v1", "v2"])
def test_an_instance_manager_runs_or_not(engine, state, *, is_running):
    found = manager(dataEngine=engine, state=state)

    assert (found.is_v2, found.is_running, found.deleting) == (engine == "v2", is_running, False)


@pytest.mark.parametrize("type_", ["engine", "replica", "", None])
def test_instance_managers_of_old_releases_take_nothing(type_):
    assert not manager(type=type_).is_running


def test_an_instance_manager_that_is_being_deleted():
    assert manager(deleted_at="2026-08-20T09:10:12Z").deleting


def manager(
    *, state: str = "running", deleted_at: str | None = None, **spec: Any
) -> InstanceManager:
    metadata = {"deletionTimestamp": deleted_at} if deleted_at else {}
    given = {"nodeID": "node-1", "dataEngine": "v1", "image": "manager:1", "type": "aio"} | spec
    status = {"currentState": state}
    found = read(document("InstanceManager", "im", metadata=metadata, spec=given, status=status))
    assert isinstance(found, InstanceManager)
    assert (found.node, found.image) == ("node-1", "manager:1")
    return found


@pytest.mark.parametrize(
    ("written", "has_longhorn"),
    [
        pytest.param(csi_node_document("node-1"), True, id="longhorn"),
        pytest.param(
            csi_node_document("node-1", "ebs.csi.aws.com", "driver.longhorn.io"), True, id="among"
        ),
        pytest.param(csi_node_document("node-1", "ebs.csi.aws.com"), False, id="another"),
        pytest.param({**csi_node_document("node-1"), "spec": {"drivers": None}}, False, id="null"),
        pytest.param({**csi_node_document("node-1"), "spec": None}, False, id="no-spec"),
    ],
)
def test_whether_the_driver_is_registered(written, *, has_longhorn):
    found = read(written)

    assert isinstance(found, CsiNode)
    assert found == csi_node("node-1", has_longhorn=has_longhorn)


def test_of_kubernetes_nodes_those_are_read_whose_label_is_true():
    """The API server selects them, so that the service reads no other Node."""
    [source] = [each for each in sources(load({})) if each.resource is OPTED_OUT_NODES]
    labelled = core_document("Node", "node-1", metadata={"namespace": None})

    record = OPTED_OUT_NODES.record_of(msgspec.convert(labelled, OPTED_OUT_NODES.structure))

    assert source.labels == "node.longhorn.io/disable-v2-data-engine=true"
    assert record == EngineOptOut(name=NodeName("node-1"))
