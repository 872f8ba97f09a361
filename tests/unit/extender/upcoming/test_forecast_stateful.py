"""The book that is kept up to date with a view, against one that is worked out anew.

Whatever happens: what comes, and what each node takes, is what follows from the objects alone. A
leader that has just taken over sees the same. Nodes take what is forecast there, and none takes
more of what is forecast nowhere.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec.structs import replace

from app.kube.mirror import Known
from extender import ClusterView, Extender, ViewBuilder
from extender.demand.requests import NOBODY
from extender.holds.hold import End, State
from extender.upcoming.upcoming import Certainty, Upcoming, by_certainty
from longhorn import DiskId, Locality, Node, NodeName, Replica, Setting, Volume
from tests.builders import (
    GENEROUS,
    GIB,
    condition,
    disk,
    hold,
    node,
    replica,
    setting,
    view_of,
    volume,
    wanted,
)
from tests.effort import examples
from tests.unit.extender.upcoming.naive import Coming, Local, Naive, packs

START = datetime(2026, 8, 20, 12, 0, tzinfo=UTC)
WAIT = "replica-replenishment-wait-interval"
VALUES = {
    "replica-soft-anti-affinity": ("false", "true"),
    "replica-zone-soft-anti-affinity": ("true", "false"),
    "storage-over-provisioning-percentage": ("100", "150", "50"),
    "storage-minimal-available-percentage": ("0",),
    "concurrent-replica-rebuild-per-node-limit": ("5", "0"),
    WAIT: ("600", "0"),
}
"""The settings that count here, the first value at the start."""

nodes = st.sampled_from(["node-1", "node-2", "node-3", "node-4"])
CLASSES = {
    "a": (Locality.DISABLED, 1),
    "b": (Locality.DISABLED, 3),
    "c": (Locality.BEST_EFFORT, 1),
    "d": (Locality.BEST_EFFORT, 2),
    "e": (Locality.BEST_EFFORT, 3),
    "f": (Locality.STRICT_LOCAL, 1),
}
"""Locality of each volume, and how many replicas it wants."""

names = st.sampled_from([*CLASSES])
pods = st.sampled_from(["p", "q", "r"])
zones = st.sampled_from(["x", "y", ""])
sizes = st.sampled_from([2, 3, 4, 5, 7]).map(lambda gib: gib * GIB)


def of_class(name: str, size_bytes: int = 3 * GIB) -> Volume:
    locality, count = CLASSES[name]
    return volume(name, size_bytes=size_bytes, locality=locality, replicas=count)


class ForecastMachine(RuleBasedStateMachine):
    """A cluster in which things happen, and what is known of it."""

    def __init__(self) -> None:
        super().__init__()
        self.builder = ViewBuilder()
        self.extender = Extender(GENEROUS)
        self.ledger = self.extender.ledger
        self.known: dict[tuple[type, str], Known] = {}
        self.utc = START
        self.number = 0

    def of(self, kind: type) -> list[Any]:
        return [each for (of, _), each in sorted(self.known.items(), key=str) if of is kind]

    def put(self, name: str, new: Known) -> None:
        self.builder.apply(self.known.get((type(new), name)), new)
        self.known[type(new), name] = new
        self.builder.settle()

    def drop(self, kind: type, name: str) -> None:
        self.builder.apply(self.known.pop((kind, name)), None)
        self.builder.settle()

    def a(self, kind: type, data: st.DataObject) -> Any:
        return data.draw(st.sampled_from(self.of(kind)))

    @initialize(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        for name, (first, *_) in VALUES.items():
            self.put(name, setting(name, first))
        for number in range(1, 5):
            name = f"node-{number}"
            disks = [
                disk(f"disk-{n}", uuid=f"{name}-{n}", maximum_bytes=data.draw(sizes) * 2)
                for n in range(1, 1 + data.draw(st.sampled_from([1, 1, 2])))
            ]
            self.put(name, node(name, *disks, zone=data.draw(zones)))
        for name in data.draw(st.lists(names, max_size=3, unique=True)):
            self.use_volume(data, name, data.draw(sizes))
            self.fail_replica(data)

    # --- nodes and settings ---

    @rule(name=nodes, zone=zones)
    def change_zone(self, name: str, zone: str) -> None:
        if (Node, name) in self.known:
            self.put(name, replace(self.known[Node, name], zone=zone))

    @rule(name=nodes, field=st.sampled_from(["allow_scheduling", "evicting"]), now=st.booleans())
    def change_node(self, name: str, field: str, *, now: bool) -> None:
        if (Node, name) in self.known:
            self.put(name, replace(self.known[Node, name], **{field: now}))

    @rule(name=nodes, size=sizes, open_=st.sampled_from([True, True, False]))
    def change_disk(self, name: str, size: int, *, open_: bool) -> None:
        if (Node, name) in self.known:
            first, *others = self.known[Node, name].disks  # type: ignore[union-attr]
            first = replace(
                first, maximum_bytes=2 * size, available_bytes=2 * size, allow_scheduling=open_
            )
            self.put(name, replace(self.known[Node, name], disks=(first, *others)))

    @rule(name=nodes)
    def lose_and_find_node(self, name: str) -> None:
        if (Node, name) in self.known:
            self.drop(Node, name)
        else:
            found = node(name, disk(uuid=f"{name}-1", maximum_bytes=8 * GIB), zone="x")
            self.put(name, found)

    @rule(data=st.data(), name=st.sampled_from([*VALUES]))
    def change_setting(self, data: st.DataObject, name: str) -> None:
        self.put(name, setting(name, data.draw(st.sampled_from(VALUES[name]))))

    @rule(seconds=st.sampled_from([300, 600]))
    def pass_time(self, seconds: int) -> None:
        self.utc += timedelta(seconds=seconds)

    # --- volumes ---

    @rule(name=names, size=sizes)
    def create_volume(self, name: str, size: int) -> None:
        if (Volume, name) not in self.known:
            self.put(name, of_class(name, size))

    @rule(data=st.data(), name=names, size=sizes)
    def use_volume(self, data: st.DataObject, name: str, size: int) -> None:
        """Create a volume, place all its replicas, and attach it."""
        if (Volume, name) in self.known or not self.of(Node):
            return
        on = data.draw(st.permutations(self.of(Node)))[: CLASSES[name][1]]
        at = on[0].name
        self.put(name, replace(of_class(name, size), node=at, attached_to=at, healthy=True))
        for each in on:
            self.number += 1
            there = DiskId(data.draw(st.sampled_from([disk.id for disk in each.disks])))
            new = replica(f"{name}-r-{self.number}", of=name, on=each.name, size_bytes=size)
            self.put(new.name, replace(new, disk=there))

    @rule(data=st.data())
    def fail_replica(self, data: st.DataObject) -> None:
        """Let a replica of an attached volume fail, and perhaps its node."""
        found = [
            (one, of)
            for one in self.of(Replica)
            if isinstance(of := self.known.get((Volume, one.volume)), Volume) and of.attached_to
        ]
        if not found:
            return
        one, of = data.draw(st.sampled_from(found))
        self.put(one.name, replace(one, failed=True))
        self.put(of.name, replace(of, healthy=False, degraded=True, degraded_at=self.utc))
        on = self.known.get((Node, one.node))
        if isinstance(on, Node):
            self.put(on.name, replace(on, ready=condition(data.draw(st.booleans()))))

    @precondition(lambda self: self.of(Volume))
    @rule(data=st.data(), at=nodes, robustness=st.sampled_from(["", "healthy", "degraded"]))
    def attach(self, data: st.DataObject, at: str, robustness: str) -> None:
        of = self.a(Volume, data)
        self.put(
            of.name,
            replace(
                of,
                node=NodeName(at),
                attached_to=NodeName(at) if robustness else None,
                healthy=robustness == "healthy",
                degraded=robustness == "degraded",
                degraded_at=self.utc if robustness == "degraded" else None,
            ),
        )

    @precondition(lambda self: self.of(Volume))
    @rule(data=st.data())
    def detach(self, data: st.DataObject) -> None:
        off = {"node": None, "attached_to": None, "degraded_at": None}
        of = self.a(Volume, data)
        self.put(of.name, replace(of, **off, healthy=False, degraded=False))

    @precondition(lambda self: self.of(Volume))
    @rule(data=st.data(), more=sizes)
    def expand(self, data: st.DataObject, more: int) -> None:
        of = self.a(Volume, data)
        self.put(of.name, replace(of, size_bytes=of.size_bytes + more))

    @precondition(lambda self: self.of(Volume))
    @rule(data=st.data(), goes=st.booleans())
    def delete_volume(self, data: st.DataObject, *, goes: bool) -> None:
        of = self.a(Volume, data)
        if goes:
            self.drop(Volume, of.name)
        else:
            self.put(of.name, replace(of, deleting=True))

    # --- replicas ---

    @precondition(lambda self: self.of(Volume))
    @rule(data=st.data(), pinned_to=st.sampled_from(["", "", "node-1", "node-2"]))
    def create_replica(self, data: st.DataObject, pinned_to: str) -> None:
        of = self.a(Volume, data)
        self.number += 1
        name, size = f"{of.name}-r-{self.number}", of.size_bytes
        new = replica(name, of=of.name, on="", size_bytes=size, healthy_once=False)
        self.put(name, replace(new, hard_node_affinity=NodeName(pinned_to) if pinned_to else None))

    @precondition(lambda self: any(each.node is None for each in self.of(Replica)))
    @rule(data=st.data(), healthy=st.booleans())
    def assign(self, data: st.DataObject, *, healthy: bool) -> None:
        """Give a replica a disk on a node without another one of its volume."""
        one = data.draw(st.sampled_from([r for r in self.of(Replica) if r.node is None]))
        used = {each.node for each in self.of(Replica) if each.volume == one.volume}
        free = [each for each in self.of(Node) if each.name not in used]
        free = [each for each in free if one.hard_node_affinity in (None, each.name)]
        if free:
            on = data.draw(st.sampled_from(free))
            there = DiskId(data.draw(st.sampled_from([each.id for each in on.disks])))
            self.put(one.name, replace(one, node=on.name, disk=there, healthy_once=healthy))

    @precondition(lambda self: any(each.node for each in self.of(Replica)))
    @rule(data=st.data())
    def list_replica(self, data: st.DataObject) -> None:
        """Show a replica in scheduledReplica of its disk."""
        one = data.draw(st.sampled_from([r for r in self.of(Replica) if r.node]))
        on = self.known.get((Node, one.node))
        if isinstance(on, Node):
            disks = [
                replace(each, listed={**each.listed, one.name: one.size_bytes})
                if each.id == one.disk
                else each
                for each in on.disks
            ]
            disks = [replace(each, scheduled_bytes=sum(each.listed.values())) for each in disks]
            self.put(on.name, replace(on, disks=tuple(disks)))

    @precondition(lambda self: self.of(Replica))
    @rule(
        data=st.data(),
        change=st.sampled_from(
            [
                {"healthy_once": True},
                {"failed": True},
                {"failed": True},
                {"failed": False},
                {"evicting": True},
                {"evicting": False},
                {"deleting": True},
            ]
        ),
    )
    def change_replica(self, data: st.DataObject, change: dict[str, bool]) -> None:
        one = self.a(Replica, data)
        self.put(one.name, replace(one, **change))

    @precondition(lambda self: self.of(Replica))
    @rule(data=st.data())
    def delete_replica(self, data: st.DataObject) -> None:
        self.drop(Replica, self.a(Replica, data).name)

    @precondition(lambda self: self.of(Replica))
    @rule(data=st.data())
    def expand_replica(self, data: st.DataObject) -> None:
        one = self.a(Replica, data)
        of = self.known.get((Volume, one.volume))
        if isinstance(of, Volume):
            self.put(one.name, replace(one, size_bytes=max(of.size_bytes, one.size_bytes)))

    # --- holds ---

    @rule(
        pod=pods,
        of=st.lists(names, min_size=1, max_size=3, unique=True),
        on=st.lists(nodes, min_size=1, max_size=3, unique=True),
    )
    def hold(self, pod: str, of: list[str], on: list[str]) -> None:
        """Hold for a pod's volumes what its claims ask for."""
        all_ = [wanted(of_class(name)) for name in of]
        mine = [each for each in self.of(Replica) if each.volume in of]
        made = hold(pod, volumes=[], nodes=on, replicas=mine, only_candidate=len(on) == 1)
        local = tuple(each for each in all_ if each.is_local)
        remote = tuple(each for each in all_ if not each.is_local)
        self.ledger.put(replace(made, volumes=local, remote=remote))

    @precondition(lambda self: self.ledger.count(State.OPEN))
    @rule(data=st.data())
    def choose(self, data: st.DataObject) -> None:
        found = data.draw(st.sampled_from(self.ledger.open_holds()))
        on = data.draw(st.sampled_from(sorted(found.nodes)))
        self.ledger.put(replace(found, state=State.CHOSEN, nodes=frozenset([on])))

    @precondition(lambda self: len(self.ledger) > 1)
    @rule(data=st.data())
    def end_hold(self, data: st.DataObject) -> None:
        found = data.draw(st.sampled_from([*self.ledger]))
        self.ledger.drop(found.pod.uid, End.POD_GONE, 0.0)

    # --- what must be true ---

    @invariant()
    def what_comes_is_what_follows_from_the_objects(self) -> None:
        if not self.known:
            return
        naive = self.naive()
        live = Seen(self.builder.view, self.extender, self.utc)

        assert live.coming == naive.coming()
        assert live.local == naive.local()
        assert live.room == {name: naive.room(name) for name in naive.nodes}
        live.check_rooms(naive)

    @invariant()
    def a_new_leader_sees_the_same(self) -> None:
        if not self.known:
            return
        view = view_of(*reversed(self.known.values()))
        extender = Extender(GENEROUS)
        for each in reversed([*self.ledger]):
            extender.ledger.put(each)

        anew = Seen(view, extender, self.utc)
        live = Seen(self.builder.view, self.extender, self.utc)
        assert (anew.coming, anew.local) == (live.coming, live.local)

    def naive(self) -> Naive:
        values = {each.name: each.value for each in self.of(Setting)}
        return Naive(
            self.of(Node), self.of(Volume), self.of(Replica), self.ledger, values, self.utc
        )


