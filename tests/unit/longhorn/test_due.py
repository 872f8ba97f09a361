"""Which replicas Longhorn is about to place: a row for each rule of its volume controller."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from longhorn import (
    Due,
    Locality,
    NodeName,
    Replica,
    Volume,
    VolumeName,
    due_replicas,
    read_settings,
)
from tests.builders import pending, replica, shard, volume

HERE = NodeName("node-1")
"""Where the volume is attached, or is to be."""
NOTHING = Due()
ON_ITS_NODE = Due(on_node=HERE)
AFTER_A_WAIT = Due(anywhere=1, waits=True)

VERSION = "current-longhorn-version"
SINCE_V1_10, BEFORE_V1_10 = {VERSION: "v1.10.0"}, {VERSION: "v1.9.2"}
NO_REBUILDS = {"concurrent-replica-rebuild-per-node-limit": "0"}


def anywhere(count: int) -> Due:
    return Due(anywhere=count)


def disabled(*, replicas: int = 3, **how: Any) -> Volume:
    return volume(locality=Locality.DISABLED, replicas=replicas, **how)


def best_effort(**how: Any) -> Volume:
    return volume(replicas=3, **how)


def strict_local(**how: Any) -> Volume:
    return volume(locality=Locality.STRICT_LOCAL, **how)


def attached(*, replicas: int = 3, degraded: bool = False, **how: Any) -> Volume:
    """Build a best-effort volume of three replicas that is attached, healthy or degraded."""
    how.setdefault("healthy", not degraded)
    return volume(replicas=replicas, node=HERE, attached_to=HERE, degraded=degraded, **how)


def on(*nodes: str, **how: Any) -> list[Replica]:
    """Build a replica on each of these nodes; "" is one that is not placed."""
    return [replica(f"r-{name}-{number}", on=name, **how) for number, name in enumerate(nodes)]


def new(*nodes: str) -> list[Replica]:
    return on(*nodes, healthy_once=False)


def due(
    of: Volume,
    replicas: Sequence[Replica] = (),
    values: Mapping[str, str] | None = None,
    *,
    attaching: bool = False,
    paused: Collection[str] = (),
) -> Due:
    settings, names = read_settings(values or {}), [VolumeName(each) for each in paused]
    return due_replicas(of, replicas, settings, attaching=attaching, paused=names)


@pytest.mark.parametrize(
    ("of", "replicas", "values", "expected"),
    [
        pytest.param(disabled(), [], {}, anywhere(3), id="disabled"),
        pytest.param(disabled(), new("", "", ""), {}, anywhere(3), id="disabled-with-objects"),
        pytest.param(disabled(), new("a", "", ""), {}, anywhere(2), id="disabled-partly-placed"),
        pytest.param(disabled(), new("a", "b", "c"), {}, NOTHING, id="disabled-placed"),
        pytest.param(disabled(), [], NO_REBUILDS, anywhere(3), id="the-limit-is-for-rebuilds"),
        pytest.param(best_effort(), [], SINCE_V1_10, NOTHING, id="best-effort"),
        pytest.param(best_effort(), new("", "", ""), {}, NOTHING, id="best-effort-with-objects"),
        pytest.param(best_effort(), [], BEFORE_V1_10, anywhere(3), id="best-effort-before-1.10"),
        pytest.param(best_effort(), [], {VERSION: "dev"}, NOTHING, id="best-effort-any-version"),
        pytest.param(best_effort(node=HERE), [], {}, anywhere(3), id="best-effort-at-attach"),
        pytest.param(
            best_effort(node=HERE), new("a", "", ""), {}, anywhere(2), id="best-effort-going-on"
        ),
        pytest.param(strict_local(), [], {}, NOTHING, id="strict-local"),
        pytest.param(strict_local(), [], BEFORE_V1_10, NOTHING, id="strict-local-before-1.10"),
        pytest.param(strict_local(node=HERE), [], {}, ON_ITS_NODE, id="strict-local-at-attach"),
        pytest.param(
            strict_local(node=HERE), new(""), {}, ON_ITS_NODE, id="strict-local-not-bound-yet"
        ),
        pytest.param(
            strict_local(node=HERE), [pending()], {}, NOTHING, id="strict-local-names-its-node"
        ),
        pytest.param(strict_local(node=HERE), new(HERE), {}, NOTHING, id="strict-local-placed"),
    ],
)
def test_a_new_volume(of, replicas, values, expected):
    assert due(of, replicas, values) == expected


@pytest.mark.parametrize(
    ("shards", "expected"),
    [
        pytest.param([shard("vol-0"), shard("vol-1"), shard("vol-2")], NOTHING, id="all-placed"),
        pytest.param([shard("vol-0"), shard("vol-1", on="")], anywhere(2), id="one-placed"),
        pytest.param([replace(shard("vol-0"), deleting=True)], anywhere(2), id="going-keeps-slot"),
        pytest.param([replace(shard("vol-0"), failed=True)], anywhere(3), id="given-up"),
    ],
)
def test_shards_are_due_until_each_has_a_disk(shards, expected):
    for attaching in (False, True):
        assert due(disabled(data_chunks=2), shards, attaching=attaching) == expected
    assert due(disabled(data_chunks=2, deleting=True), shards) == NOTHING


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        pytest.param(disabled(replicas=0), NOTHING, id="none-wanted"),
        pytest.param(disabled(replicas=20), anywhere(20), id="as-many-as-there-may-be"),
        pytest.param(disabled(replicas=25), anywhere(20), id="more-than-there-may-be"),
        pytest.param(disabled(deleting=True), NOTHING, id="deleting"),
        pytest.param(disabled(data_chunks=2), NOTHING, id="shards-that-are-not-known"),
        pytest.param(
            replace(disabled(data_chunks=2, replicas=24), is_estimate=True),
            anywhere(24),
            id="shards-of-a-volume-that-is-not-made",
        ),
        pytest.param(replace(disabled(), copying=True), anywhere(1), id="full-copy-clone"),
        pytest.param(replace(disabled(), linked_to="source"), anywhere(3), id="linked-clone"),
        pytest.param(replace(disabled(), is_frozen=True), anywhere(3), id="old-linked-clone"),
        pytest.param(disabled(standby=True), anywhere(3), id="standby"),
        pytest.param(disabled(shared=True), anywhere(3), id="shared"),
    ],
)
def test_how_many_a_new_volume_gets(of, expected):
    assert due(of) == expected


@pytest.mark.parametrize(("is_frozen", "expected"), [(False, anywhere(1)), (True, NOTHING)])
def test_a_linked_clone_of_an_old_longhorn_never_gets_another_replica(expected, *, is_frozen):
    clone = replace(attached(degraded=True), linked_to="source", is_frozen=is_frozen)

    assert due(clone, on("a")) == expected


def test_a_clone_gets_the_others_one_by_one_once_it_is_copied():
    copying = replace(attached(degraded=True), copying=True)

    assert due(copying, new("a")) == NOTHING
    assert due(attached(degraded=True), on("a")) == anywhere(1)


@pytest.mark.parametrize(
    ("of", "replicas", "values", "expected"),
    [
        pytest.param(disabled(), [], {}, anywhere(3), id="disabled"),
        pytest.param(best_effort(), [], {}, anywhere(3), id="best-effort"),
        pytest.param(best_effort(), [], BEFORE_V1_10, anywhere(3), id="best-effort-before-1.10"),
        pytest.param(strict_local(), [], {}, anywhere(1), id="strict-local"),
        pytest.param(disabled(deleting=True), [], {}, NOTHING, id="deleting"),
        pytest.param(best_effort(), on("a", "b", "c"), {}, NOTHING, id="complete"),
        pytest.param(best_effort(), on("a"), {}, anywhere(1), id="one-at-a-time"),
        pytest.param(disabled(), on("a", "b"), {}, anywhere(1), id="one-was-lost"),
        pytest.param(
            best_effort(), [*on("a", "b"), *on("c", evicting=True)], {}, anywhere(1), id="evicting"
        ),
        pytest.param(
            best_effort(), [*on("a", "b"), *on("c", failed=True)], {}, NOTHING, id="may-come-back"
        ),
        pytest.param(best_effort(), on("a"), NO_REBUILDS, NOTHING, id="no-rebuilds"),
        pytest.param(attached(), on("b", "c", "d"), {}, ON_ITS_NODE, id="attached-already"),
    ],
)
def test_a_volume_that_a_pod_is_about_to_attach(of, replicas, values, expected):
    assert due(of, replicas, values, attaching=True) == expected


@pytest.mark.parametrize(
    ("of", "replicas", "expected"),
    [
        pytest.param(disabled(), on("a", "b"), NOTHING, id="disabled"),
        pytest.param(best_effort(), on("a", "b"), NOTHING, id="best-effort"),
        pytest.param(disabled(), [*on("a"), *new("")], anywhere(1), id="object-not-deleted-yet"),
        pytest.param(disabled(), on("a", "b", "c", evicting=True), NOTHING, id="evicting"),
        pytest.param(best_effort(node=HERE), on("a", "b"), anywhere(1), id="to-be-attached"),
    ],
)
def test_a_detached_volume_with_data(of, replicas, expected):
    assert due(of, replicas) == expected


@pytest.mark.parametrize(
    ("replicas", "expected"),
    [
        pytest.param(on(HERE, "b"), anywhere(1), id="one-lost"),
        pytest.param(on("b", "c"), anywhere(1), id="before-one-goes-to-its-node"),
        pytest.param(on(HERE), anywhere(1), id="two-lost"),
        pytest.param([*on(HERE), *new("", "")], anywhere(2), id="born-degraded"),
        pytest.param([*on(HERE, "b"), *new("c")], NOTHING, id="being-rebuilt"),
        pytest.param(
            [*on(HERE), *on("b", evicting=True, healthy_once=False)], NOTHING, id="rebuilt-in-vain"
        ),
        pytest.param(
            [*on(HERE, "b"), *on("c", failed=True)], AFTER_A_WAIT, id="failed-may-come-back"
        ),
        pytest.param(
            [*on(HERE), *on("c", failed=True), *new("")], anywhere(1), id="it-has-an-object-already"
        ),
        pytest.param(
            [*on(HERE, "b"), *on("c", failed=True, rebuild_retries=5)],
            anywhere(1),
            id="failed-too-often",
        ),
        pytest.param(
            [*on(HERE, "b"), *on("c", failed=True, evicting=True)],
            anywhere(1),
            id="failed-evicting",
        ),
        pytest.param([*on(HERE, "b"), *on("c", deleting=True)], anywhere(1), id="being-deleted"),
        pytest.param([*on(HERE, "b"), *on("b", active=False)], NOTHING, id="migrating"),
        pytest.param([*on("b", "c"), pending()], anywhere(1), id="besides-that-for-its-node"),
        pytest.param(
            [*on("b", "c"), pending(node="d")], NOTHING, id="that-for-another-node-counts"
        ),
        pytest.param(
            [*on("b", "c"), pending(node="d"), *new("")], anywhere(1), id="pinned-names-its-node"
        ),
    ],
)
def test_a_degraded_volume(replicas, expected):
    assert due(attached(degraded=True), replicas) == expected
    assert due(attached(degraded=True), [*reversed(replicas)]) == expected


V2: dict[str, Any] = {"disk_type": "block"}


@pytest.mark.parametrize(
    ("of", "replicas", "expected"),
    [
        pytest.param(attached(degraded=True, **V2), on(HERE), NOTHING, id="none-is-replaced"),
        pytest.param(
            attached(degraded=True, **V2),
            [*on(HERE), *on("c", failed=True)],
            NOTHING,
            id="or-later",
        ),
        pytest.param(attached(**V2), on("b", "c", "d"), NOTHING, id="none-beside-the-pod"),
        pytest.param(
            attached(**V2), [*on(HERE, "b"), *on("c", evicting=True)], NOTHING, id="none-moves"
        ),
        pytest.param(
            attached(degraded=True, **V2), [*on(HERE), *new("")], anywhere(1), id="but-it-is-placed"
        ),
        pytest.param(attached(degraded=True), on(HERE), anywhere(1), id="v1-is-not-upgraded-so"),
        pytest.param(disabled(**V2), (), anywhere(3), id="not-attached"),
    ],
)
def test_while_replicas_are_detached_by_plan(of, replicas, expected):
    assert due(of, replicas, paused=[of.name]) == expected
    assert due(of, replicas, paused=["other"]) == due(of, replicas)


def test_what_is_never_rebuilt_in_place_is_not_waited_for():
    replicas = [*on(HERE, "b"), *on("c", failed=True)]
    block = attached(degraded=True, disk_type="block")

    assert due(block, replicas) == AFTER_A_WAIT
    assert due(block, replicas, {"fast-replica-rebuild-enabled": "false"}) == anywhere(1)
    assert due(attached(degraded=True), replicas, NO_REBUILDS) == NOTHING


def test_nothing_is_replaced_where_nothing_may_be_rebuilt():
    assert due(attached(degraded=True), on(HERE), NO_REBUILDS) == NOTHING
    assert due(attached(), on(HERE, "b", "c", evicting=True), NO_REBUILDS) == NOTHING
    assert due(attached(), on("b", "c", "d"), NO_REBUILDS) == NOTHING


def test_what_was_lost_is_not_replaced_before_the_volume_is_seen_to_be_degraded():
    assert due(attached(), on(HERE, "b")) == NOTHING


def test_of_a_new_volume_pinned_objects_name_their_node_themselves():
    assert due(disabled(), [*new("", ""), pending()]) == anywhere(2)


LEAVING = on("c", evicting=True)


@pytest.mark.parametrize(
    ("replicas", "expected"),
    [
        pytest.param([*on(HERE, "b"), *LEAVING], anywhere(1), id="one"),
        pytest.param(on(HERE, "b", "c", evicting=True), anywhere(1), id="one-at-a-time"),
        pytest.param([*on(HERE, "b"), *LEAVING, *new("d")], NOTHING, id="being-rebuilt"),
        pytest.param([*on(HERE, "b", "d"), *LEAVING], NOTHING, id="replaced"),
        pytest.param([*on(HERE, "b"), *on("c", evicting=True, deleting=True)], NOTHING, id="gone"),
        pytest.param(
            [*on(HERE, "b"), *LEAVING, *on("e", failed=True)],
            anywhere(1),
            id="healthy-it-waits-for-none",
        ),
        pytest.param([*on("b", "d"), *LEAVING], anywhere(1), id="before-one-goes-to-its-node"),
        pytest.param([*on("b", "d"), *LEAVING, pending()], NOTHING, id="after-that-for-its-node"),
    ],
)
def test_an_eviction(replicas, expected):
    assert due(attached(), replicas) == expected


@pytest.mark.parametrize(
    ("disk_type", "expected"), [("filesystem", ON_ITS_NODE), ("block", NOTHING)]
)
def test_a_strict_local_replica_leaves_its_disk_but_not_its_node(disk_type, expected):
    of = attached(replicas=1, disk_type=disk_type, locality=Locality.STRICT_LOCAL)

    assert due(of, on(HERE, evicting=True)) == expected
    assert due(of, [*on(HERE, evicting=True), pending()]) == NOTHING


ELSEWHERE = on("b", "c", "d")


@pytest.mark.parametrize("values", [SINCE_V1_10, BEFORE_V1_10], ids=["since-1.10", "before-1.10"])
@pytest.mark.parametrize(
    ("of", "replicas", "expected"),
    [
        pytest.param(attached(), ELSEWHERE, ON_ITS_NODE, id="none-there"),
        pytest.param(attached(), on("b", "c", "d", "e"), ON_ITS_NODE, id="more-than-wanted"),
        pytest.param(attached(), on(HERE, "b", "c"), NOTHING, id="one-there"),
        pytest.param(
            attached(), [*ELSEWHERE, *on(HERE, failed=True)], NOTHING, id="failed-one-there"
        ),
        pytest.param(
            attached(), [*ELSEWHERE, *on(HERE, evicting=True)], NOTHING, id="evicting-one-there"
        ),
        pytest.param(attached(), [*ELSEWHERE, *new(HERE)], NOTHING, id="being-built-there"),
        pytest.param(attached(), [*ELSEWHERE, pending()], NOTHING, id="object-for-it"),
        pytest.param(
            attached(), [*ELSEWHERE, pending(node="e")], ON_ITS_NODE, id="object-for-another-node"
        ),
        pytest.param(attached(), [*ELSEWHERE, *new("e")], NOTHING, id="another-one-being-rebuilt"),
        pytest.param(attached(), [*ELSEWHERE, *on("b", active=False)], NOTHING, id="migrating"),
        pytest.param(attached(locality=Locality.DISABLED), ELSEWHERE, NOTHING, id="disabled"),
        pytest.param(
            replace(attached(), has_frontend=False), ELSEWHERE, NOTHING, id="without-frontend"
        ),
        pytest.param(attached(healthy=False), ELSEWHERE, NOTHING, id="not-known-to-be-healthy"),
        pytest.param(attached(deleting=True), ELSEWHERE, NOTHING, id="deleting"),
        pytest.param(best_effort(node=HERE), ELSEWHERE, NOTHING, id="not-attached-yet"),
    ],
)
def test_one_more_on_the_node_of_the_volume(of, replicas, values, expected):
    assert due(of, replicas, values) == expected
