"""What is read of new nodes, and of the room that kube-scheduler is told of."""

from typing import Any

import pytest
from msgspec import json

from app.kube.new_nodes import CAPACITIES, NewNode, ToldRoom, nodes_with
from app.kube.records import Item, read_item
from app.kube.resource import AnyRecord, Resource
from longhorn import NodeName, Unreadable

OURS, OTHER = {"key": "new", "effect": "NoSchedule"}, {"key": "old", "timeAdded": "then", "a": 1}
NAME = NodeName("node-1")


def read(resource: Resource, **fields: Any) -> AnyRecord | Unreadable:
    metadata = {"name": "node-1", "resourceVersion": "7", "labels": {"pool": "storage"}}
    item: Item = read_item(resource, json.encode({"metadata": metadata, **fields}))
    return item.record


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(None, NewNode(name=NAME), id="no-spec"),
        pytest.param({"taints": None}, NewNode(name=NAME), id="no-taints"),
        pytest.param({"taints": [OTHER]}, NewNode(name=NAME), id="another-taint"),
        pytest.param(
            {"taints": [OTHER, OURS, {**OURS, "effect": "NoExecute"}]},
            NewNode(
                name=NAME,
                is_tainted=True,
                version="7",
                labels={"pool": "storage"},
                other_taints=(OTHER,),
            ),
            id="both",
        ),
    ],
)
def test_a_node_is_read_for_its_taint(spec, expected):
    assert read(nodes_with("new"), spec=spec) == expected


@pytest.mark.parametrize(
    ("fields", "size_bytes", "labels"),
    [
        pytest.param({}, 0, None, id="nothing"),
        pytest.param({"capacity": "3"}, 3, None, id="capacity-alone"),
        pytest.param({"capacity": "3", "maximumVolumeSize": "2Ki"}, 2048, None, id="both"),
        pytest.param({"nodeTopology": {}}, 0, {}, id="all-nodes"),
        pytest.param({"nodeTopology": {"matchLabels": {"a": "b"}}}, 0, {"a": "b"}, id="some"),
    ],
)
def test_room_is_read_as_kube_scheduler_does(fields, size_bytes, labels):
    expected = ToldRoom(
        key="None/node-1", storage_class="fast", size_bytes=size_bytes, labels=labels
    )

    assert read(CAPACITIES, storageClassName="fast", **fields) == expected
