"""Small instances of the joint search: replicas to find nodes for, and nodes of one to three disks.

They have just about the room asked for, so that both verdicts are frequent.
"""

from collections.abc import Callable, Mapping, Sequence
from random import Random

import msgspec

from extender.forecast.joint import Piece, Room, Search
from longhorn import NodeName, VolumeName
from packing import Bin, Infeasible, Item, Undecided, pack

ENOUGH_STEPS = 1_000_000
SIZES = (1, 2, 2, 3, 5)


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """A node: its zone, its disks, and what stays on them."""

    zone: str
    bins: tuple[Bin, ...]
    staying: tuple[Item, ...] = ()

    @property
    def room(self) -> Room:
        """What the search is told of it."""
        free = sum(bin_.logical_bytes for bin_ in self.bins)
        return Room(
            zone=self.zone,
            free_bytes=free - sum(item.logical_bytes for item in self.staying),
            takes=self._takes,
        )

    def _takes(self, items: Sequence[Item]) -> bool:
        outcome = pack([*self.staying, *items], self.bins, step_limit=ENOUGH_STEPS)
        assert not isinstance(outcome, Undecided)
        return not isinstance(outcome, Infeasible)


class Instance(msgspec.Struct, frozen=True, kw_only=True):
    """Replicas to find nodes for."""

    pieces: tuple[Piece, ...]
    hosts: Mapping[NodeName, Host]

    def search(self, *, step_limit: int = ENOUGH_STEPS) -> Search:
        """Return a search that was not run yet."""
        rooms = {name: host.room for name, host in self.hosts.items()}
        return Search(self.pieces, rooms, step_limit=step_limit)


def draw_instance(random: Random) -> Instance:
    """Draw one to five volumes of up to three replicas for two to six nodes in up to three zones.

    The replicas of a volume are mostly alike.
    """
    names = [NodeName(f"node-{number}") for number in range(random.randint(2, 6))]
    zones = random.choice(["a", "ab", "abc"])
    pieces = tuple(
        piece
        for number in range(random.randint(1, 5))
        for piece in _draw_volume(random, VolumeName(f"vol-{number}"), names)
    )
    asked = sum(piece.item.logical_bytes for piece in pieces)
    most = max(1, asked * random.randint(80, 180) // 100 // len(names))
    hosts = {
        name: Host(
            zone=random.choice(zones),
            bins=tuple(
                Bin(f"disk-{number}", random.choice([0, 0, 0, 1]), size, random.choice([2, 9, 9]))
                for number, size in enumerate(_split(random, most + random.randint(0, 3)))
            ),
        )
        for name in names
    }
    return Instance(
        pieces=tuple(random.sample(pieces, len(pieces))),
        hosts={name: _draw_staying(random, host) for name, host in hosts.items()},
    )


def outcomes(count: int = 60) -> str:
    """Return what the search finds in some instances, also where it is cut short."""
    random = Random(2)
    found = []
    for _ in range(count):
        instance = draw_instance(random)
        for step_limit in (20, ENOUGH_STEPS):
            search = instance.search(step_limit=step_limit)
            found.append((search.run(), search.steps, search.is_cut_short))
    return repr(found)


def _draw_volume(random: Random, name: VolumeName, names: list[NodeName]) -> list[Piece]:
    apart, zones_apart = random.choice([(True, False), (True, True), (False, False)])
    draw_one: Callable[[], Piece] = lambda: Piece(  # noqa: E731
        volume=name,
        item=Item(
            "replica",
            random.choice(SIZES),
            random.choice([0, 0, 1]),
            random.choice([frozenset({0}), frozenset({0, 1})]),
        ),
        nodes=tuple(random.sample(names, random.randint((len(names) + 1) // 2, len(names)))),
        apart=apart,
        zones_apart=zones_apart,
    )
    count = random.randint(1, 3)
    if random.random() < 0.2:
        return [draw_one() for _ in range(count)]
    return [draw_one()] * count


def _draw_staying(random: Random, host: Host) -> Host:
    """Let something stay on three in ten nodes, if it fits there."""
    staying = (Item("staying", random.randint(1, 2), 0, frozenset({0, 1})),)
    fuller = msgspec.structs.replace(host, staying=staying)
    return fuller if random.random() < 0.3 and fuller.room.takes([]) else host


def _split(random: Random, room: int) -> list[int]:
    """Cut a room into up to three disks."""
    cuts = sorted(random.randint(0, room) for _ in range(random.choice([0, 0, 1, 2])))
    return [high - low for low, high in zip([0, *cuts], [*cuts, room], strict=True)]
