"""What concerns all nodes and volumes is settled piece by piece, what concerns one at once."""

from collections.abc import Sequence

import pytest

from extender import ClusterView, Extender, ViewBuilder
from extender.view_builder import NODES_AT_ONCE, VOLUMES_AT_ONCE
from longhorn import Locality, NodeName, Settings, Unreadable
from tests.builders import (
    GENEROUS,
    GIB,
    backing_image,
    bound,
    csi_node,
    disk,
    engine_image,
    instance_manager,
    node,
    pod,
    replica,
    setting,
    volume,
)

OVER_PROVISIONING = "storage-over-provisioning-percentage"
NODES = [node(f"node-{number:03}") for number in range(2 * NODES_AT_ONCE + 1)]
FIRST, SECOND, LAST = NODES[0].name, NODES[1].name, NODES[-1].name
DUE = volume("due", locality=Locality.DISABLED)
HALF, WHOLE = disk().maximum_bytes // 2, disk().maximum_bytes


def building(*records: object) -> ViewBuilder:
    """Return a builder of records that is settled."""
    builder = ViewBuilder()
    for record in records:
        builder.apply(None, record)
    builder.settle()
    return builder


def change(builder: ViewBuilder, *changes: tuple[object, object]) -> None:
    """Apply changes, and settle what must be settled at once."""
    for old, new in changes:
        builder.apply(old, new)
    builder.settle_changes()


def limit_bytes(view: ClusterView, name: NodeName) -> int:
    return view.spaces[name].disks[0].limit_bytes


def pieces_of_nodes(builder: ViewBuilder) -> list[int]:
    """Settle what is left; return how many nodes changed in each piece."""
    pieces = []
    _, cursor = builder.view.changes.since(None)
    while builder.is_behind:
        builder.settle_piece()
        changed, cursor = builder.view.changes.since(cursor)
        assert changed is not None
        pieces.append(len(changed))
    return pieces


def test_a_changed_setting_is_settled_in_pieces_of_nodes():
    builder = building(*NODES)

    change(builder, (None, setting(OVER_PROVISIONING, "50")))

    assert builder.view.settings == Settings(over_provisioning_percent=50)
    assert {limit_bytes(builder.view, each.name) for each in NODES} == {WHOLE}
    assert pieces_of_nodes(builder) == [NODES_AT_ONCE, NODES_AT_ONCE, 1]
    assert {limit_bytes(builder.view, each.name) for each in NODES} == {HALF}


def test_nodes_that_are_asked_about_are_settled_before_the_others():
    builder = building(*NODES)

    builder.apply(None, setting(OVER_PROVISIONING, "50"))
    builder.settle_for([LAST, NodeName("no-such-node")])

    assert builder.view.settings == Settings(over_provisioning_percent=50)
    assert [limit_bytes(builder.view, name) for name in (FIRST, LAST)] == [WHOLE, HALF]
    builder.settle()
    assert {limit_bytes(builder.view, each.name) for each in NODES} == {HALF}


def test_a_changed_setting_is_settled_in_pieces_of_volumes_before_any_node():
    names = [f"vol-{number}" for number in range(2 * VOLUMES_AT_ONCE + 1)]
    builder = building(node(), *(volume(name, locality=Locality.DISABLED) for name in names))

    change(builder, (None, setting(OVER_PROVISIONING, "nonsense")))

    left = []
    while builder.view.due:
        left.append(len(builder.view.due))
        assert limit_bytes(builder.view, NodeName("node-1")) == WHOLE
        builder.settle_piece()
    assert left == [2 * VOLUMES_AT_ONCE + 1, VOLUMES_AT_ONCE + 1, 1]


def test_all_there_is_at_first_is_settled_in_pieces():
    builder = ViewBuilder()

    change(builder, *((None, each) for each in NODES))

    assert builder.view.spaces == {}
    assert pieces_of_nodes(builder) == [NODES_AT_ONCE, NODES_AT_ONCE, 1]


def test_what_changes_meanwhile_is_settled_at_once_with_the_new_setting():
    builder = building(*NODES)
    change(builder, (None, setting(OVER_PROVISIONING, "50")))
    placed = replica(on=LAST, size_bytes=GIB)

    change(builder, (NODES[0], None), (NODES[1], node(SECOND, zone="new")), (None, placed))

    view = builder.view
    assert FIRST not in view.spaces
    assert [limit_bytes(view, SECOND), limit_bytes(view, LAST)] == [HALF, HALF]
    assert view.spaces[LAST].disks[0].scheduled_bytes == GIB
    assert view.replicas[placed.volume] == (placed,)
    assert sum(limit_bytes(view, each.name) == WHOLE for each in NODES[1:]) == len(NODES) - 3
    assert pieces_of_nodes(builder) == [NODES_AT_ONCE, NODES_AT_ONCE - 2]


