"""A view kept up to date change by change is the view made anew, and is answered from the same."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from app.kube.mirror import Known
from extender import ClusterView, Extender, Rejection, Scores, UnresolvableClaimError, ViewBuilder
from extender.demand import PodRequest
from extender.view import MOST_CHANGES, Cursor
from longhorn import DiskSchedule, Node, NodeName, Replica, Unreadable, VolumeName
from tests.builders import (
    GENEROUS,
    GIB,
    backing_image,
    bound,
    disk,
    disk_schedule,
    node,
    pending,
    pod,
    replica,
    setting,
    view_of,
    volume,
)
from tests.effort import examples
from tests.strategies import KINDS, known_objects

NAMES = [(kind, name) for kind, names in KINDS.items() for name in names]
BUSY = [
    pair
    for pair in NAMES
    if pair[0] in ("Node", "Volume", "Replica", "BackingImage", "DiskSchedule", "InstanceManager")
]
CANDIDATES = [NodeName(name) for name in (*KINDS["Node"], "node-unknown")]
PIECES = st.sampled_from([0, 1, 2, 99])
"""How many are settled before something else happens; 99 are all."""
PODS = [pod("vol-0"), pod("vol-1"), pod("new"), pod("vol-0", "vol-1"), pod("vol-1", "new")]


def contents(view: ClusterView) -> dict[str, Any]:
    """Return all that a view says, with kinds of disks in place of their numbers."""
    kinds = {number: kind for kind, number in view.disk_kinds.items()}
    assert len(kinds) == len(view.disk_kinds)
    return {
        "claims": dict(view.claims),
        "persistent_volumes": dict(view.persistent_volumes),
        "storage_classes": dict(view.storage_classes),
        "volumes": dict(view.volumes),
        "backing_images": dict(view.backing_images),
        "replicas": {volume: list(replicas) for volume, replicas in view.replicas.items()},
        "spaces": {
            name: (
                msgspec.structs.replace(
                    space,
                    usable=(),
                    bins=(),
                    roomiest=(),
                    unused_bytes={},
                    totals=(),
                ),
                [
                    each
                    and (
                        kinds[each.bin.kind],
                        msgspec.structs.replace(
                            each, bin=msgspec.structs.replace(each.bin, kind=0)
                        ),
                    )
                    for each in space.usable
                ],
                {kinds[kind]: unused for kind, unused in space.unused_bytes.items()},
                {kinds[r.kind]: msgspec.structs.replace(r, kind=0) for r in space.totals},
                [(kinds[b.kind], msgspec.structs.replace(b, kind=0)) for b in space.bins],
            )
            for name, space in view.spaces.items()
        },
        "by_running": {
            key: {space.node.name for space in view.by_running.of(key)}
            for key in view.by_running.keys()  # noqa: SIM118 (of an index)
        },
        "due": dict(view.due),
        "paused": set(view.paused),
        "settings": view.settings,
        "setting_values": dict(view.setting_values),
        "node_tags": set(view.node_tags),
        "disk_tags": set(view.disk_tags),
        "unreadable": dict(view.unreadable),
        "unreadable_replicas": dict(view.unreadable_replicas),
        "unreadable_nodes": set(view.unreadable_nodes),
    }


Places = dict[NodeName, set[VolumeName]]
Told = tuple[PodRequest, list[NodeName], dict[NodeName, Rejection], Mapping[str, int]]


def answers(extender: Extender, view: ClusterView) -> Iterator[Told | tuple[Places, Scores] | str]:
    """Ask about every pod; errors are answers too. The steps taken are not."""
    for each in PODS:
        try:
            result = extender.filter(each, CANDIDATES, view)
            forecast = result.situation.book.forecast.on if result.situation else {}
            places = {
                node: {each.volume.name for each in found} for node, found in forecast.items()
            }
            yield places, extender.prioritize(each, CANDIDATES, view)
            yield result.request, [*result.accepted], {**result.rejected}, result.forecast
        except UnresolvableClaimError as error:
            yield str(error)


def _is_scored(answer: Told | tuple[Places, Scores] | str) -> bool:
    return isinstance(answer, tuple) and isinstance(answer[1], Scores)


class ViewMachine(RuleBasedStateMachine):
    """A builder and an extender that live long, against what is there."""

    def __init__(self) -> None:
        super().__init__()
        self.builder = ViewBuilder()
        self.extender = Extender(GENEROUS)
        self.known: dict[tuple[str, str], Known] = {}
        self.told_nodes: dict[NodeName, Any] = {}
        """What somebody knows who looks at nothing but what is logged as changed."""
        self.told_volumes: dict[VolumeName, Any] = {}
        self.cursors: tuple[Cursor | None, Cursor | None] = (None, None)

    def settle(self, pieces: int) -> None:
        """Settle what must be at once, and some pieces of the rest."""
        self.builder.settle_changes()
        for _ in range(pieces):
            self.builder.settle_piece()

    def apply(self, key: tuple[str, str], new: Known | None) -> None:
        old = self.known.pop(key, None)
        if old != new:
            self.builder.apply(old, new)
        if new is not None:
            self.known[key] = new

    @initialize(data=st.data(), pieces=PIECES)
    def list_everything(self, data: st.DataObject, pieces: int) -> None:
        for key in NAMES:
            if key[0] != "Setting":
                self.apply(key, data.draw(known_objects(*key)))
        self.settle(pieces)

    @rule(
        data=st.data(), keys=st.lists(st.sampled_from(BUSY), max_size=3, unique=True), pieces=PIECES
    )
    def put(self, data: st.DataObject, keys: list[tuple[str, str]], pieces: int) -> None:
        for key in keys:
            self.apply(key, data.draw(known_objects(*key)))
        self.settle(pieces)

    @rule(data=st.data(), key=st.sampled_from(NAMES), pieces=PIECES)
    def put_anything(self, data: st.DataObject, key: tuple[str, str], pieces: int) -> None:
        self.apply(key, data.draw(known_objects(*key)))
        self.settle(pieces)

    @rule(keys=st.lists(st.sampled_from(BUSY), min_size=1, max_size=2, unique=True), pieces=PIECES)
    def remove(self, keys: list[tuple[str, str]], pieces: int) -> None:
        for key in keys:
            self.apply(key, None)
        self.settle(pieces)

    @rule(keys=st.lists(st.sampled_from(NAMES), min_size=1, max_size=8, unique=True), pieces=PIECES)
    def remove_anything(self, keys: list[tuple[str, str]], pieces: int) -> None:
        for key in keys:
            self.apply(key, None)
        self.settle(pieces)

    @rule(
        data=st.data(),
        keys=st.lists(st.sampled_from(NAMES), min_size=8, unique=True),
        pieces=PIECES,
    )
    def flap(self, data: st.DataObject, keys: list[tuple[str, str]], pieces: int) -> None:
        """Much changes before the view is settled, some of it back to what it was."""
        before = dict(self.known)
        for key in keys:
            self.apply(key, data.draw(st.none() | known_objects(*key)))
        for key in data.draw(st.lists(st.sampled_from(keys))):
            self.apply(key, before.get(key))
        self.settle(pieces)

    @rule(
        data=st.data(),
        key=st.sampled_from([("Replica", name) for name in KINDS["Replica"]]),
        pieces=PIECES,
    )
    def place(self, data: st.DataObject, key: tuple[str, str], pieces: int) -> None:
        """Longhorn puts a waiting replica on the node it is bound to."""
        found = self.known.get(key)
        if isinstance(found, Replica) and found.hard_node_affinity and not found.node:
            disk = data.draw(st.sampled_from(["uuid-disk-0", "uuid-disk-1"]))
            placed = msgspec.structs.replace(found, node=found.hard_node_affinity, disk=disk)
            self.apply(key, placed)
        self.settle(pieces)

    def anew(self) -> ClusterView:
        """Make the view of the same records, in an order of its own."""
        return view_of(*(known for _, known in sorted(self.known.items())))

    @precondition(lambda self: not self.builder.is_behind)
    @invariant()
    def view_is_that_made_anew(self) -> None:
        assert contents(self.builder.view) == contents(self.anew())

    @precondition(lambda self: not self.builder.is_behind)
    @invariant()
    def answers_are_those_of_a_new_extender_on_a_new_view(self) -> None:
        anew = answers(Extender(GENEROUS), self.anew())
        for mine, new in zip(answers(self.extender, self.builder.view), anew, strict=True):
            # A replica stays forecast where it was, and scores follow from that.
            if not (_is_scored(mine) and _is_scored(new) and mine[0] != new[0]):
                assert mine == new

    @invariant()
    def changes_of_nodes_and_volumes_are_logged(self) -> None:
        view = self.builder.view
        names, of_nodes = view.changes.since(self.cursors[0])
        for name in [*self.told_nodes, *view.spaces] if names is None else names:
            self.told_nodes[name] = view.spaces.get(name)
        others, of_volumes = view.volume_changes.since(self.cursors[1])
        for each in [*self.told_volumes, *view.volumes] if others is None else others:
            self.told_volumes[each] = self.of_volume(each)
        self.cursors = of_nodes, of_volumes

        assert all(space == view.spaces.get(node) for node, space in self.told_nodes.items())
        assert self.told_nodes.keys() >= view.spaces.keys()
        assert all(known == self.of_volume(name) for name, known in self.told_volumes.items())
        assert self.told_volumes.keys() >= view.volumes.keys() | view.due.keys()

    def of_volume(self, name: VolumeName) -> tuple[object, ...]:
        view = self.builder.view
        found = view.volumes.get(name)
        image = None if found is None else view.backing_images.get(found.backing_image or "")
        return found, image, view.replicas.get(name), view.due.get(name)


TestViewMachine = ViewMachine.TestCase
TestViewMachine.settings = settings(
    max_examples=examples(25),
    stateful_step_count=25,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def building(*records: Known) -> ViewBuilder:
    """Return a builder that has taken these records in, and settled."""
    builder = ViewBuilder()
    for record in records:
        builder.apply(None, record)
    builder.settle()
    return builder


def of_size(gib: int, name: str = "node-1") -> Node:
    return node(name, disk(maximum_bytes=gib * GIB))


def accepts(extender: Extender, view: ClusterView) -> bool:
    """Ask about 10 GiB on node-1."""
    return list(extender.filter(pod("vol"), [NodeName("node-1")], view).accepted) == ["node-1"]


def test_answers_stay_right_over_more_changes_than_are_kept():
    """An extender that asks all the time, and ones that sleep until the log is cut."""
    small, large = of_size(8), of_size(80)
    builder = building(*bound(volume()), large)
    awake = Extender(GENEROUS)
    sleepers = [Extender(GENEROUS) for _ in range(3)]
    assert all(accepts(each, builder.view) for each in [awake, *sleepers])

    for number in range(MOST_CHANGES + 100):
        old, new = (large, small) if number % 2 == 0 else (small, large)
        builder.apply(old, new)
        builder.settle()
        assert accepts(awake, builder.view) is (new is large)
        if number == 5:
            assert not accepts(sleepers[0], building(*bound(volume()), small).view)
    builder.apply(large, small)
    builder.settle()

    assert not any(accepts(each, builder.view) for each in [awake, *sleepers])
    assert contents(builder.view) == contents(view_of(*bound(volume()), small))


def test_more_changes_at_once_than_are_kept_are_all_noticed():
    names = [f"node-{number}" for number in range(1, 1_001)]
    builder = building(*bound(volume()), *(of_size(80, name) for name in names))
    extender = Extender(GENEROUS)
    candidates = [NodeName(name) for name in names]
    for number in range(11):
        old, new = (80, 8) if number % 2 == 0 else (8, 80)
        for name in names:
            builder.apply(of_size(old, name), of_size(new, name))
        builder.settle()

        accepted = extender.filter(pod("vol"), candidates, builder.view).accepted
        assert list(accepted) == (candidates if new == 80 else [])


def test_what_nobody_decides_by_is_no_change():
    """Heartbeats, and a replica that only gets listed where it was counted already."""
    mine = replica(of="other", size_bytes=GIB)
    before, after = node("node-1", disk(scheduled_bytes=0)), node("node-1", disk(listed={}))
    builder = building(before, mine, *bound(volume()))
    _, cursor = builder.view.changes.since(None)

    builder.apply(before, after)
    builder.apply(mine, msgspec.structs.replace(mine, started=True))
    builder.settle()

    assert builder.view.changes.since(cursor) == ([], cursor)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (volume("other", disk_selector=["nobody"]), volume("other")),
        (volume("other", deleting=True), Unreadable(kind="Volume", name="other", why="?")),
        (volume("other", deleting=True), None),
    ],
    ids=["loses-selector", "becomes-unreadable", "is-not-known-any-more"],
)
def test_what_a_waiting_replica_takes_follows_its_volume(before, after):
    """16 GiB: 10 for the replica that waits, and 10 for the pod, are too much."""
    rest: list[Known] = [node("node-1", disk(maximum_bytes=16 * GIB)), pending()]
    rest += [setting("storage-minimal-available-percentage", "0"), *bound(volume())]
    builder = building(*rest, before)
    extender = Extender(GENEROUS)
    assert accepts(extender, builder.view)

    builder.apply(before, after)
    builder.settle()

    assert not accepts(extender, builder.view)


def test_a_volume_is_expanded():
    """First the Volume says so, then the Replicas, then the disks."""
    steps: list[tuple[Known, Known]] = [
        (volume(), volume(size_bytes=15 * GIB)),
        (replica(), replica(size_bytes=15 * GIB)),
        (node(), node("node-1", disk(listed={"vol-r-1": 15 * GIB}))),
    ]
    there: list[Known] = [old for old, _ in steps] + [
        replica("vol-r-2", on="node-2"),
        node("node-2"),
    ]
    builder = building(*there)
    scheduled = []
    for old, new in steps:
        builder.apply(old, new)
        builder.settle()
        there[there.index(old)] = new
        assert contents(builder.view) == contents(view_of(*there))
        spaces = builder.view.spaces
        scheduled.append([spaces[NodeName(f"node-{n}")].disks[0].scheduled_bytes for n in (1, 2)])

    assert scheduled == [[15 * GIB, 15 * GIB]] * 3


FIRST, SECOND = NodeName("node-1"), NodeName("node-2")
DISKS = {FIRST: "disk-1", SECOND: "disk-2"}
VOLUMES = [volume(name, node="node-1", replicas=2) for name in "ab"]


def granting(on: NodeName, refused: Sequence[str], other_gib: int) -> DiskSchedule:
    """Build the DiskSchedule of a node's disk, which refuses some replicas of 10 GiB."""
    return disk_schedule(
        DISKS[on],
        on=on,
        asks={"x": other_gib * GIB, **dict.fromkeys(refused, 10 * GIB)},
        granted={"x": other_gib * GIB},
        refused=dict.fromkeys(refused, 0),
    )


