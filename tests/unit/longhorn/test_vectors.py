"""Our rules against 3,000 decisions of Longhorn's own replica scheduler.

Each decision was made from a random cluster; `chosen` holds what 24 repetitions chose. This is the
witness of everything in `longhorn/`: docs/decisions/0012.
"""

import gzip
import json
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from longhorn import (
    BackingImage,
    Candidates,
    Need,
    Node,
    NodeDisks,
    Reason,
    Replica,
    Settings,
    Volume,
    choices,
    disk_reason,
    find_candidates,
    has_tags,
    meets_topology,
    need_of,
    node_disks,
    read_settings,
    refusal_of,
)
from tests.actors.longhorn.placement import around
from tests.unit.longhorn.objects import record

VECTORS = Path(__file__).parents[2] / "data" / "longhorn-vectors" / "vectors.jsonl.gz"

Vector = Mapping[str, Any]


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """A recorded decision, with what we make of the same cluster."""

    vector: Vector
    volume: Volume
    need: Need
    settings: Settings
    others: tuple[Replica, ...]
    spaces: tuple[NodeDisks, ...]
    found: Candidates

    def reasons(self) -> dict[str, Reason | None]:
        """Say for each disk of the nodes that the volume may go to what keeps the replica off."""
        pinned_to = self.vector["scheduling"]["spec"]["hardNodeAffinity"]
        return {
            str(each.disk.id): disk_reason(
                space.node.name, each, self.need, self.others, self.settings
            )
            for space in self.spaces
            if refusal_of(space.node) is None
            and pinned_to in ("", space.node.name)
            and meets_topology(space.node, self.need.topology)
            for each in space.disks
        }

    def tagged(self) -> set[str]:
        """Name the disks of the nodes that have the tags the volume asks for."""
        return {
            str(each.disk.id)
            for space in self.spaces
            if has_tags(space.node, self.need, self.settings)
            for each in space.disks
        }


@pytest.fixture(scope="module")
def decisions() -> list[Decision]:
    """Read the decisions and make them anew."""
    with gzip.open(VECTORS, "rt", encoding="utf-8") as lines:
        return [decide(json.loads(line)) for line in lines]


def test_candidates_are_longhorns(decisions, summarise):
    for each in decisions:
        uuids = sorted(candidate.disk for candidate in each.found.disks)

        assert uuids == each.vector["candidates"], f"seed {each.vector['seed']}"

    placeable = sum(1 for each in decisions if each.found.disks)
    assert (len(decisions), placeable) == (3_000, 1_604)
    summarise(f"longhorn: candidates agree on {len(decisions)} lines, {placeable} with some")


def test_reasons_are_longhorns(decisions):
    for each in decisions:
        assert list(each.found.errors) == each.vector["errors"], f"seed {each.vector['seed']}"

    assert sum(1 for each in decisions if each.found.errors) == 838


def test_choices_are_what_longhorn_chose(decisions, summarise):
    """Where the choice is arbitrary, 24 repetitions chose every disk that we say they may."""
    sizes: Counter[int] = Counter()

    for each in decisions:
        chosen = choices(each.found, each.volume.size_bytes)
        may_choose = sorted(candidate.disk for candidate in chosen)
        sizes[len(may_choose)] += 1

        assert may_choose == sorted(each.vector["chosen"]), f"seed {each.vector['seed']}"

    assert sizes == {0: 1_396, 1: 1_542, 2: 51, 3: 7, 4: 3, 5: 1}
    summarise(f"longhorn: choices agree, {sum(sizes.values()) - sizes[0] - sizes[1]} arbitrary")


def test_many_choices_are_between_several_candidates(decisions):
    several = [each for each in decisions if len(each.found.disks) > 1]
    decided = [e for e in several if len(choices(e.found, e.volume.size_bytes)) == 1]
    drawn_to_node = [each for each in several if each.found.preferred != each.found.hosts]

    assert (len(several), len(decided), len(drawn_to_node)) == (966, 904, 168)


def test_every_candidate_passes_our_check_of_its_disk_and_has_the_room(decisions, summarise):
    compared = 0

    for each in decisions:
        reasons = each.reasons()
        room = {str(disk.disk.id): disk for space in each.spaces for disk in space.disks}
        for uuid in each.vector["candidates"]:
            compared += 1

            assert reasons[uuid] is None, f"seed {each.vector['seed']}, disk {uuid}"
            assert room[uuid].logical_headroom_bytes >= each.need.size_bytes
            assert room[uuid].physical_headroom_bytes >= each.need.actual_bytes

    summarise(f"longhorn: {compared} candidates have reason none and the room")
    assert compared > 3_000


def test_each_disk_takes_a_first_replica_unless_it_has_a_reason(decisions, summarise):
    """Without another replica the nodes form one group, so Longhorn decided on each disk."""
    outcomes: Counter[str] = Counter()

    for each in decisions:
        if each.others:
            continue
        tagged = each.tagged()
        reasons = {uuid: why for uuid, why in each.reasons().items() if uuid in tagged}
        outcomes.update(why or "none" for why in reasons.values())

        fitting = sorted(uuid for uuid, why in reasons.items() if why is None)
        assert fitting == each.vector["candidates"], f"seed {each.vector['seed']}"

    summarise(f"longhorn: {outcomes.total()} disks decided on one by one, {dict(outcomes)}")
    assert min(outcomes.values()) > 50


def decide(vector: Vector) -> Decision:
    settings = read_settings(vector["settings"])
    volume = record(vector["volume"], Volume)
    image = record(vector["backingImage"], BackingImage) if "backingImage" in vector else None
    others = tuple(record(replica, Replica) for replica in vector["replicas"])
    spaces = tuple(node_disks(record(node, Node), settings) for node in vector["nodes"])
    found = find_candidates(
        record(vector["scheduling"], Replica),
        volume,
        others,
        around(spaces, settings, image),
        datetime.fromisoformat(vector["now"]),
    )
    return Decision(
        vector=vector,
        volume=volume,
        need=need_of(volume, image),
        settings=settings,
        others=others,
        spaces=spaces,
        found=found,
    )
