"""Which replicas Longhorn is about to place: a row for each rule of its volume controller.

The volume is v; it is attached on node-1, or is to be.
"""

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
from tests.builders import replica, replicas_of, shard, volume

HERE = NodeName("node-1")
NOTHING = Due()
ON_ITS_NODE = Due(on_node=HERE)
AFTER_A_WAIT = Due(anywhere=1, waits=True)

VERSION = "current-longhorn-version"
SINCE_V1_10, BEFORE_V1_10 = {VERSION: "v1.10.0"}, {VERSION: "v1.9.2"}
NO_REBUILDS = {"concurrent-replica-rebuild-per-node-limit": "0"}


def anywhere(count: int) -> Due:
    return Due(anywhere=count)


def best_effort(**how: Any) -> Volume:
    return volume("v", **{"replicas": 3, **how})


def disabled(**how: Any) -> Volume:
    return best_effort(locality=Locality.DISABLED, **how)


def strict_local(**how: Any) -> Volume:
    return best_effort(locality=Locality.STRICT_LOCAL, replicas=1, **how)


def attached(**how: Any) -> Volume:
    """Build a best-effort volume of three replicas that is attached and healthy."""
    return best_effort(**{"node": HERE, "attached_to": HERE, "healthy": True, **how})


def degraded(**how: Any) -> Volume:
    return attached(healthy=False, degraded=True, **how)


def due(
    of: Volume,
    replicas: str | Sequence[Replica] = "",
    values: Mapping[str, str] | None = None,
    *,
    attaching: bool = False,
    paused: Collection[str] = (),
) -> Due:
    there = replicas_of(replicas) if isinstance(replicas, str) else replicas
    settings, names = read_settings(values or {}), [VolumeName(each) for each in paused]
    return due_replicas(of, there, settings, attaching=attaching, paused=names)


NEW: dict[str, tuple[Volume, str, Mapping[str, str], Due]] = {
    "disabled": (disabled(), "", {}, anywhere(3)),
    "disabled-with-objects": (disabled(), "v@/new v@/new v@/new", {}, anywhere(3)),
    "disabled-partly-placed": (disabled(), "v@2/new v@/new v@/new", {}, anywhere(2)),
    "disabled-placed": (disabled(), "v@2/new v@3/new v@4/new", {}, NOTHING),
    "disabled-with-a-limit-of-rebuilds": (disabled(), "", NO_REBUILDS, anywhere(3)),
    "best-effort": (best_effort(), "", SINCE_V1_10, NOTHING),
    "best-effort-with-objects": (best_effort(), "v@/new v@/new v@/new", {}, NOTHING),
    "best-effort-before-1.10": (best_effort(), "", BEFORE_V1_10, anywhere(3)),
    "best-effort-any-version": (best_effort(), "", {VERSION: "dev"}, NOTHING),
    "best-effort-at-attach": (best_effort(node=HERE), "", {}, anywhere(3)),
    "best-effort-going-on": (best_effort(node=HERE), "v@2/new v@/new v@/new", {}, anywhere(2)),
    "strict-local": (strict_local(), "", {}, NOTHING),
    "strict-local-before-1.10": (strict_local(), "", BEFORE_V1_10, NOTHING),
    "strict-local-at-attach": (strict_local(node=HERE), "", {}, ON_ITS_NODE),
    "strict-local-not-bound-yet": (strict_local(node=HERE), "v@/new", {}, ON_ITS_NODE),
    "strict-local-names-its-node": (strict_local(node=HERE), "v>1", {}, NOTHING),
    "strict-local-placed": (strict_local(node=HERE), "v@1/new", {}, NOTHING),
    "pinned-objects-name-their-node": (disabled(), "v@/new v@/new v>1", {}, anywhere(2)),
}


@pytest.mark.parametrize(("of", "replicas", "values", "expected"), NEW.values(), ids=NEW)
def test_volume_that_is_new_gets_all_at_once(of, replicas, values, expected):
    assert due(of, replicas, values) == expected