names_of_replicas = st.sampled_from(["a-r-1", "b-r-1"])
nodes_with_disks = st.sampled_from([FIRST, SECOND])
changes = st.one_of(
    st.builds(
        lambda name, on, pinned_to, healthy: (
            ("Replica", name),
            replica(
                name,
                of=name[0],
                on=on,
                disk=DISKS.get(on, ""),
                pinned_to=pinned_to,
                healthy_once=healthy,
            ),
        ),
        names_of_replicas,
        st.sampled_from([FIRST, SECOND, NodeName("")]),
        st.sampled_from([None, FIRST]),
        st.sampled_from([False, False, True]),
    ),
    st.builds(
        lambda on, refused, other_gib: (
            ("DiskSchedule", f"uuid-{DISKS[on]}"),
            granting(on, refused, other_gib),
        ),
        nodes_with_disks,
        st.lists(names_of_replicas, unique=True),
        st.sampled_from([0, 95, 95]),
    ),
    st.builds(
        lambda on, disks: (("Node", on), node(on, disk(DISKS[on] if disks else "new"))),
        nodes_with_disks,
        st.sampled_from([True, True, True, False]),
    ),
    st.tuples(
        st.one_of(
            st.tuples(st.just("Replica"), names_of_replicas),
            st.tuples(st.just("DiskSchedule"), st.sampled_from(["uuid-disk-1", "uuid-disk-2"])),
            st.tuples(st.just("Node"), nodes_with_disks),
        ),
        st.none(),
    ),
)


