"""A view kept up to date change by change is the view made anew, and is answered from the same."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

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
from msgspec.structs import replace

from app.kube.mirror import Known
from extender import ClusterView, Extender, Rejection, Scores, UnresolvableClaimError, ViewBuilder
from extender.demand import PodRequest
from extender.space import NodeSpace
from extender.view import MOST_CHANGES, Cursor
from longhorn import DiskKind, Node, NodeName, Replica, Unreadable, VolumeName
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
Keys = list[tuple[str, str]]


def keys_of(names: Keys, least: int, most: int) -> st.SearchStrategy[Keys]:
    return st.lists(st.sampled_from(names), min_size=least, max_size=most, unique=True)


PIECES = st.sampled_from([0, 1, 2, 99])
"""How many are settled before something else happens; 99 are all."""
PODS = [pod("vol-0"), pod("vol-1"), pod("new"), pod("vol-0", "vol-1"), pod("vol-1", "new")]


def contents(view: ClusterView) -> dict[str, Any]:
    """Return all that a view says, with kinds of disks in place of their numbers."""
    kinds = {number: kind for kind, number in view.disk_kinds.items()}
    assert len(kinds) == len(view.disk_kinds)
    return {
        name: _plain(getattr(view, name))
        for name in view.__struct_fields__
        if name not in ("by_running", "disk_kinds", "changes", "volume_changes")
    } | {
        "replicas": {volume: list(replicas) for volume, replicas in view.replicas.items()},
        "spaces": {name: _space_contents(space, kinds) for name, space in view.spaces.items()},
        "by_running": {
            key: {space.node.name for space in view.by_running.of(key)}
            for key in view.by_running.keys()  # noqa: SIM118 (of an index)
        },
    }


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    return set(value) if isinstance(value, Collection) else value


def _space_contents(space: NodeSpace, kinds: Mapping[int, DiskKind]) -> tuple[object, ...]:
    return (
        replace(space, usable=(), bins=(), roomiest=(), unused_bytes={}, totals=()),
        [
            each and (kinds[each.bin.kind], replace(each, bin=replace(each.bin, kind=0)))
            for each in space.usable
        ],
        {kinds[kind]: unused for kind, unused in space.unused_bytes.items()},
        {kinds[each.kind]: replace(each, kind=0) for each in space.totals},
        [(kinds[each.kind], replace(each, kind=0)) for each in space.bins],
    )


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

    @rule(data=st.data(), keys=keys_of(BUSY, 0, 3) | keys_of(NAMES, 1, 1), pieces=PIECES)
    def put(self, data: st.DataObject, keys: Keys, pieces: int) -> None:
        for key in keys:
            self.apply(key, data.draw(known_objects(*key)))
        self.settle(pieces)

    @rule(keys=keys_of(BUSY, 1, 2) | keys_of(NAMES, 1, 8), pieces=PIECES)
    def remove(self, keys: Keys, pieces: int) -> None:
        for key in keys:
            self.apply(key, None)
        self.settle(pieces)

    @rule(data=st.data(), keys=keys_of(NAMES, 8, len(NAMES)), pieces=PIECES)
    def flap(self, data: st.DataObject, keys: Keys, pieces: int) -> None:
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
            placed = replace(found, node=found.hard_node_affinity, disk=disk)
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


def change(builder: ViewBuilder, old: Known | None, new: Known | None) -> None:
    builder.apply(old, new)
    builder.settle()


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
        change(builder, old, new)
        assert accepts(awake, builder.view) is (new is large)
        if number == 5:
            assert not accepts(sleepers[0], building(*bound(volume()), small).view)
    change(builder, large, small)

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
    change(builder, mine, replace(mine, started=True))

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

    change(builder, before, after)

    assert not accepts(extender, builder.view)


def test_a_volume_is_expanded():
    """First the Volume says so, then the Replicas, then the disks."""
    steps: list[tuple[Known, Known]] = [
        (volume(), volume(size_bytes=15 * GIB)),
        (replica(), replica(size_bytes=15 * GIB)),
        (node(), node("node-1", disk(listed={"vol-r-1": 15 * GIB}))),
    ]
    there = [old for old, _ in steps] + [replica("vol-r-2", on="node-2"), node("node-2")]
    builder = building(*there)
    scheduled = []
    for old, new in steps:
        change(builder, old, new)
        there[there.index(old)] = new
        assert contents(builder.view) == contents(view_of(*there))
        spaces = builder.view.spaces
        scheduled.append([spaces[NodeName(f"node-{n}")].disks[0].scheduled_bytes for n in (1, 2)])

    assert scheduled == [[15 * GIB, 15 * GIB]] * 3


DISKS = {NodeName("node-1"): "disk-1", NodeName("node-2"): "disk-2"}
VOLUMES = [volume(name, node="node-1", replicas=2) for name in "ab"]
OFTEN = st.sampled_from([True, True, True, False])
names_of_replicas = st.sampled_from(["a-r-1", "b-r-1"])


@st.composite
def changes(draw: st.DrawFn) -> tuple[tuple[str, str], Known | None]:
    """Draw the key of an object of a disk, and what becomes of it; None if it goes."""
    kind = draw(st.sampled_from(["Replica", "DiskSchedule", "Node"]))
    on, name = draw(st.sampled_from(list(DISKS))), draw(names_of_replicas)
    key = kind, {"Replica": name, "DiskSchedule": f"uuid-{DISKS[on]}"}.get(kind, on)
    if not draw(OFTEN):
        return key, None
    if kind == "Replica":
        is_placed, is_pinned, is_new = draw(st.booleans()), draw(st.booleans()), draw(OFTEN)
        return key, replica(
            name,
            of=name[0],
            on=on if is_placed else "",
            disk=DISKS[on],
            pinned_to="node-1" if is_pinned else None,
            healthy_once=not is_new,
        )
    if kind == "DiskSchedule":
        refused, other = draw(st.lists(names_of_replicas, unique=True)), 95 * draw(OFTEN) * GIB
        return key, disk_schedule(
            DISKS[on],
            on=on,
            asks={"x": other, **dict.fromkeys(refused, 10 * GIB)},
            granted={"x": other},
            refused=dict.fromkeys(refused, 0),
        )
    return key, node(on, disk(DISKS[on] if draw(OFTEN) else "new"))


@given(st.lists(st.tuples(changes(), st.booleans()), max_size=20))
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

    change(builder, None, node("node-1"))
    assert contents(builder.view) == contents(view_of(node("node-1"), old))
    assert list(builder.view.spaces) == ["node-1"]

    change(builder, node("node-1"), None)
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

    change(builder, None, backing_image(size_bytes=2 * GIB))

    assert contents(builder.view)["spaces"] != before
    assert contents(builder.view) == contents(view_of(*there, backing_image(size_bytes=2 * GIB)))