@pytest.mark.parametrize(
    ("shards", "expected"),
    [
        pytest.param([shard("v-0"), shard("v-1"), shard("v-2")], NOTHING, id="all-placed"),
        pytest.param([shard("v-0"), shard("v-1", on="")], anywhere(2), id="one-placed"),
        pytest.param([replace(shard("v-0"), deleting=True)], anywhere(2), id="going-keeps-slot"),
        pytest.param([replace(shard("v-0"), failed=True)], anywhere(3), id="given-up"),
    ],
)
def test_shards_are_due_until_each_has_a_disk(shards, expected):
    for attaching in (False, True):
        assert due(disabled(data_chunks=2), shards, attaching=attaching) == expected
    assert due(disabled(data_chunks=2, deleting=True), shards) == NOTHING


COUNTS = {
    "none-wanted": (disabled(replicas=0), NOTHING),
    "as-many-as-there-may-be": (disabled(replicas=20), anywhere(20)),
    "more-than-there-may-be": (disabled(replicas=25), anywhere(20)),
    "deleting": (disabled(deleting=True), NOTHING),
    "shards-that-are-not-known": (disabled(data_chunks=2), NOTHING),
    "shards-of-a-volume-that-is-not-made": (
        replace(disabled(data_chunks=2, replicas=24), is_estimate=True), anywhere(24)),
    "full-copy-clone": (replace(disabled(), copying=True), anywhere(1)),
    "linked-clone": (replace(disabled(), linked_to="source"), anywhere(3)),
    "linked-clone-of-an-old-longhorn": (replace(disabled(), is_frozen=True), anywhere(3)),
    "standby": (disabled(standby=True), anywhere(3)),
    "shared": (disabled(shared=True), anywhere(3)),
}  # fmt: skip


@pytest.mark.parametrize(("of", "expected"), COUNTS.values(), ids=COUNTS)
def test_volume_that_is_new_gets_so_many(of, expected):
    assert due(of) == expected


@pytest.mark.parametrize(("is_frozen", "expected"), [(False, anywhere(1)), (True, NOTHING)])
def test_linked_clone_of_an_old_longhorn_never_gets_another_replica(expected, *, is_frozen):
    assert due(replace(degraded(), linked_to="source", is_frozen=is_frozen), "v@2") == expected


def test_clone_gets_the_others_one_by_one_once_it_is_copied():
    assert due(replace(degraded(), copying=True), "v@2/new") == NOTHING
    assert due(degraded(), "v@2") == anywhere(1)


ATTACHING: dict[str, tuple[Volume, str, Mapping[str, str], Due]] = {
    "disabled": (disabled(), "", {}, anywhere(3)),
    "best-effort": (best_effort(), "", {}, anywhere(3)),
    "best-effort-before-1.10": (best_effort(), "", BEFORE_V1_10, anywhere(3)),
    "strict-local": (strict_local(), "", {}, anywhere(1)),
    "deleting": (disabled(deleting=True), "", {}, NOTHING),
    "complete": (best_effort(), "v@2 v@3 v@4", {}, NOTHING),
    "one-at-a-time": (best_effort(), "v@2", {}, anywhere(1)),
    "one-was-lost": (disabled(), "v@2 v@3", {}, anywhere(1)),
    "evicting": (best_effort(), "v@2 v@3 v@4/evicting", {}, anywhere(1)),
    "failed-may-come-back": (best_effort(), "v@2 v@3 v@4/failed", {}, NOTHING),
    "no-rebuilds": (best_effort(), "v@2", NO_REBUILDS, NOTHING),
    "attached-already": (attached(), "v@2 v@3 v@4", {}, ON_ITS_NODE),
}


@pytest.mark.parametrize(
    ("of", "replicas", "values", "expected"), ATTACHING.values(), ids=ATTACHING
)
def test_volume_that_a_pod_is_about_to_attach(of, replicas, values, expected):
    assert due(of, replicas, values, attaching=True) == expected


