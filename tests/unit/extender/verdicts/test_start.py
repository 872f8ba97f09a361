"""Volumes whose replicas may all be elsewhere: every node will do, or none can start them."""

import pytest
from msgspec.structs import replace

from app.kube.resource import AnyRecord
from extender import Basis, ClusterView, Extender
from extender.demand import NOBODY
from extender.holds import Asked, Timeouts
from extender.verdicts.rejections import Rejection, VolumeFaulted
from extender.verdicts.shortages import (
    NoRoomAnywhere,
    PendingReplicas,
    TooFewReplicas,
    TooFewShards,
)
from longhorn import Locality, Node, NodeName, Shard, Volume
from tests.builders import (
    GENEROUS,
    GIB,
    ask,
    bound,
    claim,
    disk,
    document,
    node,
    pod,
    read,
    replica,
    setting,
    shard,
    storage_class,
    view_of,
    volume,
)

ALL_OR_NONE = setting("allow-volume-creation-with-degraded-availability", "false")
EVERY_BYTE = setting("storage-minimal-available-percentage", "0")
NOTHING = NoRoomAnywhere(size_bytes=10 * GIB, by_open=False)
TOO_FEW = TooFewReplicas(wanted=2, size_bytes=10 * GIB, by_open=False)
FULL = node("node-1", disk(maximum_bytes=9 * GIB))
ONE, TWO = node("node-1"), node("node-2")


def remote(*, replicas: int = 2, **more: object) -> Volume:
    given: dict[str, object] = {"locality": Locality.DISABLED, "replicas": replicas, **more}
    return volume(str(given.pop("name", "vol")), **given)  # type: ignore[arg-type]


def rejection(view: ClusterView, *claims: str) -> Rejection | None:
    result = ask(view, *claims, candidates=["node-1"])
    assert result.basis is Basis.NOTHING_LOCAL
    return result.rejected.get(NodeName("node-1"))


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
    ("nodes", "size_gib", "rejected"),
    [
        pytest.param(BLOCK[:3], 10, None, id="three-nodes"),
        pytest.param(BLOCK[:2], 10, 3, id="two-nodes"),
        pytest.param([*BLOCK[:2], node("node-9")], 10, 3, id="no-block-disk-on-the-third"),
        pytest.param(BLOCK, 30, None, id="each-has-half-of-it"),
        pytest.param(BLOCK, 40, 3, id="too-large"),
    ],
)
def test_a_sharded_volume_starts_only_with_all_its_shards(
    nodes: list[Node], size_gib: int, rejected: int | None
) -> None:
    view = view_of(*nodes, SHARDED, EVERY_BYTE, claim("vol", size_bytes=size_gib * GIB))

    found = rejection(view)

    if rejected is None:
        assert found is None
    else:
        assert isinstance(found, TooFewShards)
        assert found.wanted == rejected


def test_shards_take_room_of_others_while_their_hold_stands() -> None:
    view = view_of(*BLOCK[:3], SHARDED, EVERY_BYTE, *(claim(n, size_bytes=30 * GIB) for n in "ab"))
    extender, candidates = Extender(GENEROUS), [NodeName("node-1")]
    timeouts = Timeouts(choosing_seconds=5.0, placing_seconds=5.0)
    first = extender.filter(pod("a", name="a"), candidates, view)
    extender.hold(first, Asked(), timeouts=timeouts, now=0.0)

    second = extender.filter(pod("b", name="b"), candidates, view)

    assert first.accepted == candidates
    assert isinstance(second.rejected[NodeName("node-1")], TooFewShards)


def existing() -> Volume:
    """Build a volume that Longhorn has made: two shards for its data and one more, of 15 GiB."""
    made = volume(locality=Locality.DISABLED, disk_type="block", replicas=3, soft=False)
    return replace(made, data_chunks=2, shard_bytes=15 * GIB)


