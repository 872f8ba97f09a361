"""Moves of replicas: by Longhorn's rules at each step, and nearly as good as can be.

The rules stand here a second time, plainly and slowly, after longhorn-manager's
scheduler/replica_scheduler.go; nothing of what is tested is asked for them.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from random import Random
from typing import Any

import msgspec
import pytest
from msgspec import structs

from longhorn import Disk, Locality, Node, Replica, Setting, Volume
from planner.moving import Move
from planner.rebalance import Goal, rebalanced
from tests.builders import GIB, backing_image, disk, node, replica, setting, view_of, volume

CLUSTERS, MOVES = 300, 2
At = tuple[Any, Any]
"""Node and UUID of a disk."""
Records = Sequence[Node | Volume | Replica | Setting]


class Rules(msgspec.Struct, frozen=True):
    """Longhorn's settings."""

    over: int
    least: int
    node_soft: bool
    zone_soft: bool
    disk_soft: bool


class World:
    """Disks, and which replicas of which volumes are on them."""

    def __init__(self, records: Records, rules: Rules) -> None:
        self.rules = rules
        self.nodes = {each.name: each for each in records if isinstance(each, Node)}
        self.disks = {(of.name, each.id): each for of in self.nodes.values() for each in of.disks}
        self.volumes = {each.name: each for each in records if isinstance(each, Volume)}
        self.copies = {each.name: each for each in records if isinstance(each, Replica)}

    def limit(self, at: At) -> int:
        found = self.disks[at]
        return (found.maximum_bytes - found.reserved_bytes) * self.rules.over // 100

    def scheduled(self, at: At) -> int:
        return sum(each.size_bytes for each in self.on(at))

    def written(self, at: At) -> int:
        return sum(self.volumes[each.volume].actual_bytes for each in self.on(at))

    def on(self, at: At) -> list[Replica]:
        return [each for each in self.copies.values() if (each.node, each.disk) == at]

    def of(self, volume: Volume) -> list[Replica]:
        return [each for each in self.copies.values() if each.volume == volume.name]

    def levels(self) -> list[Fraction]:
        """Return the shares, the highest first."""
        counted = [at for at, each in self.disks.items() if not each.evicting]
        return sorted(
            (Fraction(self.scheduled(at), self.limit(at)) for at in counted), reverse=True
        )

    def is_no_worse_than(self, before: list[Fraction]) -> bool:
        now = self.levels()
        return now[0] <= before[0] and now[0] - now[-1] <= before[0] - before[-1]

    def fits(self, volume: Volume, at: At, tags: frozenset[str]) -> bool:
        found, of = self.disks[at], self.nodes[at[0]]
        available = found.available_bytes - self.written(at)
        return (
            of.allow_scheduling
            and of.schedulable.is_true
            and found.allow_scheduling
            and not found.evicting
            and found.type == volume.disk_type
            and tags >= {*volume.disk_selector}
            and volume.size_bytes + self.scheduled(at) <= self.limit(at)
            and available - volume.actual_bytes > found.maximum_bytes * self.rules.least // 100
        )

    def choice(self, volume: Volume, tagged: Mapping[object, Sequence[str]]) -> set[object]:
        """Return the disks of which Longhorn takes one for one more replica of a volume."""
        fitting = [
            at for at, each in self.disks.items()
            if self.fits(volume, at, each.tags | {*tagged.get(at, ())})
        ]  # fmt: skip
        open_ = {
            each
            for each, of in self.nodes.items()
            if of.allow_scheduling and of.schedulable.is_true
        }
        used = {each.node for each in self.of(volume) if each.node in open_}
        zones = {self.nodes[name].zone for name in used if name is not None}
        has_tags = {at for at in fitting if self.nodes[at[0]].tags >= {*volume.node_selector}}
        groups = [[at for at in has_tags if self.nodes[at[0]].zone not in zones]]
        if either(volume.zone_soft_anti_affinity, self.rules.zone_soft):
            groups.append([at for at in has_tags if at[0] not in used])
            if either(volume.soft_anti_affinity, self.rules.node_soft):
                groups.append([at for at in fitting if at[0] in used])
        taken = {each.disk for each in self.of(volume)}
        for group in groups:
            fresh = [at for at in group if at[1] not in taken]
            if fresh or (group and self.rules.disk_soft):
                return self.most_even(fresh or group, volume.size_bytes)
        return set()

    def most_even(self, group: Sequence[At], size: int) -> set[object]:
        unused = {at: self.unused(at) for at in group}
        sums = {name: sum(unused[at] for at in group if at[0] == name) for name, _ in group}
        found = {
            at for name in best(sums, sums, size)
            for at in best({at: unused[at] for at in group if at[0] == name}, unused, size)
        }  # fmt: skip
        return found or {*group}

    def unused(self, at: At) -> int:
        found = self.disks[at]
        left = found.available_bytes - self.written(at) - found.reserved_bytes
        return max(0, left - self.scheduled(at))

    def allows(self, copy: Replica, at: At) -> bool:
        """Whether a replica may go to a disk, whatever must be changed meanwhile."""
        of = self.volumes[copy.volume]
        others = [each for each in self.of(of) if each.name != copy.name]
        used = {each.node for each in others}
        zones = {self.nodes[each].zone for each in used if each is not None}
        zone = self.nodes[at[0]].zone
        here = copy.node and self.nodes[copy.node].zone
        local = of.attached_to if of.locality is Locality.BEST_EFFORT else None
        node_soft = either(of.soft_anti_affinity, self.rules.node_soft)
        zone_soft = either(of.zone_soft_anti_affinity, self.rules.zone_soft)
        return (
            of.healthy
            and of.locality is not Locality.STRICT_LOCAL
            and at[1] not in {copy.disk, *(each.disk for each in others)}
            and (at[0] == copy.node or copy.node != local)
            and self.fits(of, at, self.disks[at].tags)
            and self.nodes[at[0]].tags >= {*of.node_selector}
            and (at[0] not in used or (copy.node in used and node_soft))
            and (zone not in zones or (here in zones and zone_soft))
        )

    def moved(self, copy: Replica, at: At, name: str = "") -> "World":
        """Return the world once a replica is moved; with a name, once it has been copied."""
        after = World((), self.rules)
        after.nodes, after.disks, after.volumes = self.nodes, self.disks, self.volumes
        new = structs.replace(copy, name=name or copy.name, node=at[0], disk=at[1])
        after.copies = {**self.copies, new.name: new}
        return after

    def best_after(self, moves: int, before: list[Fraction] | None = None) -> Fraction:
        """Return how low the fullest disk can come, trying everything."""
        levels = self.levels()
        if not moves:
            return levels[0]
        return min(
            [levels[0]]
            + [
                after.best_after(moves - 1, before or levels)
                for copy in self.copies.values()
                for at in self.disks
                if self.allows(copy, at)
                and (after := self.moved(copy, at)).is_no_worse_than(before or levels)
            ]
        )