DETACHED = {
    "disabled": (disabled(), "v@2 v@3", NOTHING),
    "best-effort": (best_effort(), "v@2 v@3", NOTHING),
    "object-not-deleted-yet": (disabled(), "v@2 v@/new", anywhere(1)),
    "evicting": (disabled(), "v@2/evicting v@3/evicting v@4/evicting", NOTHING),
    "to-be-attached": (best_effort(node=HERE), "v@2 v@3", anywhere(1)),
}


@pytest.mark.parametrize(("of", "replicas", "expected"), DETACHED.values(), ids=DETACHED)
def test_volume_that_is_detached_and_has_data(of, replicas, expected):
    assert due(of, replicas) == expected


FAILED_FOR_GOOD = replica("r", of="v", on="node-4", failed=True, rebuild_retries=5)
DEGRADED: dict[str, tuple[str | list[Replica], Due]] = {
    "one-lost": ("v@1 v@2", anywhere(1)),
    "one-lost-before-one-goes-to-its-node": ("v@2 v@3", anywhere(1)),
    "two-lost": ("v@1", anywhere(1)),
    "born-degraded": ("v@1 v@/new v@/new", anywhere(2)),
    "being-rebuilt": ("v@1 v@2 v@3/new", NOTHING),
    "rebuilt-in-vain": ("v@1 v@2/evicting/new", NOTHING),
    "failed-may-come-back": ("v@1 v@2 v@3/failed", AFTER_A_WAIT),
    "failed-has-an-object-already": ("v@1 v@3/failed v@/new", anywhere(1)),
    "failed-too-often": ([*replicas_of("v@1 v@2"), FAILED_FOR_GOOD], anywhere(1)),
    "failed-evicting": ("v@1 v@2 v@3/failed/evicting", anywhere(1)),
    "being-deleted": ("v@1 v@2 v@3/deleting", anywhere(1)),
    "migrating": ("v@1 v@2 v@2/inactive", NOTHING),
    "besides-that-for-its-node": ("v@2 v@3 v>1", anywhere(1)),
    "that-for-another-node-counts": ("v@2 v@3 v>4", NOTHING),
    "pinned-names-its-node": ("v@2 v@3 v>4 v@/new", anywhere(1)),
}


@pytest.mark.parametrize(("replicas", "expected"), DEGRADED.values(), ids=DEGRADED)
def test_volume_that_is_degraded(replicas, expected):
    there = replicas_of(replicas) if isinstance(replicas, str) else replicas

    assert due(degraded(), there) == expected
    assert due(degraded(), [*reversed(there)]) == expected


V2: dict[str, Any] = {"disk_type": "block"}
PAUSED = {
    "v2-replaces-none": (degraded(**V2), "v@1", NOTHING),
    "v2-replaces-none-later": (degraded(**V2), "v@1 v@3/failed", NOTHING),
    "v2-gets-none-beside-the-pod": (attached(**V2), "v@2 v@3 v@4", NOTHING),
    "v2-moves-none": (attached(**V2), "v@1 v@2 v@3/evicting", NOTHING),
    "v2-object-is-placed": (degraded(**V2), "v@1 v@/new", anywhere(1)),
    "v1-is-not-upgraded-so": (degraded(), "v@1", anywhere(1)),
    "v2-not-attached": (disabled(**V2), "", anywhere(3)),
}


@pytest.mark.parametrize(("of", "replicas", "expected"), PAUSED.values(), ids=PAUSED)
def test_volume_whose_replicas_are_detached_by_plan(of, replicas, expected):
    assert due(of, replicas, paused=["v"]) == expected
    assert due(of, replicas, paused=["other"]) == due(of, replicas)


def test_replica_that_is_never_rebuilt_in_place_is_not_waited_for():
    replicas = "v@1 v@2 v@3/failed"

    assert due(degraded(**V2), replicas) == AFTER_A_WAIT
    assert due(degraded(**V2), replicas, {"fast-replica-rebuild-enabled": "false"}) == anywhere(1)
    assert due(degraded(), replicas, NO_REBUILDS) == NOTHING