@pytest.mark.parametrize(
    ("shards", "rejected"),
    [
        pytest.param([], False, id="nothing-is-known-of-them"),
        pytest.param([shard("vol-0"), shard("vol-1", on="")], False, id="the-others-find-room"),
        pytest.param([shard("vol-0", on="node-9"), shard("vol-1", on="")], False, id="as-well"),
        pytest.param(
            [shard("vol-0"), shard("full-0", on="node-2", size_bytes=10 * GIB)],
            True,
            id="not-these",
        ),
    ],
)
def test_what_is_missing_of_the_shards_of_a_volume_that_is_made(
    shards: list[Shard], *, rejected: bool
) -> None:
    view = view_of(*BLOCK[:3], *shards, EVERY_BYTE, *bound(existing()))

    assert (rejection(view) is not None) is rejected


def test_shards_that_are_yet_to_be_placed_keep_the_room_from_other_volumes() -> None:
    others = SHARDED, claim("other", size_bytes=30 * GIB)
    shards = [shard("vol-0"), shard("vol-1", on=""), shard("vol-2", on="")]
    view = view_of(*BLOCK[:3], *shards, EVERY_BYTE, existing(), *others)

    assert isinstance(rejection(view, "other"), TooFewShards)


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        pytest.param([FULL, remote()], NOTHING, id="no-room"),
        pytest.param([ONE, remote()], None, id="room-for-one-of-two"),
        pytest.param([FULL, remote(shared=True, locality=Locality.BEST_EFFORT)], NOTHING, id="rwx"),
        pytest.param([FULL, remote(standby=True)], None, id="standby"),
        pytest.param([FULL, remote(data_chunks=2, disk_type="block")], None, id="sharded"),
        pytest.param([ONE, remote(disk_type="block")], NOTHING, id="no-disk-of-the-type"),
        pytest.param([ONE, ALL_OR_NONE, remote()], TOO_FEW, id="all-or-none"),
        pytest.param([ONE, TWO, ALL_OR_NONE, remote()], None, id="all-find-room"),
        pytest.param([FULL, ALL_OR_NONE, remote()], NOTHING, id="none-at-all"),
        pytest.param(
            [ONE, ALL_OR_NONE, remote(shared=True, locality=Locality.BEST_EFFORT)],
            None,
            id="all-or-none-is-for-disabled-only",
        ),
        pytest.param(
            [ONE, ALL_OR_NONE, remote(node="node-1", attached_to="node-1")], None, id="attached"
        ),
        pytest.param([FULL, remote(), replica(on="node-1")], None, id="one-is-placed"),
        pytest.param(
            [FULL, remote(), replica(on="node-1", failed=True)], VolumeFaulted(), id="faulted"
        ),
        pytest.param([FULL, remote(replicas=0)], None, id="wants-none"),
        pytest.param(
            [FULL, read(document("Node", "node-2", spec=5)), remote()], None, id="unreadable-node"
        ),
    ],
)
def test_whether_longhorn_could_start_it(
    records: list[AnyRecord], expected: Rejection | None
) -> None:
    volumes = [each for each in records if isinstance(each, Volume)]
    others = [each for each in records if not isinstance(each, Volume)]

    assert rejection(view_of(*others, *bound(*volumes))) == expected


def test_what_others_are_about_to_take_counts() -> None:
    other = volume("other", locality=Locality.DISABLED, size_bytes=95 * GIB)
    quarter = setting("storage-minimal-available-percentage", "0")

    assert rejection(view_of(ONE, quarter, *bound(remote()), other)) == NOTHING
    assert rejection(view_of(ONE, TWO, quarter, *bound(remote()), other)) is None


def test_a_volume_that_does_not_exist_yet() -> None:
    class_ = storage_class(dataLocality="disabled", numberOfReplicas="3")

    assert rejection(view_of(FULL, claim("vol"), class_)) == NOTHING
    assert rejection(view_of(ONE, claim("vol"), class_)) is None


def two_volumes(*gib: int, elsewhere: int) -> ClusterView:
    """Build a node with such disks, another, and volumes of 60 GiB: one local, one for anywhere."""
    disks = [disk(f"disk-{n}", maximum_bytes=size * GIB) for n, size in enumerate(gib)]
    local = volume("local", size_bytes=60 * GIB)
    anywhere = volume("anywhere", size_bytes=60 * GIB, locality=Locality.DISABLED)
    other = node("node-2", disk(maximum_bytes=elsewhere * GIB))
    return view_of(node("node-1", *disks), other, EVERY_BYTE, *bound(local, anywhere))


