"""Other ways to the same verdict: trying everything, and CP-SAT; and a check of assignments."""

from collections.abc import Callable, Sequence
from itertools import product
from random import Random

from msgspec.structs import replace
from ortools.sat.python import cp_model

from packing import Bin, BinId, Item, ItemId

ORACLE_SECONDS = 60.0
ENOUGH_STEPS = 1_000_000

Instance = tuple[list[Item], list[Bin]]
Family = Callable[[Random], Instance]


def is_valid(assignment: dict[ItemId, BinId], items: Sequence[Item], bins: Sequence[Bin]) -> bool:
    """Say whether the assignment places every item once, in a kind it may use, within all rooms."""
    by_id = {bin_.id: bin_ for bin_ in bins}
    if set(assignment) != {item.id for item in items}:
        return False
    inside: dict[BinId, list[Item]] = {}
    for item in items:
        inside.setdefault(assignment[item.id], []).append(item)
    return all(
        all(by_id[bin_id].kind in item.kinds for item in some)
        and sum(item.logical_bytes for item in some) <= by_id[bin_id].logical_bytes
        and sum(item.physical_bytes for item in some) <= by_id[bin_id].physical_bytes
        for bin_id, some in inside.items()
    )


def is_feasible_by_trying_all(items: Sequence[Item], bins: Sequence[Bin]) -> bool:
    """Try every assignment, item by item, over the rooms that can be reached."""
    states = {tuple((bin_.logical_bytes, bin_.physical_bytes) for bin_ in bins)}
    for item in items:
        states = {
            (
                *state[:index],
                (logical - item.logical_bytes, physical - item.physical_bytes),
                *state[index + 1 :],
            )
            for state, (index, bin_) in product(states, enumerate(bins))
            for logical, physical in [state[index]]
            if bin_.kind in item.kinds
            and logical >= item.logical_bytes
            and physical >= item.physical_bytes
        }
    return bool(states)


def is_feasible_by_cp_sat(items: Sequence[Item], bins: Sequence[Bin]) -> bool:
    """Ask CP-SAT, single-threaded. Negative rooms are left out, as they take nothing."""
    usable = [bin_ for bin_ in bins if min(bin_.logical_bytes, bin_.physical_bytes) >= 0]
    model = cp_model.CpModel()
    chosen = {
        (item.id, bin_.id): model.new_bool_var("")
        for item in items
        for bin_ in usable
        if bin_.kind in item.kinds
    }
    for item in items:
        model.add_exactly_one(chosen[pair] for pair in chosen if pair[0] == item.id)
    for bin_ in usable:
        inside = [(item, chosen[item.id, bin_.id]) for item in items if bin_.kind in item.kinds]
        model.add(sum(item.logical_bytes * var for item, var in inside) <= bin_.logical_bytes)
        model.add(sum(item.physical_bytes * var for item, var in inside) <= bin_.physical_bytes)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_time_in_seconds = ORACLE_SECONDS
    status = solver.solve(model)
    assert status in (cp_model.OPTIMAL, cp_model.INFEASIBLE), solver.status_name(status)
    return bool(status == cp_model.OPTIMAL)


def small_instance(random: Random) -> Instance:
    """Draw up to 5 items and 4 bins, with sizes so small that both verdicts are frequent."""
    top = random.choice([3, 6, 12])
    kinds = random.randint(1, 3)
    physical_top = random.choice([0, top, top])
    items = [
        Item(
            f"item-{number}",
            random.randint(0, top),
            random.randint(0, physical_top),
            frozenset(random.sample(range(kinds), random.randint(1, kinds))),
        )
        for number in range(random.randint(0, 5))
    ]
    bins = [
        Bin(
            f"bin-{number}",
            random.randrange(kinds),
            random.randint(-1, 2 * top),
            random.randint(-1, 2 * top),
        )
        for number in range(random.randint(0, 4))
    ]
    return items, bins


def medium_instance(random: Random) -> Instance:
    """Draw up to 14 items for up to 8 bins that have just about the room asked for."""
    kinds = random.choice([1, 1, 2, 3])
    top = random.choice([6, 30, 1000, 10**12])
    counts = random.choice([(10, 5), (12, 6), (14, 8), (14, 5), (9, 3)])
    items = [
        Item(
            f"item-{number}",
            random.randint(top // 6, top),
            random.randint(0, top) * random.choice([0, 1, 1]),
            frozenset(random.sample(range(kinds), random.randint(1, kinds))),
        )
        for number in range(counts[0])
    ]
    percent = random.randint(100, 150)
    logical = sum(item.logical_bytes for item in items) * percent // 100 // counts[1]
    physical = sum(item.physical_bytes for item in items) * percent // 100 // counts[1]
    spread = random.choice([0, 10, 40])
    bins = [
        Bin(
            f"bin-{number}",
            random.randrange(kinds),
            logical * random.randint(100 - spread, 100 + spread) // 100,
            physical * random.randint(100 - spread, 100 + spread) // 100,
        )
        for number in range(counts[1])
    ]
    return items, bins


def planted_instance(random: Random) -> Instance:
    """Cut up to 6 bins into up to 3 pieces each, then mostly move a little between some pieces."""
    top = random.choice([12, 40, 10**3, 10**12])
    kinds = random.choice([1, 1, 2])
    physical_top = random.choice([0, top])
    bins = [
        Bin(f"bin-{n}", random.randrange(kinds), random.randint(top // 2, top), physical_top)
        for n in range(random.randint(3, 6))
    ]
    items: list[Item] = []
    for bin_ in bins:
        logical, physical = bin_.logical_bytes, bin_.physical_bytes
        parts = random.randint(1, 3)
        for rest in range(parts, 0, -1):
            size = random.randint(0, logical) if rest > 1 else logical
            weight = random.randint(0, physical) if rest > 1 else physical
            logical, physical = logical - size, physical - weight
            allowed = frozenset({bin_.kind, random.randrange(kinds)})
            items.append(Item(f"item-{len(items)}", size, weight, allowed))
    for _ in range(random.choice([0, 1, 2, 4])):
        give, take = random.sample(range(len(items)), 2)
        change = min(items[give].logical_bytes, random.randint(1, 3))
        items[give] = replace(items[give], logical_bytes=items[give].logical_bytes - change)
        items[take] = replace(items[take], logical_bytes=items[take].logical_bytes + change)
    return items, bins


def repeated_instance(random: Random) -> Instance:
    """Draw up to 14 items of four sizes for up to 6 bins of two, with next to no room to spare."""
    top = random.choice([5, 9, 20])
    physical_top = random.choice([1, top])
    sizes = [(random.randint(1, top), random.randint(1, physical_top)) for _ in range(4)]
    chosen = [random.choice(sizes) for _ in range(random.randint(8, 14))]
    items = [Item(f"item-{n}", *size, frozenset({0})) for n, size in enumerate(chosen)]
    bin_count = random.randint(3, 6)
    percent = random.randint(100, 112)
    rooms = [
        tuple(
            sum(size[dimension] for size in chosen) * percent // 100 // bin_count + change
            for dimension in (0, 1)
        )
        for change in (0, random.randint(0, 2))
    ]
    return items, [Bin(f"bin-{n}", 0, *rooms[n % 2]) for n in range(bin_count)]
