"""Volumes whose replicas may all be elsewhere: every node will do, or none can start them."""

from typing import Any

import pytest
from msgspec.structs import replace

from app.kube.resource import AnyRecord
from extender import Answer, Basis, ClusterView, Extender
from extender.demand import NOBODY
from extender.holds import Asked, Timeouts
from extender.verdicts.rejections import Rejection, VolumeFaulted
from extender.verdicts.shortages import (
    NoRoomAnywhere,
    PendingReplicas,
    TooFewReplicas,
    TooFewShards,
)
from longhorn import Locality, NodeName, Shard, Unreadable, Volume
from tests.builders import (
    GENEROUS,
    GIB,
    ask,
    bound,
    claim,
    disk,
    document,
    node,
    nodes_of,
    pod,
    read,
    replica,
    replicas_of,
    setting,
    shard,
    storage_class,
    view_of,
    volume,
    volumes_of,
)

TIMEOUTS = Timeouts(choosing_seconds=5.0, placing_seconds=5.0)
ALL_OR_NONE = setting("allow-volume-creation-with-degraded-availability", "false")
EVERY_BYTE = setting("storage-minimal-available-percentage", "0")
TOO_FEW = TooFewReplicas(wanted=2, size_bytes=10 * GIB, by_open=False)
NODE_1, NAMES = NodeName("node-1"), [NodeName("node-1"), NodeName("node-2")]


def no_room(gib: int = 10, **more: bool) -> NoRoomAnywhere:
    return NoRoomAnywhere(size_bytes=gib * GIB, **more)


def remote(**more: Any) -> Volume:
    return volume(**{"locality": Locality.DISABLED, "replicas": 2, **more})


def rejection(view: ClusterView, *claims: str) -> Rejection | None:
    result = ask(view, *claims, candidates=["node-1"])
    assert result.basis is Basis.NOTHING_LOCAL
    return result.rejected.get(NODE_1)


def hold(extender: Extender, view: ClusterView, name: str, *claims: str) -> Answer:
    """Ask about a pod with claims, or one of its name, and hold what the answer says."""
    names = sorted(view.spaces)
    answer = extender.filter(pod(*(claims or (name,)), name=name), names, view)
    extender.hold(answer, Asked(), timeouts=TIMEOUTS, now=0.0)
    return answer


BLOCK = [node(f"node-{n}", disk(type_="block", maximum_bytes=20 * GIB)) for n in range(1, 5)]
SHARDED = storage_class(
    **{
        "dataEngine": "v2",
        "dataLocality": "disabled",
        "dataLayout.type": "sharded",
        "dataLayout.dataChunks": "2",
        "dataLayout.parityChunks": "1",
        "dataLayout.stripSizeKB": "64",
    }
)


@pytest.mark.parametrize(
    ("nodes", "size_gib", "is_rejected"),
    [
        pytest.param(BLOCK[:3], 10, False, id="nodes-three"),
        pytest.param(BLOCK[:2], 10, True, id="nodes-two"),
        pytest.param([*BLOCK[:2], *nodes_of("9")], 10, True, id="node-without-block-disk"),
        pytest.param(BLOCK, 30, False, id="disks-with-half-of-it-each"),
        pytest.param(BLOCK, 40, True, id="volume-too-large"),
    ],
)
def test_sharded_volume_starts_only_with_all_its_shards(nodes, size_gib, is_rejected):
    view = view_of(*nodes, SHARDED, EVERY_BYTE, claim("vol", size_bytes=size_gib * GIB))

    found = rejection(view)

    assert (found is not None) is is_rejected
    assert found is None or (isinstance(found, TooFewShards) and found.wanted == 3)


def test_shards_take_room_of_others_while_their_hold_stands():
    view = view_of(*BLOCK[:3], SHARDED, EVERY_BYTE, *(claim(n, size_bytes=30 * GIB) for n in "ab"))
    extender = Extender(GENEROUS)

    first, second = hold(extender, view, "a"), hold(extender, view, "b")

    assert first.accepted == sorted(view.spaces)
    assert {type(each) for each in second.rejected.values()} == {TooFewShards}
    assert second.accepted == []


MADE = replace(
    volume(locality=Locality.DISABLED, disk_type="block", replicas=3, soft=False),
    data_chunks=2,
    shard_bytes=15 * GIB,
)
"""A volume that Longhorn has made: two shards for its data and one more, of 15 GiB."""
SHARDS: dict[str, tuple[list[Shard], bool]] = {
    "shards-not-known": ([], False),
    "shards-that-find-room": ([shard("vol-0"), shard("vol-1", on="")], False),
    "shard-on-a-node-that-is-gone": ([shard("vol-0", on="node-9"), shard("vol-1", on="")], False),
    "shards-without-room": (
        [shard("vol-0"), shard("full-0", on="node-2", size_bytes=10 * GIB)], True),
}  # fmt: skip


