"""The simulator against 3,000 decisions of Longhorn's own replica scheduler.

Each decision was made from a random cluster; `chosen` holds what 24 repetitions chose.
"""

import gzip
import json
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest

from simulator import (
    BackingImage,
    Candidates,
    Node,
    Replica,
    Volume,
    choices,
    find_candidates,
    read_settings,
)

VECTORS = Path(__file__).parents[2] / "data" / "longhorn-vectors" / "vectors.jsonl.gz"

Vector = Mapping[str, Any]
Decision = tuple[Vector, Volume, Candidates]


@pytest.fixture(scope="module")
def decisions() -> list[Decision]:
    """Read the decisions and make them anew."""
    with gzip.open(VECTORS, "rt", encoding="utf-8") as lines:
        return [decide(json.loads(line)) for line in lines]


def test_candidates_are_longhorns(
    decisions: list[Decision], summarise: Callable[[str], None]
) -> None:
    for vector, _, found in decisions:
        uuids = sorted(candidate.disk for candidate in found.disks)

        assert uuids == vector["candidates"], f"seed {vector['seed']}"

    placeable = sum(1 for _, _, found in decisions if found.disks)
    assert (len(decisions), placeable) == (3_000, 1_604)
    summarise(f"simulator: candidates agree on {len(decisions)} lines, {placeable} with some")


def test_reasons_are_longhorns(decisions: list[Decision]) -> None:
    for vector, _, found in decisions:
        assert list(found.errors) == vector["errors"], f"seed {vector['seed']}"

    assert sum(1 for _, _, found in decisions if found.errors) == 838


def test_choices_are_what_longhorn_chose(
    decisions: list[Decision], summarise: Callable[[str], None]
) -> None:
    """Where the choice is arbitrary, 24 repetitions chose every disk that we say they may."""
    sizes: Counter[int] = Counter()

    for vector, volume, found in decisions:
        may_choose = sorted(candidate.disk for candidate in choices(found, volume))
        sizes[len(may_choose)] += 1

        assert may_choose == sorted(vector["chosen"]), f"seed {vector['seed']}"

    assert sizes == {0: 1_396, 1: 1_542, 2: 51, 3: 7, 4: 3, 5: 1}
    summarise(f"simulator: choices agree, {sum(sizes.values()) - sizes[0] - sizes[1]} arbitrary")


def test_many_choices_are_between_several_candidates(decisions: list[Decision]) -> None:
    several = [(volume, found) for _, volume, found in decisions if len(found.disks) > 1]
    decided = [volume for volume, found in several if len(choices(found, volume)) == 1]
    drawn_to_node = [found for _, found in several if found.preferred != found.disks]

    assert (len(several), len(decided), len(drawn_to_node)) == (966, 904, 168)


def decide(vector: Vector) -> Decision:
    volume = read(vector["volume"], Volume)
    image = vector.get("backingImage")
    found = find_candidates(
        read(vector["scheduling"], Replica),
        volume,
        [read(replica, Replica) for replica in vector["replicas"]],
        [read(node, Node) for node in vector["nodes"]],
        read_settings(vector["settings"]),
        backing_image=None if image is None else read(image, BackingImage),
        now=datetime.fromisoformat(vector["now"]),
    )
    return vector, volume, found


T = TypeVar("T", Node, Volume, Replica, BackingImage)


def read(document: Any, type_: type[T]) -> T:
    return msgspec.convert(document, type_, strict=False)
