"""One DiskSchedule over random histories: late, lost and conflicting writes, limits that move.

Two deciders read what was true some time ago, and write when they come to it; so do those who ask
for room. The API server takes a write only of the newest version. What must hold then stands in
`longhorn.disk_schedule`; sizes are in bytes, and the disk has some 100.
"""

from collections.abc import Iterable, Mapping, Sequence
from random import Random

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from msgspec import structs

from longhorn import (
    Decision,
    DiskSchedule,
    Happened,
    Node,
    Owner,
    OwnerKind,
    Replica,
    ReplicaName,
    decide_schedule,
    found_on_disk,
    limit_bytes,
    unowned,
)
from tests.builders import node, replica
from tests.effort import examples
from tests.unit.longhorn.schedules import schedule, the_disk

sizes = st.sampled_from([30, 20, 50, 10, 70, 100, 101, 1, 0, -1])
lags = st.sampled_from([0, 0, 0, 1, 3])
places = st.integers(0, 5)
kinds = st.sampled_from([OwnerKind.REPLICA, OwnerKind.REPLICA, OwnerKind.IMAGE])


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """What a pass reads besides the object."""

    node: Node
    percent: int | None = 100
    data: Mapping[Owner, int] = {}
    """What lives on the disk, and its bytes."""
    living: frozenset[Owner] = frozenset()

    @property
    def limit(self) -> int | None:
        (disk,) = self.node.disks
        is_open = self.node.allow_scheduling and disk.allow_scheduling
        if self.percent is None or not is_open:
            return None
        return limit_bytes(disk.maximum_bytes, disk.reserved_bytes, self.percent)


class Pass(msgspec.Struct, frozen=True, kw_only=True):
    """A decision on its way to the API server."""

    decision: Decision
    version: int
    seen: Surroundings
    order: Sequence[Owner]


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """A requirement on its way to the API server; a size of 0 takes it back."""

    owner: Owner
    size_bytes: int
    version: int


