"""What has changed: only what may help somebody is worth a look at those who wait."""

from typing import Any

import pytest

from app.kube.resource import AnyRecord
from extender import ViewBuilder
from extender.waiting.lookout import Lookout, Stir
from extender.waiting.node_sets import ALL, NodeSets
from longhorn import Node, NodeName, VolumeName
from tests.builders import GIB, bound, disk, node, pending, replica, setting, volume, wants

ONE = NodeName("node-1")
BEFORE = node("node-1", disk())


class World:
    """A cluster that changes."""

    def __init__(self, *records: AnyRecord) -> None:
        self.sets = NodeSets()
        self.lookout = Lookout(self.sets)
        self.builder = ViewBuilder()
        self._records: tuple[AnyRecord, ...] = ()
        self.builder.settle()
        self.show(*records)

    def show(self, *records: AnyRecord) -> Stir:
        """Have the cluster consist of these; return what of that may help."""
        for each in self._records:
            self.builder.apply(each, None)
        for each in records:
            self.builder.apply(None, each)
        self._records = records
        self.builder.settle()
        self.lookout.note_changes(self.builder.view)
        return self.lookout.drain()

    def roomier(self, *records: AnyRecord) -> list[NodeName]:
        """Do the same; return the nodes that may have more room."""
        return self.sets.names(self.show(*records).nodes)


def with_disk(**fields: Any) -> Node:
    return node("node-1", disk(**fields))


@pytest.mark.parametrize(
    "after",
    [
        [with_disk(maximum_bytes=200 * GIB, available_bytes=200 * GIB)],
        [node("node-1", disk(), disk("disk-2"))],
        [node("node-1", disk(), zone="another")],
        [with_disk(tags=("ssd",))],
    ],
)
def test_more_room_and_another_standing_may_help(after: list[AnyRecord]) -> None:
    assert World(BEFORE).roomier(*after) == [ONE]


@pytest.mark.parametrize(
    "after",
    [
        [],
        [BEFORE],
        [with_disk(available_bytes=50 * GIB)],
        [with_disk(evicting=True)],
        [BEFORE, replica()],
    ],
)
def test_less_room_helps_nobody(after: list[AnyRecord]) -> None:
    stir = World(BEFORE).show(*after)

    assert (stir.nodes, stir.has_less_due) == (0, False)


def test_a_node_that_comes_or_comes_back_may_help() -> None:
    world = World(BEFORE)
    assert world.roomier() == []

    assert world.roomier(BEFORE) == [ONE]


def test_a_replica_that_is_no_longer_to_come_to_a_node_may_help() -> None:
    world = World(BEFORE, pending())

    assert world.roomier(BEFORE) == [ONE]


def test_what_is_due_no_longer_may_help_and_what_is_due_newly_does_not() -> None:
    due = [
        *bound(volume("vol", replicas=2, node="node-1", attached_to="node-1")),
        replica(of="vol", on=""),
    ]
    world = World(BEFORE)

    assert not world.show(BEFORE, *due).has_less_due

    stir = world.show(BEFORE)
    assert stir.has_less_due
    assert stir.volumes == {VolumeName("vol")}
    assert stir.is_about(wants(volumes=["vol"]))
    assert not stir.is_about(wants(volumes=["another"]))


def test_where_it_is_not_known_what_has_changed_anything_may_help() -> None:
    world = World(BEFORE)

    stir = world.show(BEFORE, setting("storage-minimal-available-percentage", "10"))

    assert stir.nodes == ALL
    assert stir.is_about(wants(volumes=["vol"]))


def test_what_is_told_in_words_counts_once() -> None:
    world = World(BEFORE)
    assert not world.lookout.is_stirred

    world.lookout.note_nodes([ONE], [ONE])
    assert world.lookout.is_stirred
    assert world.sets.names(world.lookout.drain().nodes) == [ONE]
    assert not world.lookout.is_stirred

    world.lookout.note_everything()
    assert world.lookout.drain().nodes == ALL