@pytest.mark.parametrize("name", SHARDS)
def test_shards_that_are_missing_of_a_volume_that_is_made(name):
    shards, is_rejected = SHARDS[name]
    view = view_of(*BLOCK[:3], *shards, EVERY_BYTE, *bound(MADE))

    assert (rejection(view) is not None) is is_rejected


def test_shards_that_are_yet_to_be_placed_keep_the_room_from_other_volumes():
    others = SHARDED, claim("other", size_bytes=30 * GIB)
    shards = [shard("vol-0"), shard("vol-1", on=""), shard("vol-2", on="")]
    view = view_of(*BLOCK[:3], *shards, EVERY_BYTE, MADE, *others)

    assert isinstance(rejection(view, "other"), TooFewShards)


FULL, ONE, TWO = nodes_of("1:9"), nodes_of("1"), nodes_of("1 2")
RWX = remote(shared=True, locality=Locality.BEST_EFFORT)
ATTACHED = remote(node="node-1", attached_to="node-1")
UNREADABLE = read(document("Node", "node-2", spec=5))
THREE = storage_class(dataLocality="disabled", numberOfReplicas="3")
COMING = [EVERY_BYTE, *volumes_of("other:95~")]
STARTS: dict[str, tuple[list[AnyRecord | Unreadable], Volume | None, Rejection | None]] = {
    "room-none": ([*FULL], remote(), no_room()),
    "room-for-one-of-two": ([*ONE], remote(), None),
    "volume-rwx": ([*FULL], RWX, no_room()),
    "volume-standby": ([*FULL], remote(standby=True), None),
    "volume-sharded": ([*FULL], remote(data_chunks=2, disk_type="block"), None),
    "disk-of-the-type-missing": ([*ONE], remote(disk_type="block"), no_room()),
    "all-or-none": ([*ONE, ALL_OR_NONE], remote(), TOO_FEW),
    "all-or-none-and-all-find-room": ([*TWO, ALL_OR_NONE], remote(), None),
    "all-or-none-and-none-finds-room": ([*FULL, ALL_OR_NONE], remote(), no_room()),
    "all-or-none-is-for-disabled-only": ([*ONE, ALL_OR_NONE], RWX, None),
    "volume-attached": ([*ONE, ALL_OR_NONE], ATTACHED, None),
    "replica-placed": ([*FULL, *replicas_of("vol@1")], remote(), None),
    "volume-faulted": ([*FULL, *replicas_of("vol@1/failed")], remote(), VolumeFaulted()),
    "replicas-not-wanted": ([*FULL], remote(replicas=0), None),
    "node-unreadable": ([*FULL, UNREADABLE], remote(), None),
    "upcoming-takes-the-room": ([*ONE, *COMING], remote(), no_room()),
    "upcoming-leaves-room-elsewhere": ([*TWO, *COMING], remote(), None),
    "volume-not-made-without-room": ([*FULL, claim("vol"), THREE], None, no_room()),
    "volume-not-made-with-room": ([*ONE, claim("vol"), THREE], None, None),
}  # fmt: skip


@pytest.mark.parametrize("name", STARTS)
def test_volume_is_started_by_longhorn(name):
    records, of, expected = STARTS[name]

    assert rejection(view_of(*records, *(bound(of) if of else []))) == expected


PAIR: dict[str, tuple[str, str, str, Rejection | None]] = {
    "room-for-one-of-them": ("1:100 2:10", "local:60 any:60~", "", no_room(60)),
    "room-for-the-other-elsewhere": ("1:100 2:60", "local:60 any:60~", "", None),
    "room-on-a-disk-each": ("1:60,60 2:10", "local:60 any:60~", "", None),
    "room-on-one-disk": ("1:120 2:10", "local:60 any:60~", "", None),
    "room-one-gib-short": ("1:119 2:10", "local:60 any:60~", "", no_room(60)),
    # What had room keeps it: also if the pod's own is placed first, which comes first by name.
    "upcoming-beside-it-fits": ("1:130 2:1", "local:30 any:40~", "due:60~", None),
    "upcoming-beside-it-one-gib-short": ("1:130 2:1", "local:31 any:40~", "due:60~", no_room(40)),
}