def test_replicas_are_not_replaced_where_none_may_be_rebuilt():
    assert due(degraded(), "v@1", NO_REBUILDS) == NOTHING
    assert due(attached(), "v@1/evicting v@2/evicting v@3/evicting", NO_REBUILDS) == NOTHING
    assert due(attached(), "v@2 v@3 v@4", NO_REBUILDS) == NOTHING


def test_lost_replica_is_not_replaced_before_the_volume_is_seen_to_be_degraded():
    assert due(attached(), "v@1 v@2") == NOTHING


EVICTED = {
    "one": ("v@1 v@2 v@3/evicting", anywhere(1)),
    "one-at-a-time": ("v@1/evicting v@2/evicting v@3/evicting", anywhere(1)),
    "being-rebuilt": ("v@1 v@2 v@3/evicting v@4/new", NOTHING),
    "replaced": ("v@1 v@2 v@4 v@3/evicting", NOTHING),
    "gone": ("v@1 v@2 v@3/evicting/deleting", NOTHING),
    "healthy-it-waits-for-none": ("v@1 v@2 v@3/evicting v@5/failed", anywhere(1)),
    "before-one-goes-to-its-node": ("v@2 v@4 v@3/evicting", anywhere(1)),
    "after-that-for-its-node": ("v@2 v@4 v@3/evicting v>1", NOTHING),
}


@pytest.mark.parametrize(("replicas", "expected"), EVICTED.values(), ids=EVICTED)
def test_replica_that_is_evicted_is_replaced(replicas, expected):
    assert due(attached(), replicas) == expected


@pytest.mark.parametrize(
    ("disk_type", "expected"), [("filesystem", ON_ITS_NODE), ("block", NOTHING)]
)
def test_strict_local_replica_leaves_its_disk_but_not_its_node(disk_type, expected):
    of = attached(replicas=1, disk_type=disk_type, locality=Locality.STRICT_LOCAL)

    assert due(of, "v@1/evicting") == expected
    assert due(of, "v@1/evicting v>1") == NOTHING


ONE_MORE = {
    "none-there": (attached(), "v@2 v@3 v@4", ON_ITS_NODE),
    "more-than-wanted": (attached(), "v@2 v@3 v@4 v@5", ON_ITS_NODE),
    "one-there": (attached(), "v@1 v@2 v@3", NOTHING),
    "failed-one-there": (attached(), "v@2 v@3 v@4 v@1/failed", NOTHING),
    "evicting-one-there": (attached(), "v@2 v@3 v@4 v@1/evicting", NOTHING),
    "being-built-there": (attached(), "v@2 v@3 v@4 v@1/new", NOTHING),
    "object-for-it": (attached(), "v@2 v@3 v@4 v>1", NOTHING),
    "object-for-another-node": (attached(), "v@2 v@3 v@4 v>5", ON_ITS_NODE),
    "another-one-being-rebuilt": (attached(), "v@2 v@3 v@4 v@5/new", NOTHING),
    "migrating": (attached(), "v@2 v@3 v@4 v@2/inactive", NOTHING),
    "disabled": (attached(locality=Locality.DISABLED), "v@2 v@3 v@4", NOTHING),
    "without-frontend": (replace(attached(), has_frontend=False), "v@2 v@3 v@4", NOTHING),
    "not-known-to-be-healthy": (attached(healthy=False), "v@2 v@3 v@4", NOTHING),
    "deleting": (attached(deleting=True), "v@2 v@3 v@4", NOTHING),
    "not-attached-yet": (best_effort(node=HERE), "v@2 v@3 v@4", NOTHING),
}


@pytest.mark.parametrize("values", [SINCE_V1_10, BEFORE_V1_10], ids=["since-1.10", "before-1.10"])
@pytest.mark.parametrize(("of", "replicas", "expected"), ONE_MORE.values(), ids=ONE_MORE)
def test_best_effort_volume_gets_one_more_on_its_node(of, replicas, values, expected):
    assert due(of, replicas, values) == expected