class ScheduleMachine(RuleBasedStateMachine):
    """Each rule moves one decider, one who asks, or the surroundings."""

    def __init__(self) -> None:
        super().__init__()
        self.versions: list[DiskSchedule] = [schedule(ready=None)]
        """All there ever were; the last one is stored."""
        standard = the_disk(maximum_bytes=120, reserved_bytes=20, available_bytes=120)
        self.history = [Surroundings(node=node("node-1", standard))]
        self.passes: list[Pass | None] = [None, None]
        self.wishes: list[Wish] = []
        self.made = 0

    @property
    def stored(self) -> DiskSchedule:
        return self.versions[-1]

    @property
    def now(self) -> Surroundings:
        return self.history[-1]

    @initialize(data=st.lists(st.sampled_from([10, 50, 90]), max_size=3))
    def there_are_replicas_already(self, data: list[int]) -> None:
        """Together they may be more than the disk should hold."""
        for size in data:
            owner = self.new_owner(OwnerKind.REPLICA)
            self.change(data={**self.now.data, owner: size})

    @rule(wanted=st.lists(st.tuples(kinds, sizes), min_size=1, max_size=3), late=st.booleans())
    def something_new_is_asked_for(
        self,
        wanted: list[tuple[OwnerKind, int]],
        late: bool,  # noqa: FBT001
    ) -> None:
        for kind, size in wanted:
            self.wish(self.new_owner(kind), size)
            if not late:
                self.write_wish(len(self.wishes) - 1)

    @precondition(lambda self: self.now.living)
    @rule(place=places, size=sizes, late=st.booleans())
    def more_or_less_is_asked_for(self, place: int, size: int, late: bool) -> None:  # noqa: FBT001
        self.wish(_chosen(sorted(self.now.living), place), size)
        if not late:
            self.write_wish(len(self.wishes) - 1)

    @precondition(lambda self: self.wishes)
    @rule(place=places)
    def who_asks_writes(self, place: int) -> None:
        self.write_wish(place % len(self.wishes))

    @precondition(lambda self: self.now.living)
    @rule(place=places, tidy=st.booleans())
    def an_owner_dies(self, place: int, tidy: bool) -> None:  # noqa: FBT001
        owner = _chosen(sorted(self.now.living), place)
        data = {one: size for one, size in self.now.data.items() if one != owner}
        self.change(living=self.now.living - {owner}, data=data)
        if tidy:
            self.put(_asking(self.stored, owner, 0))

    @rule(maximum=st.sampled_from([0, 90, 120, 160]), reserved=st.sampled_from([0, 20, 50]))
    def the_disk_changes(self, maximum: int, reserved: int) -> None:
        (disk,) = self.now.node.disks
        changed = structs.replace(disk, maximum_bytes=maximum, reserved_bytes=reserved)
        self.change(node=structs.replace(self.now.node, disks=(changed,)))

    @rule(percent=st.sampled_from([None, 0, 50, 100, 200]))
    def the_setting_changes(self, percent: int | None) -> None:
        self.change(percent=percent)

    @rule(on_node=st.booleans(), on_disk=st.booleans())
    def scheduling_is_allowed_or_not(self, on_node: bool, on_disk: bool) -> None:  # noqa: FBT001
        (disk,) = self.now.node.disks
        changed = structs.replace(disk, allow_scheduling=on_disk)
        self.change(node=structs.replace(self.now.node, allow_scheduling=on_node, disks=(changed,)))

    @rule()
    def the_object_is_made_anew(self) -> None:
        """As when its disk was given up, and taken again with all that is on it."""
        self.put(schedule(ready=None))

    @rule(decider=st.integers(0, 1), seed=st.integers(0, 99), object_lag=lags, others_lag=lags)
    def a_decider_reads(self, decider: int, seed: int, object_lag: int, others_lag: int) -> None:
        """It asks the API server itself only who is gone."""
        index = max(0, len(self.versions) - 1 - object_lag)
        cached = self.history[max(0, len(self.history) - 1 - others_lag)]
        read = self.versions[index]
        lost = unowned(
            read,
            {ReplicaName(one.name) for one in cached.living if one.kind is OwnerKind.REPLICA},
            {one.name for one in cached.living if one.kind is OwnerKind.IMAGE},
        )
        self.passes[decider] = _pass(read, index, cached, lost - self.now.living, Random(seed))

    @rule(decider=st.integers(0, 1), answered=st.booleans())
    def a_decider_writes(self, decider: int, answered: bool) -> None:  # noqa: FBT001
        """Write the requirements, then the entries; without an answer it begins again."""
        under_way, self.passes[decider] = self.passes[decider], None
        if under_way is None or under_way.version != len(self.versions) - 1:
            return
        found = under_way.decision
        if found.changes_spec:
            after = found.after
            self.check_spec(found, under_way.seen)
            self.put(structs.replace(self.stored, replicas=after.replicas, images=after.images))
            if not answered:
                return
        if found.changes_status:
            self.check_status(under_way)
            self.put(found.after)
            self.note_data(found)

    @rule(decider=st.integers(0, 1), seed=st.integers(0, 99), others_lag=lags)
    def a_decider_makes_a_pass(self, decider: int, seed: int, others_lag: int) -> None:
        self.a_decider_reads(decider, seed, 0, others_lag)
        self.a_decider_writes(decider, answered=True)

    @rule(decider=st.integers(0, 1))
    def a_decider_starts_anew(self, decider: int) -> None:
        self.passes[decider] = None

    @rule(seed=st.integers(0, 99))
    def nothing_happens_for_a_while(self, seed: int) -> None:
        """With all else at rest one pass brings an object to rest, and nothing waits in vain.

        The controller decides nothing anew because of its own write.
        """
        self.passes = [None, None]
        for _ in range(2):
            self.a_decider_reads(0, seed, 0, 0)
            under_way = self.passes[0]
            assert under_way is not None
            found = under_way.decision
            if not found.changes_spec and not found.changes_status:
                break
            self.a_decider_writes(0, answered=True)
        else:
            raise AssertionError("it does not come to rest")

        asked, held = _requirements(self.stored), _held(self.stored)
        assert asked.keys() <= self.now.living
        if self.now.limit is None:
            return
        total = sum(held.values())
        for owner, size in asked.items():
            mine = held.get(owner, 0)
            assert mine == size or total - mine + size > self.now.limit or size <= 0

    def check_spec(self, found: Decision, seen: Surroundings) -> None:
        """Those who ask own the requirements, but for those of the dead and at the beginning."""
        before, after = _requirements(self.stored), _requirements(found.after)
        for owner in before.keys() | after.keys():
            if owner not in after:
                assert owner not in self.now.living
            elif owner not in before or before[owner] != after[owner]:
                assert self.stored.ready is None
                assert before.get(owner, 0) <= 0
                assert after[owner] == seen.data[owner]

    def check_status(self, under_way: Pass) -> None:
        """Check the entries that are about to be written against those that are there."""
        found, limit = under_way.decision, under_way.seen.limit
        asked = {owner: size for owner, size in _requirements(self.stored).items() if size > 0}
        before, after = _held(self.stored), _held(found.after)

        assert found.after.scheduled_bytes == sum(after.values())
        assert after.keys() <= asked.keys()
        kept = under_way.seen.data if self.stored.ready is None else {}
        for owner, size in after.items():
            old = before.get(owner, 0)
            if size < old:
                assert size == asked[owner]
            allowed = {asked[owner], old, max(old, min(kept.get(owner, old), asked[owner]))}
            assert size in allowed
        for owner in before.keys() - after.keys():
            assert owner not in asked

        grown = {o for o, size in after.items() if size > max(before.get(o, 0), kept.get(o, 0))}
        if grown:
            assert limit is not None
            assert sum(after.values()) <= limit
        for owner, size in kept.items():
            if owner in asked:
                assert after[owner] >= min(size, asked[owner])
        assert _naive(asked, before, kept, limit, under_way.order) == after
        refused = {one.owner for one in found.changes if one.happened is Happened.REFUSED}
        assert refused <= found.refused.keys()

    def note_data(self, found: Decision) -> None:
        """What was granted comes to be on the disk."""
        granted = {one: size for one, size in _held(found.after).items() if size}
        alive = {one: size for one, size in granted.items() if one in self.now.living}
        self.change(data={**self.now.data, **alive})

    def new_owner(self, kind: OwnerKind) -> Owner:
        self.made += 1
        owner = Owner(kind, f"{kind[0]}{self.made}")
        self.change(living=self.now.living | {owner})
        return owner

    def wish(self, owner: Owner, size: int) -> None:
        self.wishes.append(Wish(owner=owner, size_bytes=size, version=len(self.versions) - 1))

    def write_wish(self, index: int) -> None:
        """Write what is asked for; at a conflict, who asks reads again and tries once more."""
        wish = self.wishes.pop(index)
        if wish.owner not in self.now.living:
            return
        if wish.version == len(self.versions) - 1:
            self.put(_asking(self.stored, wish.owner, wish.size_bytes))
        else:
            self.wish(wish.owner, wish.size_bytes)

    def change(self, **fields: object) -> None:
        self.history.append(structs.replace(self.now, **fields))

    def put(self, changed: DiskSchedule) -> None:
        if changed != self.stored:
            self.versions.append(changed)