@pytest.mark.parametrize("name", PAIR)
def test_volume_for_anywhere_must_find_room_beside_the_local_one(name):
    nodes, own, due, expected = PAIR[name]
    view = view_of(*nodes_of(nodes), EVERY_BYTE, *bound(*volumes_of(own)), *volumes_of(due))

    assert ask(view, "local", "any", candidates=["node-1"]).rejected.get(NODE_1) == expected


def test_open_hold_may_be_in_the_way():
    local, anywhere = volumes_of("local:60 any:60~")
    nodes, extender = [*nodes_of("1:100 2:100"), EVERY_BYTE], Extender(GENEROUS)
    hold(extender, view_of(*nodes, *bound(local)), "local")

    answer = hold(extender, view_of(*nodes, *bound(local, anywhere)), "any")

    assert answer.is_open
    assert answer.rejected == dict.fromkeys(NAMES, no_room(60, by_open=True))


def test_node_that_is_the_only_one_for_two_pods_is_given_to_one():
    """Each has a local volume and one for anywhere; the room is there for one of each and a bit."""
    own, others = volumes_of("local-1:119 any-1:50~"), volumes_of("local-2:119 any-2:50~")
    nodes, extender = [*nodes_of("1:300 2:40"), EVERY_BYTE], Extender(GENEROUS)
    accepted = hold(extender, view_of(*nodes, *bound(*own)), "first", "local-1", "any-1")
    assert accepted.accepted == ["node-1"]

    both = view_of(*nodes, *bound(*own, *others))
    answer = hold(extender, both, "second", "local-2", "any-2")

    assert answer.rejected[NODE_1] == no_room(50, by_open=True)


def test_room_left_waits_for_a_volume_that_is_held_and_finds_none():
    """The forecast moves two replicas at most to make room for another one."""
    held, own, disks = [57, 57, 26, 65, 154], 57, (23, 243, 39, 120)
    hosts = [node(f"node-{n}", disk(maximum_bytes=gib * GIB)) for n, gib in enumerate(disks)]
    claims = [claim(f"vol-{n}", size_bytes=gib * GIB) for n, gib in enumerate([*held, own])]
    class_ = storage_class(dataLocality="disabled", numberOfReplicas="1")
    view, extender = view_of(*hosts, EVERY_BYTE, *claims, class_), Extender(GENEROUS)
    for number in range(len(held)):  # as a new leader finds them, in an order of its own
        alone = Extender(GENEROUS)
        hold(alone, view, f"pod-{number}", f"vol-{number}")
        [made] = alone.ledger
        extender.ledger.put(made)

    answer = hold(extender, view, "own", f"vol-{len(held)}")

    assert sum(held) < sum(disks) - 23 < sum(held) + own  # all that is held fits, and no more
    assert answer.rejected == dict.fromkeys(sorted(view.spaces), PendingReplicas())


def test_hold_of_a_volume_that_starts_with_its_local_replica_keeps_no_other_waiting():
    """Its other replica finds no node, as there is none: Longhorn starts it all the same."""
    view = view_of(node("node-1"), EVERY_BYTE, *bound(*volumes_of("local*2 any~")))
    extender = Extender(GENEROUS)
    hold(extender, view, "local")

    second = extender.filter(pod("any", name="second"), NAMES[:1], view)

    assert extender.situation(NOBODY, view).book.forecast.nowhere == {"local": 1}
    assert second.accepted == NAMES[:1]


@pytest.mark.parametrize(("disk_gib", "expected"), [(19, no_room()), (20, None)])
@pytest.mark.parametrize("comes", ["", "other~"], ids=["alone", "beside"])
def test_linked_clone_starts_only_if_a_disk_with_its_source_has_room(disk_gib, expected, comes):
    full, empty = disk("full", maximum_bytes=disk_gib * GIB), disk("empty")
    source = replica("source-r-1", of="source", disk="full")
    clone = bound(remote(replicas=1, linked_to="source"))
    view = view_of(*clone, *volumes_of(comes), node("node-1", full, empty), source, EVERY_BYTE)

    assert rejection(view, "vol") == expected


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        pytest.param("a:32~ b:60~ c:56~ d:61~", None, id="largest-first"),
        pytest.param("a:32~ b:60~ c:56~ d:101~", no_room(56, beside_own=True), id="last-has-none"),
    ],
)
def test_volumes_of_a_pod_must_find_room_beside_each_other(own, expected):
    view = view_of(*nodes_of("1:100 2:132"), *bound(*volumes_of(own)), EVERY_BYTE)

    assert rejection(view, *"abcd") == expected
