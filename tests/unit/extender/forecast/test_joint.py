"""The exact search for room for several replicas: against CP-SAT, and what its limit does."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from random import Random

import pytest
from msgspec.structs import replace
from ortools.sat.python import cp_model

from extender.forecast.joint import PACKING_STEPS, Piece, Room, Search
from longhorn import NodeName, VolumeName
from packing import Item
from tests.unit.extender.forecast.instances import (
    ENOUGH_STEPS,
    Instance,
    draw_instance,
    outcomes,
)
from tests.unit.packing.oracles import is_feasible_by_trying_all

COUNT = 600
A, B, C = NodeName("a"), NodeName("b"), NodeName("c")
Found = Mapping[Piece, Sequence[NodeName]]


def is_feasible_by_cp_sat(instance: Instance) -> bool:
    """Ask CP-SAT: each replica on one disk, the disks of all nodes in one model."""
    model = cp_model.CpModel()
    of_piece: dict[tuple[int, NodeName], list[cp_model.IntVar]] = {}
    for name, host in instance.hosts.items():
        movable = [(index, each.item) for index, each in enumerate(instance.pieces)]
        movable = [(index, item) for index, item in movable if name in instance.pieces[index].nodes]
        inside = [
            ((index, bin_), item, model.new_bool_var(""))
            for index, item in [*movable, *((-1 - n, item) for n, item in enumerate(host.staying))]
            for bin_ in host.bins
            if bin_.kind in item.kinds
        ]
        for bin_ in host.bins:
            here = [(item, var) for (_, on), item, var in inside if on is bin_]
            model.add(sum(item.logical_bytes * var for item, var in here) <= bin_.logical_bytes)
            model.add(sum(item.physical_bytes * var for item, var in here) <= bin_.physical_bytes)
        for (index, _), _, var in inside:
            of_piece.setdefault((index, name), []).append(var)
        for number in range(len(host.staying)):
            model.add_exactly_one(of_piece.pop((-1 - number, name), []))
    for index in range(len(instance.pieces)):
        model.add_exactly_one(
            v for (piece, _), some in of_piece.items() if piece == index for v in some
        )
    for volume in {each.volume for each in instance.pieces}:
        own = [index for index, each in enumerate(instance.pieces) if each.volume == volume]
        first = instance.pieces[own[0]]
        for together in [{name} for name in instance.hosts if first.apart] + [
            {name for name, host in instance.hosts.items() if host.zone == zone}
            for zone in {host.zone for host in instance.hosts.values()}
            if first.zones_apart
        ]:
            pairs = [(index, name) for index in own for name in together]
            model.add_at_most_one(v for pair in pairs for v in of_piece.get(pair, ()))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    status = solver.solve(model)
    assert status in (cp_model.OPTIMAL, cp_model.INFEASIBLE), solver.status_name(status)
    return bool(status == cp_model.OPTIMAL)


def is_valid(found: Found, instance: Instance) -> bool:
    """Say whether each replica has a node that it may go to, and every node takes all of its."""
    placed = [(piece, name) for piece, names in found.items() for name in names]
    if Counter(piece for piece, _ in placed) != Counter(instance.pieces):
        return False
    zones = {name: host.zone for name, host in instance.hosts.items()}
    return (
        all(name in piece.nodes for piece, name in placed)
        and not any(
            (piece.apart and one == other) or (piece.zones_apart and zones[one] == zones[other])
            for (piece, one), (another, other) in combinations(placed, 2)
            if piece.volume == another.volume
        )
        and all(
            is_feasible_by_trying_all(
                [*host.staying, *(piece.item for piece, on in placed if on == name)], host.bins
            )
            for name, host in instance.hosts.items()
            if any(on == name for _, on in placed)
        )
    )


def test_verdicts_are_those_of_cp_sat_and_what_is_found_is_valid() -> None:
    random, verdicts = Random(1), Counter[bool]()
    for _ in range(COUNT):
        instance = draw_instance(random)
        search = instance.search()

        found = search.run()

        assert not search.is_cut_short
        assert (found is not None) is is_feasible_by_cp_sat(instance), instance
        assert found is None or is_valid(found, instance), instance
        verdicts[found is not None] += 1
    assert min(verdicts.values()) > COUNT // 4, verdicts


def test_the_limit_bounds_the_work_and_never_changes_a_proof() -> None:
    random, cut_short = Random(3), 0
    for _ in range(COUNT):
        instance = draw_instance(random)
        limit = random.randint(0, 60)
        search, full = instance.search(step_limit=limit), instance.search()

        found = search.run()

        assert search.steps <= limit
        assert found is None if search.is_cut_short else found == full.run()
        cut_short += search.is_cut_short
    assert COUNT // 4 < cut_short < COUNT * 3 // 4


@pytest.mark.parametrize("limit", [0, 1, 2 * (PACKING_STEPS + 1)])
def test_a_search_that_is_cut_short_says_so(limit: int) -> None:
    search = Search(pieces_of(3), rooms_of(1, 1, 1), step_limit=limit)

    assert search.run() is None
    assert search.is_cut_short
    assert search.steps <= limit


def test_choosing_nodes_counts_as_well_as_packing() -> None:
    """Each node takes three of 19 equal replicas: few packings, and many ways to choose."""
    names = [NodeName(f"node-{number}") for number in range(6)]
    room = Room(zone="", free_bytes=9, takes=lambda items: len(items) <= 3)
    pieces = [piece for n in range(19) for piece in pieces_of(1, volume=f"v-{n}", nodes=names)]
    search = Search(pieces, dict.fromkeys(names, room), step_limit=1_000)

    assert search.run() is None
    assert search.is_cut_short


def test_order_of_pieces_and_rooms_does_not_change_the_verdict() -> None:
    random = Random(4)
    for _ in range(COUNT // 4):
        instance = draw_instance(random)
        hosts = [*instance.hosts.items()]
        shuffled = replace(
            instance,
            pieces=tuple(random.sample(instance.pieces, len(instance.pieces))),
            hosts=dict(random.sample(hosts, len(hosts))),
        )

        assert (shuffled.search().run() is None) is (instance.search().run() is None)


def test_the_same_input_gives_the_same_nodes_in_another_process() -> None:
    program = "from tests.unit.extender.forecast.instances import outcomes; print(outcomes())"

    printed = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.rstrip("\n")
        for seed in ("1", "2")
    ]

    assert printed == [outcomes()] * 2


def pieces_of(
    count: int, *, volume: str = "vol", nodes: Sequence[NodeName] = (A, B, C)
) -> list[Piece]:
    """Build the replicas of a volume, of one byte each."""
    item = Item("replica", 1, 0, frozenset({0}))
    return [Piece(volume=VolumeName(volume), item=item, nodes=tuple(nodes))] * count


def rooms_of(*bytes_: int, zones: str = "xyz") -> dict[NodeName, Room]:
    """Build nodes a, b and c, of one disk each."""
    return {
        name: Room(
            zone=zone,
            free_bytes=free,
            takes=lambda items, free=free: sum(i.logical_bytes for i in items) <= free,  # type: ignore[misc]
        )
        for name, zone, free in zip((A, B, C), zones, bytes_, strict=True)
    }


def test_the_first_node_that_it_may_go_to_is_taken() -> None:
    pieces = pieces_of(2, nodes=(C, A, B))

    assert Search(pieces, rooms_of(9, 9, 9), step_limit=ENOUGH_STEPS).run() == {pieces[0]: [C, A]}


def test_nothing_finds_room_at_once() -> None:
    assert Search([], {}, step_limit=0).run() == {}


@pytest.mark.parametrize(
    ("flags", "zones", "expected"),
    [
        pytest.param((False, False), "xxx", [A, A], id="together"),
        pytest.param((True, False), "xxx", [A, B], id="apart"),
        pytest.param((True, True), "xxy", [A, C], id="zones-apart"),
        pytest.param((True, True), "xxx", None, id="too-few-zones"),
    ],
)
def test_what_replicas_of_one_volume_share(
    flags: tuple[bool, bool], zones: str, expected: list[NodeName] | None
) -> None:
    piece = replace(pieces_of(1)[0], apart=flags[0], zones_apart=flags[1])

    found = Search([piece, piece], rooms_of(9, 9, 9, zones=zones), step_limit=ENOUGH_STEPS).run()

    assert found == (None if expected is None else {piece: expected})


def test_replicas_of_other_volumes_do_not_matter() -> None:
    pieces = [
        replace(each, zones_apart=True) for name in "vw" for each in pieces_of(1, volume=name)
    ]

    found = Search(pieces, rooms_of(9, 9, 9), step_limit=ENOUGH_STEPS).run()

    assert found == {pieces[0]: [A], pieces[1]: [A]}