def _pass(
    read: DiskSchedule, version: int, seen: Surroundings, gone: frozenset[Owner], random: Random
) -> Pass:
    order: list[Owner] = []

    def shuffled(owners: Sequence[Owner]) -> Sequence[Owner]:
        order.extend(random.sample(owners, len(owners)))
        return order

    found = _decide(read, seen, gone, shuffled)
    again = _decide(found.after, seen, gone, lambda owners: owners)
    assert (again.after, again.changes) == (found.after, ())
    return Pass(decision=found, version=version, seen=seen, order=order)


def _decide(
    read: DiskSchedule,
    seen: Surroundings,
    gone: frozenset[Owner],
    shuffled: object,
) -> Decision:
    copies = {o.name: size for o, size in seen.data.items() if o.kind is OwnerKind.IMAGE}
    found = decide_schedule(
        read,
        seen.node,
        seen.percent,
        gone=gone,
        found=found_on_disk(read, _replicas(seen), copies),
        shuffled=shuffled,  # type: ignore[arg-type]
    )
    assert isinstance(found, Decision)
    return found


def _replicas(seen: Surroundings) -> Iterable[Replica]:
    return [
        replica(owner.name, size_bytes=size)
        for owner, size in seen.data.items()
        if owner.kind is OwnerKind.REPLICA
    ]


def _naive(
    asked: Mapping[Owner, int],
    before: Mapping[Owner, int],
    kept: Mapping[Owner, int],
    limit: int | None,
    order: Sequence[Owner],
) -> dict[Owner, int]:
    """Work out the bytes of all entries, adding up everything again each time."""
    base = {**before}
    for owner, size in kept.items():
        if owner in asked:
            base[owner] = max(base.get(owner, 0), min(size, asked[owner]))
    held = {owner: min(size, asked[owner]) for owner, size in base.items() if owner in asked}
    for owner in order if limit is not None else ():
        tried = {**held, owner: asked[owner]}
        fits = limit is not None and sum(tried.values()) <= limit
        held[owner] = asked[owner] if fits else held.get(owner, 0)
    return held


def _requirements(of: DiskSchedule) -> dict[Owner, int]:
    replicas = {Owner(OwnerKind.REPLICA, name): size for name, size in of.replicas.items()}
    return replicas | {Owner(OwnerKind.IMAGE, name): size for name, size in of.images.items()}


def _held(of: DiskSchedule) -> dict[Owner, int]:
    entries = {Owner(OwnerKind.REPLICA, name): each for name, each in of.held_replicas.items()}
    entries |= {Owner(OwnerKind.IMAGE, name): each for name, each in of.held_images.items()}
    return {owner: each.scheduled_bytes for owner, each in entries.items()}


def _asking(of: DiskSchedule, owner: Owner, size: int) -> DiskSchedule:
    field = "replicas" if owner.kind is OwnerKind.REPLICA else "images"
    others = {name: asked for name, asked in getattr(of, field).items() if name != owner.name}
    return structs.replace(of, **{field: {**others, owner.name: size} if size else others})


def _chosen(among: Sequence[Owner], place: int) -> Owner:
    return among[place % len(among)]


TestSchedule = ScheduleMachine.TestCase
TestSchedule.settings = settings(max_examples=examples(200), stateful_step_count=40, deadline=None)
