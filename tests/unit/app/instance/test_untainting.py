"""A new node is ready once Longhorn takes replicas there, and kube-scheduler knows of its disks."""

import pytest

from app.instance.untainting import has_longhorn, untold_classes
from app.kube.new_nodes import NewNode, ToldRoom
from app.kube.resource import AnyRecord
from extender.kubernetes import StorageClass
from longhorn import CAPACITY_TRACKING, NodeName, Unreadable
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


UNREADABLE = read_as_unreadable(node_document(spec={"allowScheduling": 7}))
SLOW, OTHER = storage_class("slow"), storage_class("other", provisioner="other")
TEMPLATE = {"cluster-autoscaler.kubernetes.io/template-node": "true"}
OFF, ON = (setting(CAPACITY_TRACKING, value) for value in ("false", "true"))
DRIVER = csi_node()
THERE: dict[str, tuple[list[AnyRecord | Unreadable], bool]] = {
    "ready": ([READY, DRIVER], True),
    "two-disks": ([TWO_DISKS, DRIVER], True),
    "node-not-known-to-longhorn": ([DRIVER], False),
    "node-unreadable": ([UNREADABLE, DRIVER], False),
    "driver-not-there": ([READY, csi_node(has_longhorn=False)], False),
    "node-not-ready": ([node(ready=False), DRIVER], False),
    "node-cordoned": ([node(schedulable=False), DRIVER], False),
    "node-closed": ([node(allow_scheduling=False), DRIVER], False),
    "node-evicted": ([node(evicting=True), DRIVER], False),
    "disk-not-seen-yet": ([node("node-1", disk(uuid="")), DRIVER], False),
    "disk-not-ready": ([node("node-1", disk(ready=False)), DRIVER], False),
}


@pytest.mark.parametrize(("records", "expected"), THERE.values(), ids=THERE)
def test_longhorn_is_there(records, *, expected):
    assert has_longhorn(NAME, view_of(*records)) is expected


CLASSES: dict[str, tuple[list[AnyRecord], list[ToldRoom], list[str]]] = {
    "nothing": ([READY, FAST], [], ["fast"]),
    "asked-before-the-disk-was-ready": ([READY, FAST], [told(0)], ["fast"]),
    "asked-before-the-second-disk": ([TWO_DISKS, FAST], [told(20)], ["fast"]),
    "all": ([READY, FAST], [told(100)], []),
    "more-as-replicas-have-come-since": ([READY, FAST], [told(120)], []),
    "by-one-of-two": ([READY, FAST], [told(0), told(100)], []),
    "class-without-room-there": ([READY, FAST, TAGGED], [told(100)], []),
    "class-that-is-one-of-two": ([READY, FAST, SLOW], [told(100)], ["slow"]),
    "classes-not-told-of": ([READY, IMMEDIATE, OTHER], [], []),
    "labels-of-its-zone": ([READY, FAST], [told(100, labels={"zone": "a"})], []),
    "labels-of-all-nodes": ([READY, FAST], [told(100, labels={})], []),
    "labels-of-no-node": ([READY, FAST], [told(100, labels=None)], ["fast"]),
    "labels-of-the-template": ([READY, FAST], [told(100, labels=TEMPLATE)], ["fast"]),
    "tracking-is-off": ([READY, FAST, OFF], [], []),
    "tracking-is-on": ([READY, FAST, ON], [], ["fast"]),
}


@pytest.mark.parametrize(("records", "known", "expected"), CLASSES.values(), ids=CLASSES)
def test_classes_that_are_not_told_of(records, known, expected):
    assert untold_classes(NEW, view_of(*records), known) == expected