def either(of_volume: bool | None, of_setting: bool) -> bool:  # noqa: FBT001
    return of_setting if of_volume is None else of_volume


def best(takers: Mapping[Any, int], unused: Mapping[Any, int], size: int) -> list[Any]:
    """Return who leaves all most even (getDiskWithMostBalanceScore)."""
    scores = {}
    for each, has in takers.items():
        left = [value - size * (at == each) for at, value in unused.items()]
        if has >= size and sum(left) > 0:
            scores[each] = Fraction(max(left) - min(left), sum(left))
    return [each for each, score in scores.items() if score == min(scores.values())]


def made(seed: int) -> tuple[Records, Rules]:
    """Make a small cluster, and how Longhorn is set. Most replicas are where no room was asked for,
    so that some disks are too full."""
    random = Random(seed)

    def maybe(percent: int) -> bool:
        return random.random() * 100 < percent

    rules = Rules(
        random.choice([100, 100, 200]), random.choice([0, 25]), maybe(25), maybe(75), maybe(75)
    )
    spots = {
        f"d{number}{each}": f"n{number}"
        for number in range(random.randint(2, 4))
        for each in range(random.randint(1, 2))
    }
    kinds = {each: "block" if maybe(10) else "filesystem" for each in spots}
    volumes, copies, listed = [], [], {each: dict[str, int]() for each in spots}
    written = dict.fromkeys(spots, 0)
    for number in range(random.randint(2, 6)):
        name, size, kind = (
            f"v{number}",
            random.randint(2, 30) * GIB,
            random.choice([*kinds.values()]),
        )
        there = [each for each in spots if kinds[each] == kind]
        random.shuffle(there)
        if maybe(90):  # else two may be on one node
            there = [*{spots[each]: each for each in there}.values()]
        there = sorted(there, key=lambda each: each if maybe(60) else "z")[: random.randint(1, 3)]
        locality = random.choice([Locality.DISABLED, *Locality])
        there = there[:1] if locality is Locality.STRICT_LOCAL else there
        of = volume(
            name, size_bytes=size, actual_bytes=random.randint(0, size), locality=locality,
            disk_type=kind, replicas=len(there), node=spots[there[0]], attached_to=spots[there[0]],
            healthy=maybe(90), soft=random.choice([None, None, True, False]),
            disk_selector=["fast"] if maybe(10) else [], node_selector=["big"] if maybe(10) else [],
        )  # fmt: skip
        volumes.append(structs.replace(of, auto_balance=random.choice([None, "best-effort"])))
        for each in there:
            copies.append(
                replica(f"{name}-{each}", of=name, on=spots[each], disk=each, size_bytes=size)
            )
            listed[each][f"{name}-{each}"] = size
            written[each] += of.actual_bytes
    disks: dict[str, list[Disk]] = {}
    for each, on in spots.items():
        size = random.choice([60, 100, 100, 160]) * GIB
        disks.setdefault(on, []).append(
            disk(
                each, type_=kinds[each], tags=["fast"] if maybe(40) else [], maximum_bytes=size,
                allow_scheduling=maybe(90), reserved_bytes=random.choice([0, 0, 10 * GIB]),
                available_bytes=size - written[each], listed=listed[each],
            )
        )  # fmt: skip
    nodes = [
        node(
            name, *there, zone=random.choice(["", "a", "b", "c"]), schedulable=maybe(92),
            tags=["big"] if maybe(60) else [],
        )
        for name, there in disks.items()
    ]  # fmt: skip
    return [*nodes, *volumes, *copies], rules