@pytest.mark.parametrize(
    ("view", "is_accepted"),
    [
        pytest.param(two_volumes(100, elsewhere=10), False, id="room-for-one-of-them"),
        pytest.param(two_volumes(100, elsewhere=60), True, id="room-for-the-other-elsewhere"),
        pytest.param(two_volumes(60, 60, elsewhere=10), True, id="on-a-disk-each"),
        pytest.param(two_volumes(120, elsewhere=10), True, id="both-on-one-disk"),
        pytest.param(two_volumes(119, elsewhere=10), False, id="one-gib-too-little"),
    ],
)
def test_what_goes_anywhere_must_find_room_beside_what_is_local(
    view: ClusterView, *, is_accepted: bool
) -> None:
    answer = ask(view, "local", "anywhere", candidates=["node-1"])

    expected = None if is_accepted else NoRoomAnywhere(size_bytes=60 * GIB, by_open=False)
    assert answer.rejected.get(NodeName("node-1")) == expected


def test_a_hold_of_a_pod_without_a_node_yet_may_be_in_the_way() -> None:
    local = volume("local", size_bytes=60 * GIB)
    anywhere = volume("anywhere", size_bytes=60 * GIB, locality=Locality.DISABLED)
    nodes = [node(name, disk(maximum_bytes=100 * GIB)) for name in ("node-1", "node-2")]
    before = view_of(*nodes, EVERY_BYTE, *bound(local))
    then = view_of(*nodes, EVERY_BYTE, *bound(local, anywhere))
    extender, names = Extender(GENEROUS), [NodeName("node-1"), NodeName("node-2")]
    first = extender.filter(pod("local", name="first"), names, before)
    timeouts = Timeouts(choosing_seconds=5.0, placing_seconds=5.0)
    extender.hold(first, Asked(), timeouts=timeouts, now=0.0)

    answer = extender.filter(pod("anywhere", name="second"), names, then)

    assert answer.is_open
    assert set(answer.rejected.values()) == {NoRoomAnywhere(size_bytes=60 * GIB, by_open=True)}


@pytest.mark.parametrize(
    ("local_gib", "is_accepted"),
    [pytest.param(30, True, id="all-fits"), pytest.param(31, False, id="one-gib-too-much")],
)
def test_what_had_room_keeps_it(local_gib: int, *, is_accepted: bool) -> None:
    """Also if the pod's own is placed first, which here comes first by name."""
    due = volume("due", size_bytes=60 * GIB, locality=Locality.DISABLED)
    local = volume("local", size_bytes=local_gib * GIB)
    anywhere = volume("anywhere", size_bytes=40 * GIB, locality=Locality.DISABLED)
    nodes = [node("node-1", disk(maximum_bytes=130 * GIB)), node("node-2", disk(maximum_bytes=GIB))]

    answer = ask(
        view_of(*nodes, EVERY_BYTE, *bound(local, anywhere), due),
        "local",
        "anywhere",
        candidates=["node-1"],
    )

    expected = None if is_accepted else NoRoomAnywhere(size_bytes=40 * GIB, by_open=False)
    assert answer.rejected.get(NodeName("node-1")) == expected


def test_two_pods_that_may_go_to_one_node_only_do_not_get_it_both() -> None:
    """Each has a local volume and one for anywhere; the room is there for one of each and a bit."""
    pods = [
        (
            volume(f"local-{n}", size_bytes=119 * GIB),
            volume(f"anywhere-{n}", size_bytes=50 * GIB, locality=Locality.DISABLED),
        )
        for n in (1, 2)
    ]
    nodes = [
        node("node-1", disk(maximum_bytes=300 * GIB)),
        node("node-2", disk(maximum_bytes=40 * GIB)),
    ]
    extender, names = Extender(GENEROUS), [NodeName("node-1"), NodeName("node-2")]
    first = view_of(*nodes, EVERY_BYTE, *bound(*pods[0]))
    both = view_of(*nodes, EVERY_BYTE, *bound(*pods[0], *pods[1]))
    accepted = extender.filter(pod("local-1", "anywhere-1", name="first"), names, first)
    assert accepted.accepted == ["node-1"]
    timeouts = Timeouts(choosing_seconds=5.0, placing_seconds=5.0)
    extender.hold(accepted, Asked(), timeouts=timeouts, now=0.0)

    answer = extender.filter(pod("local-2", "anywhere-2", name="second"), names, both)

    why = answer.rejected[NodeName("node-1")]
    assert why == NoRoomAnywhere(size_bytes=50 * GIB, by_open=True)


