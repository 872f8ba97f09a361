"""What has changed, by kinds: only what may help a waiting pod counts for it."""

from typing import Any

import pytest

from app.kube.resource import AnyRecord
from extender import ViewBuilder
from extender.verdicts import ClusterChange
from extender.verdicts.rejections import NodeTags, PodUnscheduled, StrictLocalElsewhere
from extender.verdicts.shortages import DiskTags, InsufficientStorage, PendingReplicas
from extender.waiting.changes import Changes, ChangesOfView
from extender.waiting.node_sets import ALL, NodeSets
from longhorn import Node, NodeName, VolumeName
from tests.builders import (
    GIB,
    bound,
    disk,
    instance_manager,
    node,
    pending,
    replicas_of,
    setting,
    volumes_of,
)

ONE = NodeName("node-1")
BEFORE = node("node-1", disk())
NODE, ROOM, SETTINGS = ClusterChange.NODE, ClusterChange.ROOM, ClusterChange.SETTINGS
HOLDS, ANYWHERE = ClusterChange.HOLDS, ClusterChange.ANYWHERE


class World:
    """A cluster that changes."""

    def __init__(self, *records: AnyRecord) -> None:
        self.sets = NodeSets()
        self.of_view = ChangesOfView(self.sets)
        self.builder = ViewBuilder()
        self._records: tuple[AnyRecord, ...] = ()
        self.builder.settle()
        self.show(*records)

    def show(self, *records: AnyRecord) -> Changes:
        """Have the cluster consist of these; return what of that may help."""
        for each in self._records:
            self.builder.apply(each, None)
        for each in records:
            self.builder.apply(None, each)
        self._records = records
        self.builder.settle()
        changes = Changes()
        self.of_view.note_in(changes, self.builder.view)
        return changes

    def kinds(self, *records: AnyRecord) -> set[ClusterChange]:
        """Do the same; return the kinds, all of the one node or of the cluster."""
        nodes = self.show(*records).nodes
        assert all(of == ALL or self.sets.names(of) == [ONE] for of in nodes.values())
        return {*nodes}


def with_disk(**fields: Any) -> Node:
    return node("node-1", disk(**fields))


LARGER = with_disk(maximum_bytes=200 * GIB, available_bytes=200 * GIB)
LESS_WRITABLE = with_disk(available_bytes=50 * GIB)
UNUSABLE_FULL, UNUSABLE, UNUSABLE_EMPTIER = (
    with_disk(schedulable=False, available_bytes=gib * GIB) for gib in (1, 90, 91)
)
STOPPED, STARTED = (instance_manager("node-1", is_running=runs) for runs in (False, True))
DUE = [*bound(*volumes_of("vol*2", node="node-1", attached_to="node-1")), *replicas_of("vol@")]
KINDS: dict[str, tuple[list[AnyRecord], list[AnyRecord], set[ClusterChange]]] = {
    # What there was, what there is, and of which kinds the change is.
    "node-as-before": ([BEFORE], [BEFORE], set()),
    "node-in-another-zone": ([BEFORE], [node("node-1", disk(), zone="another")], {NODE}),
    "node-with-a-tag": ([BEFORE], [node("node-1", disk(), tags=("ssd",))], {NODE}),
    "node-with-another-disk": ([BEFORE], [node("node-1", disk(), disk("disk-2"))], {NODE}),
    # What waits for it there may go elsewhere.
    "node-goes": ([BEFORE], [], {ANYWHERE}),
    "node-starts-an-instance-manager": ([BEFORE, STOPPED], [BEFORE, STARTED], {NODE}),
    "disk-with-a-tag": ([BEFORE], [with_disk(tags=("ssd",))], {NODE}),
    "disk-evicting": ([BEFORE], [with_disk(evicting=True)], {NODE}),
    "disk-larger": ([BEFORE], [LARGER], {ROOM}),
    "disk-more-writable": ([LESS_WRITABLE], [BEFORE], {ROOM}),
    "disk-less-writable": ([BEFORE], [LESS_WRITABLE], set()),
    # It may be too small for what was in the way.
    "disk-with-a-lower-limit": ([BEFORE], [with_disk(maximum_bytes=50 * GIB)], {ANYWHERE}),
    # It may take failed replicas back.
    "disk-unusable-and-full-no-longer": ([UNUSABLE_FULL], [UNUSABLE], {NODE}),
    "disk-unusable-and-emptier": ([UNUSABLE], [UNUSABLE_EMPTIER], set()),
    "replica-placed": ([BEFORE], [BEFORE, *replicas_of("vol@1")], set()),
    "replica-due": ([BEFORE], [BEFORE, *DUE], set()),
    "replica-no-longer-to-come-here": ([BEFORE, pending()], [BEFORE], {ANYWHERE}),
}


@pytest.mark.parametrize(("before", "after", "kinds"), KINDS.values(), ids=KINDS)
def test_each_change_that_may_help_is_of_a_kind(before, after, kinds):
    assert World(*before).kinds(*after) == kinds


def test_a_node_that_comes_back_may_have_anything():
    world = World(BEFORE)
    world.show()

    assert world.kinds(BEFORE) == {NODE, ANYWHERE}


def test_what_is_due_no_longer_may_help_everywhere():
    world = World(BEFORE)
    world.show(BEFORE, *DUE)

    changes = world.show(BEFORE)

    assert changes.nodes == {ANYWHERE: ALL}
    assert changes.volumes == {VolumeName("vol")}
    assert changes.are_about([VolumeName("vol")])
    assert not changes.are_about([VolumeName("another")])


def test_another_setting_may_help_everybody():
    changes = World(BEFORE).show(BEFORE, setting("storage-minimal-available-percentage", "10"))

    assert changes.are_about([VolumeName("vol")])


@pytest.mark.parametrize(
    ("why", "kinds"),
    [
        (NodeTags(selector=()), set()),
        (DiskTags(selector=()), set()),
        (InsufficientStorage(size_bytes=GIB), {ROOM}),
        (PodUnscheduled(), {HOLDS}),
        (StrictLocalElsewhere(), set()),
    ],
)
def test_a_rejection_may_be_over_where_something_of_its_kinds_has_changed(why, kinds):
    """Another state of the node or a disk may always end it: it may have a replica there."""
    for kind in (NODE, SETTINGS, ROOM, HOLDS, ANYWHERE):
        ending = Changes(nodes={kind: 0b0110}).ending(why.ended_by)

        assert ending == (0b0110 if kind in {NODE, SETTINGS, *kinds} else 0)


def test_what_depends_on_others_may_be_over_by_anything_anywhere():
    kinds = PendingReplicas.ended_by

    assert Changes(nodes={ROOM: 0b1000}).ending(kinds) == ALL
    assert Changes(volumes={VolumeName("another")}).ending(kinds) == 0


def test_changes_of_several_kinds_add_up():
    changes = Changes(nodes={ROOM: 0b0011, NODE: 0b0101, HOLDS: 0b1000})

    assert changes.ending(InsufficientStorage.ended_by) == 0b0111
    assert changes.ending(NodeTags.ended_by) == 0b0101


def test_what_is_noted_of_a_kind_adds_up():
    changes = Changes()
    changes.note(HOLDS, 0)
    assert not changes

    for nodes in (0b01, 0b10):
        changes.note(HOLDS, nodes)
    assert changes
    assert changes == Changes(nodes={HOLDS: 0b11})
    assert Changes(volumes={VolumeName("vol")})