def test_a_setting_that_cannot_be_read_stops_all_decisions_at_once():
    builder = building(*bound(volume()), *NODES)
    extender = Extender(GENEROUS)
    assert accepted(extender, builder.view) == [FIRST, LAST]

    change(builder, (None, setting(OVER_PROVISIONING, "nonsense")))
    assert builder.is_behind
    assert accepted(extender, builder.view) == []

    unreadable = Unreadable(kind="Setting", name=OVER_PROVISIONING, why="?")
    change(builder, (setting(OVER_PROVISIONING, "nonsense"), unreadable))
    assert builder.view.settings == Settings(unreadable=OVER_PROVISIONING)


def test_no_node_has_room_again_while_it_is_not_known_what_is_due():
    nonsense, sense = setting(OVER_PROVISIONING, "nonsense"), setting(OVER_PROVISIONING, "100")
    builder = building(*bound(volume()), DUE, *NODES, nonsense)
    extender = Extender(GENEROUS)
    assert not builder.view.due

    change(builder, (nonsense, sense))

    while builder.is_behind:
        assert builder.view.due or accepted(extender, builder.view) == []
        builder.settle_piece()
    assert accepted(extender, builder.view) == [FIRST, LAST]


def test_the_volumes_of_a_changed_backing_image_are_settled_in_pieces():
    small, large = backing_image(size_bytes=GIB), backing_image(size_bytes=2 * GIB)
    count = VOLUMES_AT_ONCE + 1
    builder = building(
        small,
        *NODES,
        *(volume(f"v{number}", backing_image=small.name) for number in range(count)),
        *(replica(f"v{n}-r-1", of=f"v{n}", on=NODES[n % len(NODES)].name) for n in range(count)),
    )

    def have_copy(view: ClusterView) -> int:
        copies = [view.spaces[each.name].disks[0].unlisted_images for each in NODES]
        return copies.count({small.name: 2 * GIB})

    _, cursor = builder.view.volume_changes.since(None)
    change(builder, (small, large))
    assert len(set(builder.view.volume_changes.since(cursor)[0] or ())) == count
    assert have_copy(builder.view) == 0

    assert max(pieces_of_nodes(builder)) == NODES_AT_ONCE
    assert have_copy(builder.view) == len(NODES)


def test_a_changed_replica_leaves_what_is_known_of_other_disks():
    before, after = replica(disk="a"), replica(disk="a", size_bytes=2 * GIB)
    other = replica("other-r-1", of="other", disk="b")
    builder = building(node("node-1", disk("a"), disk("b")), before, other)
    first, second = builder.view.spaces[NodeName("node-1")].disks

    change(builder, (before, after))

    now = builder.view.spaces[NodeName("node-1")].disks
    assert now[0].scheduled_bytes == first.scheduled_bytes - before.size_bytes + 2 * GIB
    assert now[1] is second


RUNNING = [each for of in NODES for each in (instance_manager(of.name), csi_node(of.name))]
EVERYWHERE = engine_image(*(each.name for each in NODES))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            instance_manager(SECOND),
            instance_manager(SECOND, is_running=False),
            id="instance-manager",
        ),
        pytest.param(instance_manager(SECOND), None, id="no-instance-manager"),
        pytest.param(csi_node(SECOND), csi_node(SECOND, has_longhorn=False), id="csi-node"),
        pytest.param(
            EVERYWHERE,
            engine_image(*(each.name for each in NODES if each.name != SECOND)),
            id="engine-image",
        ),
    ],
)
def test_what_runs_on_a_node_changes_the_verdict_of_this_node_alone(before, after):
    of = volume(locality=Locality.DISABLED, engine_image="engine:1")
    image = setting("default-instance-manager-image", "manager:1")
    builder = building(*bound(of), *NODES, *RUNNING, EVERYWHERE, image)
    extender, names = Extender(GENEROUS), [each.name for each in NODES]
    spaces = dict(builder.view.spaces)
    assert [*extender.filter(pod("vol"), names, builder.view).accepted] == names
    _, cursor = builder.view.changes.since(None)

    change(builder, (before, after))

    assert not builder.is_behind
    assert builder.view.changes.since(cursor)[0] == [SECOND]
    assert {n for n, space in builder.view.spaces.items() if space is not spaces[n]} == {SECOND}
    answer = extender.filter(pod("vol"), names, builder.view)
    assert {*names} - {*answer.accepted} == {SECOND}


def accepted(extender: Extender, view: ClusterView) -> Sequence[NodeName]:
    return list(extender.filter(pod("vol"), [FIRST, LAST], view).accepted)


def test_linked_clones_change_with_what_they_share():
    builder = building(volume("source"), volume("clone", linked_to="source"), *NODES)
    _, cursor = builder.view.volume_changes.since(None)

    change(builder, (None, replica("source-r-1", of="source", on=NODES[0].name)))

    assert {*(builder.view.volume_changes.since(cursor)[0] or ())} == {"source", "clone"}
