"""A new node is ready once Longhorn takes replicas there, and kube-scheduler knows of its disks."""

import pytest

from app.instance.untainting import has_longhorn, untold_classes
from app.kube.new_nodes import NewNode, ToldRoom
from extender.kubernetes import StorageClass
from longhorn import CAPACITY_TRACKING, NodeName
from tests.builders import (
    GIB,
    csi_node,
    disk,
    node,
    node_document,
    read_as_unreadable,
    setting,
    storage_class,
    view_of,
)

NAME = NodeName("node-1")
HOST = {"kubernetes.io/hostname": "node-1"}
NEW = NewNode(name=NAME, is_tainted=True, labels={**HOST, "zone": "a"})
READY = node(str(NAME), disk())
TWO_DISKS = node(str(NAME), disk("small", maximum_bytes=20 * GIB), disk("large"))
FAST = storage_class("fast")
"""The best disk has 100 GiB for it."""
TAGGED = storage_class("tagged", diskSelector="ssd")
IMMEDIATE = StorageClass(name="now", provisioner=FAST.provisioner, parameters={}, is_immediate=True)


def told(gib: int, of: StorageClass = FAST, labels: dict[str, str] | None = HOST) -> ToldRoom:
    return ToldRoom(key="it", storage_class=of.name, size_bytes=gib * GIB, labels=labels)


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        pytest.param([READY, csi_node()], True, id="ready"),
        pytest.param([TWO_DISKS, csi_node()], True, id="two-disks"),
        pytest.param([csi_node()], False, id="not-known-to-longhorn"),
        pytest.param(
            [read_as_unreadable(node_document(spec={"allowScheduling": 7})), csi_node()],
            False,
            id="unreadable",
        ),
        pytest.param([READY, csi_node(has_longhorn=False)], False, id="no-driver"),
        pytest.param([node(ready=False), csi_node()], False, id="not-ready"),
        pytest.param([node(schedulable=False), csi_node()], False, id="cordoned"),
        pytest.param([node(allow_scheduling=False), csi_node()], False, id="closed"),
        pytest.param([node(evicting=True), csi_node()], False, id="evicted"),
        pytest.param([node("node-1", disk(uuid="")), csi_node()], False, id="disk-not-seen-yet"),
        pytest.param([node("node-1", disk(ready=False)), csi_node()], False, id="disk-not-ready"),
    ],
)
def test_longhorn_is_there(records, *, expected):
    assert has_longhorn(NAME, view_of(*records)) is expected


@pytest.mark.parametrize(
    ("records", "known", "expected"),
    [
        pytest.param([READY, FAST], [], ["fast"], id="nothing"),
        pytest.param([READY, FAST], [told(0)], ["fast"], id="asked-before-the-disk-was-ready"),
        pytest.param([TWO_DISKS, FAST], [told(20)], ["fast"], id="asked-before-the-second-disk"),
        pytest.param([READY, FAST], [told(100)], [], id="all"),
        pytest.param([READY, FAST], [told(120)], [], id="more-as-replicas-have-come-since"),
        pytest.param([READY, FAST], [told(0), told(100)], [], id="by-one-of-two"),
        pytest.param([READY, FAST, TAGGED], [told(100)], [], id="class-without-room-there"),
        pytest.param(
            [READY, FAST, storage_class("slow")], [told(100)], ["slow"], id="one-of-two-classes"
        ),
        pytest.param(
            [READY, IMMEDIATE, storage_class("other", provisioner="other")],
            [],
            [],
            id="not-told-of",
        ),
        pytest.param([READY, FAST], [told(100, labels={"zone": "a"})], [], id="of-its-zone"),
        pytest.param([READY, FAST], [told(100, labels={})], [], id="of-all-nodes"),
        pytest.param([READY, FAST], [told(100, labels=None)], ["fast"], id="of-no-node"),
        pytest.param(
            [READY, FAST],
            [told(100, labels={"cluster-autoscaler.kubernetes.io/template-node": "true"})],
            ["fast"],
            id="of-the-template",
        ),
        pytest.param(
            [READY, FAST, setting(CAPACITY_TRACKING, "false")], [], [], id="nobody-looks-at-it"
        ),
        pytest.param(
            [READY, FAST, setting(CAPACITY_TRACKING, "true")], [], ["fast"], id="tracking-is-on"
        ),
    ],
)
def test_classes_that_are_not_told_of(records, known, expected):
    assert untold_classes(NEW, view_of(*records), known) == expected