@given(st.lists(st.tuples(changes, st.booleans()), max_size=20))
def test_what_disks_turn_away_is_the_same_in_whatever_order_it_is_heard_of(history):
    known: dict[tuple[str, str], Known] = {
        ("Node", on): node(on, disk(name)) for on, name in DISKS.items()
    }
    builder = building(*known.values(), *VOLUMES)
    for (key, new), settles in history:
        old = known.pop(key, None)
        if new is not None:
            known[key] = new
        if old != new:
            builder.apply(old, new)
        if settles:
            builder.settle()
            assert contents(builder.view) == contents(view_of(*known.values(), *VOLUMES))


def test_node_readable_in_one_version_is_known_whichever_comes_first():
    old = Unreadable(kind="Node", name="node-1", why="too old", nodes=(NodeName("node-1"),))
    builder = building(old)

    builder.apply(None, node("node-1"))
    builder.settle()
    assert contents(builder.view) == contents(view_of(node("node-1"), old))
    assert list(builder.view.spaces) == ["node-1"]

    builder.apply(node("node-1"), None)
    builder.settle()
    assert contents(builder.view) == contents(view_of(old))


def test_image_that_becomes_known_counts_where_a_replica_was_turned_away():
    """The disk has yet to decide on more than it has room for, so the replica counts there."""
    mine = volume(backing_image="image", replicas=1)
    full = node("node-1", disk(maximum_bytes=8 * GIB))
    asks = disk_schedule(asks={"vol-r-1": 10 * GIB})
    there: list[Known] = [full, mine, asks, replica(healthy_once=False)]
    builder = building(*there)
    assert [each.node for each in builder.view.replicas[mine.name]] == [None]
    before = contents(builder.view)["spaces"]

    builder.apply(None, backing_image(size_bytes=2 * GIB))
    builder.settle()

    assert contents(builder.view)["spaces"] != before
    assert contents(builder.view) == contents(view_of(*there, backing_image(size_bytes=2 * GIB)))
