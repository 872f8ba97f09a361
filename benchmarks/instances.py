"""Seeded packing instances: everyday ones, and families built to be hard to decide."""

from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple

from packing import Bin, Item

MI_BYTES = 2**20
GI_BYTES = 2**30
STEP_BYTES = 2 * MI_BYTES  # volume sizes are multiples of this
ITEM_COUNT = 24
BIN_COUNT = 12
ONE_KIND = frozenset({0})

Size = tuple[int, int]  # logical and physical bytes


class Instance(NamedTuple):
    items: tuple[Item, ...]
    bins: tuple[Bin, ...]


def everyday(random: Random) -> Instance:
    """Draw up to eight volumes on up to eight disks, half the room to a little too much asked."""
    kinds = random.choice([1, 1, 1, 2, 3])
    bins = [
        (
            random.randrange(kinds),
            (random.randint(50, 500) * GI_BYTES, random.randint(50, 400) * GI_BYTES),
        )
        for _ in range(random.randint(1, 8))
    ]
    room = sum(size[0] for _, size in bins) * random.randint(50, 105) // 100
    count = random.randint(min(len(bins), 4), 8)
    parts = _even_cut(random, room, count)
    sizes = [(part, part * random.randint(0, 60) // 100) for part in parts]
    return _instance([(size, _some_kinds(random, kinds)) for size in sizes], bins)


def hot_path(random: Random) -> Instance:
    """Draw the commonest call: four volumes, ten disks of one kind, and room enough."""
    sizes = [(random.randint(5, 50) * GI_BYTES, 0) for _ in range(4)]
    bins = [
        (0, (random.randint(60, 500) * GI_BYTES, random.randint(60, 400) * GI_BYTES))
        for _ in range(10)
    ]
    return _one_kind(sizes, [size for _, size in bins])


def stranded(random: Random) -> Instance:
    """Draw the commonest rejection: ten disks of one kind, and one volume of four too large."""
    items, bins = hot_path(random)
    large = Item("large", 1000 * GI_BYTES, 0, ONE_KIND)
    return Instance((*items[:3], large), bins)


def thirds(random: Random) -> Instance:
    """Draw sizes just above a third of a bin, and fillers."""
    return _just_above(random, parts=3)


def quarters(random: Random) -> Instance:
    """Draw sizes just above a quarter of a bin, and fillers."""
    return _just_above(random, parts=4)


def exact(random: Random) -> Instance:
    """Cut full bins into pieces: feasible with nothing to spare in either dimension."""
    bins = _bin_sizes(random)
    return _one_kind(_pieces(random, bins, grain_bytes=_grain(random)), bins)


def broken(random: Random) -> Instance:
    """Cut full bins, then move a byte or 2 MiB between two pieces: the sums still agree."""
    bins = _bin_sizes(random)
    pieces = _pieces(random, bins, grain_bytes=_grain(random))
    change_bytes = random.choice([1, STEP_BYTES])
    for dimension in random.choice([(0,), (1,), (0, 1)]):
        give, take = random.sample(range(len(pieces)), 2)
        if pieces[give][dimension] > change_bytes:
            pieces[give] = _changed(pieces[give], dimension, -change_bytes)
            pieces[take] = _changed(pieces[take], dimension, change_bytes)
    return _one_kind(pieces, bins)


def spare(random: Random) -> Instance:
    """Cut full bins, then make up to half the pieces a little smaller or larger."""
    bins = _bin_sizes(random)
    pieces = _pieces(random, bins, grain_bytes=_grain(random))
    for index in random.sample(range(len(pieces)), len(pieces) // 2):
        change_bytes = random.choice([-3, -2, -1, 1]) * STEP_BYTES
        pieces[index] = _changed(pieces[index], random.randint(0, 1), change_bytes)
    return _one_kind(pieces, bins)


def parity(random: Random) -> Instance:
    """Draw even sizes for odd bins: every bin loses a little, more than there is to spare."""
    bins = [(2 * random.randint(40, 60) + 1, 10**6) for _ in range(BIN_COUNT)]
    room = sum(logical for logical, _ in bins) // 2 - random.choice([0, 2, BIN_COUNT // 2])
    return _one_kind([(2 * part, 0) for part in _even_cut(random, room, ITEM_COUNT)], bins)


def triples(random: Random) -> Instance:
    """Draw three pieces a bin, each between a quarter and a half of it, sometimes disturbed."""
    unit_bytes = random.choice([1, GI_BYTES])
    whole = random.choice([100, 1000, 10**6]) * unit_bytes
    pieces: list[int] = []
    for _ in range(ITEM_COUNT // 3):
        first = random.randint(whole // 4 + 1, whole * 3 // 8)
        second = random.randint(whole // 4 + 1, whole * 3 // 8)
        pieces += [first, second, whole - first - second]
    for _ in range(random.choice([0, 1, 4])):
        give, take = random.sample(range(len(pieces)), 2)
        pieces[give] -= unit_bytes
        pieces[take] += unit_bytes
    return _one_kind([(piece, 0) for piece in pieces], [(whole, whole)] * (ITEM_COUNT // 3))


def conflict(random: Random) -> Instance:
    """Draw items large in one dimension and small in the other, for nearly no spare room."""
    whole = 1000 * random.choice([1, STEP_BYTES])
    sizes = []
    for index in range(ITEM_COUNT):
        large, small = random.randint(45, 75), random.randint(15, 45)
        pair = (large, small) if index % 2 else (small, large)
        sizes.append((pair[0] * whole // 100, pair[1] * whole // 100))
    need = max(sum(logical for logical, _ in sizes), sum(physical for _, physical in sizes))
    bin_count = need * random.randint(100, 115) // 100 // whole + 1
    return _one_kind(sizes, [(whole, whole)] * bin_count)


def chains(random: Random) -> Instance:
    """Draw items that may use two neighbouring kinds of bins, and nearly all of their room."""
    kinds = 6
    bins = [(index % kinds, size) for index, size in enumerate(_bin_sizes(random))]
    pieces = _owned_pieces(random, [size for _, size in bins], grain_bytes=_grain(random))
    loss_bytes = random.choice([0, 0, STEP_BYTES])
    items = []
    for owner, piece in pieces:
        kind = bins[owner][0]
        step = random.choice([-1, 0, 1]) if random.random() < 0.9 else 2
        near = (kind + step) % kinds
        smaller = (max(0, piece[0] - loss_bytes), piece[1])
        items.append((smaller, frozenset({kind if random.random() < 0.8 else near, near})))
    return _instance(items, bins)


def equal_bins(random: Random) -> Instance:
    """Draw random sizes for many equal bins, 90 to 100 percent of the room asked for."""
    whole = random.choice([20, 100, 1000 * GI_BYTES])
    room = BIN_COUNT * whole * random.randint(90, 100) // 100
    logical = _even_cut(random, room, ITEM_COUNT)
    physical = _even_cut(random, room * random.choice([50, 100]) // 100, ITEM_COUNT)
    return _one_kind(list(zip(logical, physical, strict=True)), [(whole, whole)] * BIN_COUNT)


def nearly_full(random: Random) -> Instance:
    """Draw random sizes for different bins, 94 to 100 percent of the room asked for."""
    bins = [
        (random.randint(10, 300) * GI_BYTES, random.randint(10, 300) * GI_BYTES)
        for _ in range(BIN_COUNT)
    ]
    percent = random.randint(94, 100)
    logical = _even_cut(random, sum(size[0] for size in bins) * percent // 100, ITEM_COUNT)
    physical = _even_cut(random, sum(size[1] for size in bins) * percent // 200, ITEM_COUNT)
    return _one_kind(list(zip(logical, physical, strict=True)), bins)


def one_dimension(random: Random) -> Instance:
    """Draw 24 sizes for 8 bins with one or two percent to spare; physical room is ample."""
    whole = random.choice([50, 1000, 10**6])
    bins = [(whole + random.choice([0, 0, 1, 7]), 10**9) for _ in range(8)]
    room = sum(size[0] for size in bins) * random.choice([98, 99, 100]) // 100
    return _one_kind([(part, 0) for part in _even_cut(random, room, ITEM_COUNT)], bins)


def tagged(random: Random) -> Instance:
    """Draw sizes of random kinds for nearly full bins of four kinds."""
    kinds = 4
    bins = [(random.randrange(kinds), size) for size in _bin_sizes(random)]
    items = []
    for owner, piece in _owned_pieces(random, [size for _, size in bins], grain_bytes=MI_BYTES):
        smaller = piece[0] * 97 // 100, piece[1] * random.choice([97, 90, 50]) // 100
        kind = bins[owner][0] if random.random() < 0.93 else random.randrange(kinds)
        items.append((smaller, frozenset({kind, random.randrange(kinds)})))
    return _instance(items, bins)


ADVERSARIAL: dict[str, Callable[[Random], Instance]] = {
    function.__name__: function
    for function in (
        thirds,
        quarters,
        exact,
        broken,
        spare,
        parity,
        triples,
        conflict,
        chains,
        equal_bins,
        nearly_full,
        one_dimension,
        tagged,
    )
}


def draw(family: Callable[[Random], Instance], count: int, *, seed: int) -> list[Instance]:
    """Return *count* instances of a family, the same ones for the same seed."""
    return [family(Random(f"{family.__name__} {seed} {number}")) for number in range(count)]


def _just_above(random: Random, *, parts: int) -> Instance:
    whole = random.choice([120, 1200 * GI_BYTES])
    bin_count = random.randint(3, ITEM_COUNT // (parts - 1))
    bin_count = min(bin_count, BIN_COUNT)
    large_count = min(ITEM_COUNT, (parts - 1) * bin_count + random.choice([-2, -1, 0, 0, 1]))
    above = max(1, whole // 60)
    sizes = [whole // parts + random.randint(1, above) for _ in range(large_count)]
    room = bin_count * whole - sum(sizes)
    if large_count < ITEM_COUNT and room > ITEM_COUNT:
        fillers = ITEM_COUNT - large_count
        sizes += _cut(random, room * random.randint(85, 100) // 100, fillers, 1)
    return _one_kind([(size, size // 3) for size in sizes], [(whole, whole)] * bin_count)


def _bin_sizes(random: Random) -> list[Size]:
    if random.random() < 0.5:
        return [(200 * GI_BYTES, 150 * GI_BYTES)] * BIN_COUNT
    return [
        (random.randint(50, 400) * GI_BYTES, random.randint(50, 400) * GI_BYTES)
        for _ in range(BIN_COUNT)
    ]


def _grain(random: Random) -> int:
    return random.choice([1, STEP_BYTES, GI_BYTES, 10 * GI_BYTES])


def _pieces(random: Random, bins: Sequence[Size], *, grain_bytes: int) -> list[Size]:
    return [piece for _, piece in _owned_pieces(random, bins, grain_bytes=grain_bytes)]


def _owned_pieces(
    random: Random, bins: Sequence[Size], *, grain_bytes: int
) -> list[tuple[int, Size]]:
    """Cut every bin into one piece or more, each with the index of its bin."""
    counts = [2] * len(bins)
    for _ in range(len(bins) // 2):  # some bins hold one piece, some three
        give, take = random.sample(range(len(bins)), 2)
        if counts[give] > 1:
            counts[give] -= 1
            counts[take] += 1
    return [
        (owner, piece)
        for owner, (count, (logical, physical)) in enumerate(zip(counts, bins, strict=True))
        for piece in zip(
            _cut(random, logical, count, grain_bytes),
            _cut(random, physical, count, grain_bytes),
            strict=True,
        )
    ]


def _cut(random: Random, whole: int, count: int, grain: int) -> list[int]:
    """Cut *whole* into *count* parts of one grain or more; all but one are multiples of it."""
    grains = max(count, whole // grain)
    cuts = (
        sorted(random.sample(range(1, grains), count - 1))
        if grains > count
        else list(range(1, count))
    )
    parts = [
        (after - before) * grain for before, after in zip([0, *cuts], [*cuts, grains], strict=True)
    ]
    parts[-1] = max(0, parts[-1] + whole - grains * grain)
    return parts


def _even_cut(random: Random, whole: int, count: int) -> list[int]:
    """Cut *whole* into *count* parts of a third to one and two thirds of the mean."""
    weights = [random.randint(100, 500) for _ in range(count)]
    parts = [whole * weight // sum(weights) for weight in weights]
    parts[0] += whole - sum(parts)
    return parts


def _changed(size: Size, dimension: int, change_bytes: int) -> Size:
    logical, physical = size
    if dimension == 0:
        return max(0, logical + change_bytes), physical
    return logical, max(0, physical + change_bytes)


def _some_kinds(random: Random, kinds: int) -> frozenset[int]:
    return frozenset(random.sample(range(kinds), random.randint(1, kinds)))


def _one_kind(sizes: Sequence[Size], bins: Sequence[Size]) -> Instance:
    return _instance([(size, ONE_KIND) for size in sizes], [(0, size) for size in bins])


def _instance(
    items: Sequence[tuple[Size, frozenset[int]]], bins: Sequence[tuple[int, Size]]
) -> Instance:
    return Instance(
        tuple(
            Item(f"item-{n}", logical, physical, kinds)
            for n, ((logical, physical), kinds) in enumerate(items)
        ),
        tuple(
            Bin(f"bin-{n}", kind, logical, physical)
            for n, (kind, (logical, physical)) in enumerate(bins)
        ),
    )