class Seen:
    """What the extender makes of a view, in the words of the naive forecast."""

    def __init__(self, view: ClusterView, extender: Extender, utc: datetime) -> None:
        book = extender.situation(NOBODY, view, utc=utc).book
        found, forecast = sorted(book.anywhere.values(), key=by_certainty), book.forecast
        assert not book.is_behind
        assert not forecast.is_cut_short
        self.coming = [
            Coming(
                each.volume.name, each.count, each.is_sure, each.certainty is not Certainty.SHOWN
            )
            for each in found
        ]
        self.room = {
            name: tuple(each.logical_bytes for each in space.bins)
            for name, space in view.spaces.items()
        }
        missing = {**forecast.nowhere}
        for each in found:
            forecast.place(each)
        assert forecast.nowhere == missing
        self.placed = {c.volume: c.number - missing.get(c.volume, 0) for c in self.coming}
        self.local = {
            name: Local(*(_sizes(load, certainty) for certainty in Certainty))
            for name, space in view.spaces.items()
            for load in (book.pinned_with_open(space),)
        }
        self.on = {
            name: sorted((each.item.id, each.item.logical_bytes) for each in there)
            for name, there in forecast.on.items()
            if there
        }
        assert forecast.total_bytes == sum(size for on in self.on.values() for _, size in on)

    def check_rooms(self, naive: Naive) -> None:
        """Each node takes what is forecast there beside what must come there."""
        counted = 0
        for name, there in self.on.items():
            sizes = [size for _, size in there]
            assert len({id_ for id_, _ in there}) == len(there)
            load = self.local[name]
            assert packs([*load.pending, *load.chosen, *sizes], naive.room(name))
            counted += len(sizes)
        assert counted == sum(self.placed.values())


def _sizes(load: Iterable[Upcoming], certainty: Certainty) -> tuple[int, ...]:
    return tuple(sorted(each.item.logical_bytes for each in load if each.certainty is certainty))


TestForecastMachine = ForecastMachine.TestCase
TestForecastMachine.settings = settings(max_examples=examples(60), stateful_step_count=25)