def settings_of(rules: Rules) -> list[Setting]:
    values = {
        "storage-over-provisioning-percentage": str(rules.over),
        "storage-minimal-available-percentage": str(rules.least),
        "replica-soft-anti-affinity": str(rules.node_soft).lower(),
        "replica-zone-soft-anti-affinity": str(rules.zone_soft).lower(),
        "replica-disk-soft-anti-affinity": str(rules.disk_soft).lower(),
    }
    return [setting(name, value) for name, value in values.items()]


def bare(world: World) -> World:
    """Leave out of the figures of disks what replicas have written: `written` adds it."""
    world.disks = {
        at: structs.replace(each, available_bytes=each.available_bytes + world.written(at))
        for at, each in world.disks.items()
    }
    return world


def played(world: World, moves: Sequence[Move]) -> World:
    """Make moves as their commands do, and look at each moment."""
    before = world.levels()
    for move in moves:
        at = (move.target.node, move.target.disk)
        assert world.allows(move.replica, at)
        wanted = move.volume.wanted_replicas
        assert len(world.of(move.volume)) == wanted == move.meanwhile.wanted_replicas - 1
        assert move.meanwhile.locality is Locality.DISABLED
        assert world.choice(move.meanwhile, {at: move.tags}) == {at}
        world = world.moved(move.replica, at, f"{move.replica.name}-moved")
        assert len(world.of(move.volume)) == wanted + 1
        assert world.is_no_worse_than(before)
        del world.copies[move.replica.name]
        assert len(world.of(move.volume)) == wanted
        assert world.is_no_worse_than(before)
    return world


@pytest.mark.parametrize("seed", range(CLUSTERS))
def test_moves_keep_longhorns_rules_and_are_nearly_the_best(seed):
    records, rules = made(seed)
    view = view_of(*records, *settings_of(rules))
    world = bare(World(records, rules))

    after = played(world, [*rebalanced(view, Goal(most_moves=MOVES))])

    assert float(after.levels()[0]) <= 1.1 * float(world.best_after(MOVES))
    level = 0.8 * float(world.levels()[0])
    moves = [*rebalanced(view, Goal(most_moves=6, below=level))]
    highest = [float(played(world, moves[:most]).levels()[0]) for most in range(len(moves) + 1)]
    assert all(each > level for each in highest[:-1])  # none is one too many


VOLUME = volume(
    size_bytes=30 * GIB, actual_bytes=7 * GIB, locality=Locality.DISABLED, node="n1",
    attached_to="n1", healthy=True,
)  # fmt: skip
REPLICA = replica(on="n1", disk="d1", size_bytes=30 * GIB, started=True)


def moves_of(*others: Any, **changed: Any) -> list[Move]:
    """Plan one move, from a disk that is 60 % full to an empty one."""
    of_replica = {name: changed.pop(name) for name in ("failed", "evicting") if name in changed}
    full, free = (
        disk("d1", listed={"vol-r-1": 30 * GIB, "other": 30 * GIB}),
        disk("d2", tags=changed.pop("tags", ())),
    )
    nodes = [node("n1", full), node("n2", free, ready=changed.pop("ready", True))]
    of = structs.replace(VOLUME, **changed)
    view = view_of(*nodes, of, structs.replace(REPLICA, **of_replica), *others)
    return [*rebalanced(view, Goal(most_moves=1))]


@pytest.mark.parametrize(
    "changed",
    [
        {"locality": Locality.STRICT_LOCAL},
        {"locality": Locality.BEST_EFFORT},
        {"healthy": False, "attached_to": None, "node": None},
        {"healthy": False, "degraded": True},
        {"copying": True},
        {"standby": True},
        {"size_bytes": 40 * GIB},
        {"linked_to": "other"},
        {"failed": True},
        {"evicting": True},
        {"ready": False},
        {"others": [setting("concurrent-replica-rebuild-per-node-limit", "0")]},
        {"others": [setting("replica-soft-anti-affinity", "abc")]},
    ],
    ids=str,
)
def test_a_replica_stays(changed):
    assert not moves_of(*changed.pop("others", ()), **changed)


def test_what_is_copied_is_what_is_written_and_the_backing_image():
    image = backing_image(size_bytes=2 * GIB)

    assert [(each.copied_bytes, each.is_nominal) for each in moves_of()] == [(7 * GIB, False)]
    assert [each.is_nominal for each in moves_of(actual_bytes=0)] == [True]
    [move] = moves_of(image, backing_image="image")
    assert move.copied_bytes == 9 * GIB


def test_a_tag_that_was_left_behind_is_not_used_again():
    version = setting("current-longhorn-version", "v1.10.1")  # it takes another disk than v1.11

    assert [each.tags for each in moves_of()] == [()]
    assert [each.tags for each in moves_of(version)] == [("rebalance",)]
    assert [each.tags for each in moves_of(version, tags=["rebalance"])] == [("rebalance-2",)]