def test_what_is_left_waits_for_a_volume_that_is_held_and_finds_no_room() -> None:
    """The forecast moves two replicas at most to make room for another one."""
    held, own, disks = [57, 57, 26, 65, 154], 57, (23, 243, 39, 120)
    hosts = [node(f"node-{n}", disk(maximum_bytes=gib * GIB)) for n, gib in enumerate(disks)]
    claims = [claim(f"vol-{n}", size_bytes=gib * GIB) for n, gib in enumerate([*held, own])]
    class_ = storage_class(dataLocality="disabled", numberOfReplicas="1")
    view = view_of(*hosts, EVERY_BYTE, *claims, class_)
    extender, names = Extender(GENEROUS), [each.name for each in hosts]
    timeouts = Timeouts(choosing_seconds=5.0, placing_seconds=5.0)
    for number in range(len(held)):  # as a new leader finds them, in an order of its own
        alone = Extender(GENEROUS)
        found = alone.filter(pod(f"vol-{number}", name=f"pod-{number}"), names, view)
        alone.hold(found, Asked(), timeouts=timeouts, now=0.0)
        [hold] = alone.ledger
        extender.ledger.put(hold)

    answer = extender.filter(pod(f"vol-{len(held)}", name="own"), names, view)

    assert sum(held) < sum(disks) - 23 < sum(held) + own  # all that is held fits, and no more
    assert answer.rejected == dict.fromkeys(names, PendingReplicas())


def test_a_held_volume_that_starts_with_its_local_replica_keeps_nobody_waiting() -> None:
    """Its other replica finds no node, as there is none: Longhorn starts it all the same."""
    local = volume("local", size_bytes=10 * GIB, replicas=2)
    view = view_of(node("node-1"), EVERY_BYTE, *bound(local, remote(replicas=1, name="anywhere")))
    extender, names = Extender(GENEROUS), [NodeName("node-1")]
    first = extender.filter(pod("local", name="first"), names, view)
    timeouts = Timeouts(choosing_seconds=5.0, placing_seconds=5.0)
    extender.hold(first, Asked(), timeouts=timeouts, now=0.0)

    second = extender.filter(pod("anywhere", name="second"), names, view)

    assert extender.situation(NOBODY, view).book.forecast.nowhere == {"local": 1}
    assert second.accepted == names


@pytest.mark.parametrize(("disk_gib", "expected"), [(19, NOTHING), (20, None)])
@pytest.mark.parametrize("comes", [[], [remote(replicas=1, name="other")]], ids=["alone", "beside"])
def test_a_linked_clone_starts_only_if_a_disk_with_its_source_has_room(
    disk_gib: int, expected: Rejection | None, comes: list[Volume]
) -> None:
    full, empty = disk("full", maximum_bytes=disk_gib * GIB), disk("empty")
    source = replica("source-r-1", of="source", disk="full")
    clone = remote(replicas=1, linked_to="source")
    view = view_of(*bound(clone), *comes, node("node-1", full, empty), source, EVERY_BYTE)

    assert rejection(view, "vol") == expected


@pytest.mark.parametrize(
    ("largest_gib", "expected"),
    [
        pytest.param(61, None, id="largest-first"),
        pytest.param(
            101, NoRoomAnywhere(size_bytes=56 * GIB, beside_own=True), id="none-for-the-last"
        ),
    ],
)
def test_the_volumes_of_a_pod_must_find_room_beside_each_other(
    largest_gib: int, expected: Rejection | None
) -> None:
    sizes = {"a": 32, "b": 60, "c": 56, "d": largest_gib}
    asked = [remote(name=name, replicas=1, size_bytes=gib * GIB) for name, gib in sizes.items()]
    nodes = [node(f"node-{n}", disk(maximum_bytes=g * GIB)) for n, g in ((1, 100), (2, 132))]

    assert rejection(view_of(*nodes, *bound(*asked), EVERY_BYTE), *sizes) == expected
