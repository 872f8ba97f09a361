"""Which candidates are accepted: restarts, strict-local volumes, unknown nodes, limits, memory."""

import msgspec
import pytest

from extender import Basis, Extender, StepLimits, UnresolvableClaimError
from extender.verdicts.rejections import (
    NodeNotReady,
    NodeNotSchedulable,
    ReplicasElsewhere,
    StrictLocalElsewhere,
    StrictLocalUnusable,
    UnknownNode,
    UnreadableNode,
)
from extender.verdicts.shortages import PackingUndecided, VolumesDoNotFit
from longhorn import Locality, Node, NodeName, Volume, VolumeName
from tests.builders import (
    GENEROUS,
    GIB,
    accepted,
    ask,
    bound,
    disk,
    document,
    node,
    node_document,
    pending,
    pod,
    read_as_unreadable,
    rejection,
    replica,
    setting,
    view_of,
    volume,
)

FULL = disk(scheduled_bytes=100 * GIB)
STRICT = volume(locality=Locality.STRICT_LOCAL)


def names(*candidates: str) -> list[NodeName]:
    return [NodeName(name) for name in candidates]


def test_pod_without_local_volumes_keeps_all_candidates_where_they_can_be_attached() -> None:
    elsewhere = node("node-2"), node("node-1", schedulable=False)
    view = view_of(*elsewhere, *bound(volume(locality=Locality.DISABLED)))

    result = ask(view, candidates=["node-1", "unknown"])

    assert (result.basis, result.accepted) == (Basis.NOTHING_LOCAL, ["node-1"])
    assert result.rejected == {"unknown": UnknownNode()}


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(document("Node", "node-1", spec=[]), id="the-node"),
        pytest.param(
            node_document(disk_status={"storageMaximum": "large"}), id="a-disk-of-the-node"
        ),
        pytest.param(
            document("Node", "node-1") | {"apiVersion": "longhorn.io/v1beta1"}, id="old-version"
        ),
    ],
)
def test_node_that_cannot_be_read_is_rejected(broken: dict[str, object]) -> None:
    view = view_of(node("node-2"), read_as_unreadable(broken), *bound(volume()))

    result = ask(view, candidates=["node-1", "node-2"])

    assert result.accepted == ["node-2"]
    assert result.rejected == {"node-1": UnreadableNode()}


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"nodeID": "node-1", "volumeSize": "large"}, id="placed-there"),
        pytest.param({"hardNodeAffinity": "node-1", "volumeSize": "large"}, id="bound-to-it"),
    ],
)
def test_node_of_an_unreadable_replica_is_rejected(spec: dict[str, object]) -> None:
    broken = read_as_unreadable(document("Replica", "other-r-1", spec=spec))
    view = view_of(node("node-1"), node("node-2"), broken, *bound(volume()))

    result = ask(view)

    assert ask(view, candidates=["node-1", "node-2"]).rejected == {"node-1": UnreadableNode()}
    assert result.accepted == ["node-2"]


def test_unreadable_setting_does_not_hinder_a_restart() -> None:
    view = view_of(
        node(), *bound(volume()), replica(), setting("allow-empty-disk-selector-volume", "?")
    )

    assert accepted(view) == ["node-1"]


def test_unreadable_setting_costs_no_node_when_nothing_is_local() -> None:
    view = view_of(
        node(),
        *bound(volume(locality=Locality.DISABLED)),
        setting("storage-over-provisioning-percentage", "abc"),
    )

    assert accepted(view) == ["node-1"]


@pytest.mark.parametrize(
    "holder",
    [
        pytest.param(node("node-1"), id="open"),
        pytest.param(node("node-1", FULL), id="full"),
        pytest.param(node("node-1", schedulable=False), id="cordoned"),
        pytest.param(node("node-1", allow_scheduling=False, evicting=True), id="evicting"),
        pytest.param(node("node-1", tags=["other"]), id="wrong-tags"),
    ],
)
def test_pod_restarts_where_its_copy_is(holder: Node) -> None:
    view = view_of(holder, node("node-2"), *bound(volume(node_selector=["mine"])), replica())

    result = ask(view)

    assert (result.basis, result.accepted) == (Basis.REPLICAS, ["node-1"])
    assert result.rejected == {"node-2": ReplicasElsewhere()}


def test_pod_restarts_on_any_node_with_replicas_of_all_its_volumes() -> None:
    replicas = [
        replica("a-r-1", of="a", on="node-1"),
        replica("a-r-2", of="a", on="node-2"),
        replica("b-r-1", of="b", on="node-2"),
        replica("b-r-2", of="b", on="node-3"),
    ]
    nodes = [node(f"node-{n}") for n in (1, 2, 3, 4)]
    view = view_of(*nodes, *bound(volume("a"), volume("b")), *replicas)

    assert accepted(view, "a", "b") == ["node-2"]
    assert accepted(view, "a") == ["node-1", "node-2"]


def test_evicted_replicas_serve_when_no_candidate_has_others() -> None:
    evicted = [replica(f"vol-r-{n}", on=f"node-{n}", evicting=True) for n in (1, 2)]
    nodes = [node(f"node-{n}") for n in (1, 2, 3, 4)]
    view = view_of(*nodes, *bound(volume()), *evicted, replica("vol-r-3", on="node-3"))

    assert accepted(view, candidates=["node-2", "node-4", "node-1"]) == ["node-2", "node-1"]


def test_one_evicted_copy_among_several_volumes_is_enough_to_prefer_another_node() -> None:
    replicas = [
        replica("a-r-1", of="a", on="node-1"),
        replica("b-r-1", of="b", on="node-1", evicting=True),
        replica("a-r-2", of="a", on="node-2"),
        replica("b-r-2", of="b", on="node-2"),
    ]
    view = view_of(node("node-1"), node("node-2"), *bound(volume("a"), volume("b")), *replicas)

    assert accepted(view, "a", "b") == ["node-2"]


def test_nodes_are_judged_by_room_when_no_candidate_has_the_replicas() -> None:
    view = view_of(
        node("node-1"), node("node-2"), node("node-3", FULL), *bound(volume()), replica()
    )

    result = ask(view, candidates=["node-2", "node-3"])

    assert (result.basis, result.accepted) == (Basis.PLACEMENT, ["node-2"])


def test_volume_with_a_copy_here_needs_no_room_beside_a_new_one() -> None:
    tight = node("node-1", disk(maximum_bytes=110 * GIB, listed={"old-r-1": 100 * GIB}))
    view = view_of(
        tight,
        node("node-2", disk(maximum_bytes=109 * GIB)),
        *bound(volume("old", size_bytes=100 * GIB), volume("new")),
        replica("old-r-1", of="old", size_bytes=100 * GIB),
    )

    result = ask(view, "old", "new")

    assert result.accepted == ["node-1"]
    assert result.rejected == {"node-2": VolumesDoNotFit(volumes=2, size_bytes=110 * GIB)}


def test_node_with_some_replicas_must_take_new_replicas_for_the_others() -> None:
    view = view_of(
        node(schedulable=False),
        *bound(volume("old"), volume("new")),
        replica("old-r-1", of="old"),
    )

    assert rejection(view, "old", "new") == NodeNotSchedulable()


def test_new_strict_local_volume_goes_to_the_placed_one() -> None:
    volumes = [volume(name, locality=Locality.STRICT_LOCAL) for name in ("old", "new")]
    view = view_of(
        node("node-1"), node("node-2"), *bound(*volumes), replica("old-r-1", of="old", on="node-2")
    )

    result = ask(view, "old", "new")

    assert result.accepted == ["node-2"]
    assert result.rejected == {"node-1": StrictLocalElsewhere()}


def test_strict_local_volume_whose_replica_cannot_be_used_fits_nowhere() -> None:
    view = view_of(node("node-1"), node("node-2"), *bound(STRICT), replica(active=False))

    assert ask(view).rejected == {
        "node-1": StrictLocalUnusable(),
        "node-2": StrictLocalElsewhere(),
    }


def test_a_node_that_is_down_is_not_the_one_of_a_strict_local_volume() -> None:
    view = view_of(node("node-1", ready=False), node("node-2"), *bound(STRICT), replica())

    assert ask(view).rejected == {"node-1": NodeNotReady(), "node-2": StrictLocalElsewhere()}


def test_strict_local_volume_whose_replica_is_being_deleted_may_start_anew() -> None:
    view = view_of(node("node-1"), node("node-2"), *bound(STRICT), replica(deleting=True))

    assert accepted(view) == ["node-1", "node-2"]


BROKEN_REPLICA = read_as_unreadable(
    document("Replica", "vol-r-1", spec={"volumeName": "vol", "nodeID": "a", "volumeSize": "?"})
)


def test_volume_is_not_sent_away_from_a_replica_that_cannot_be_read() -> None:
    view = view_of(node("node-1"), node("node-2"), *bound(STRICT), BROKEN_REPLICA)

    with pytest.raises(UnresolvableClaimError) as caught:
        ask(view)

    assert str(caught.value) == (
        "Volume vol cannot be judged; "
        "its Replica vol-r-1 cannot be read: '?' is not a size in bytes"
    )


@pytest.mark.parametrize(
    "remote",
    [
        pytest.param(volume(locality=Locality.DISABLED), id="disabled"),
        pytest.param(volume(shared=True), id="shared"),
    ],
)
def test_replica_that_cannot_be_read_costs_no_node_when_nothing_is_local(remote: Volume) -> None:
    view = view_of(node("node-1"), node("node-2"), *bound(remote), BROKEN_REPLICA)

    assert accepted(view) == ["node-1", "node-2"]


def test_strict_local_volume_that_waits_for_one_node_may_start_on_another() -> None:
    waiting = replica(on="", pinned_to="node-1", healthy_once=False)
    view = view_of(node("node-1", FULL), node("node-2"), *bound(STRICT), waiting)

    assert accepted(view) == ["node-2"]


SIZES = (5, 4, 4, 3, 2, 2)
PUZZLE = [volume(f"v{n}", size_bytes=size * GIB) for n, size in enumerate(SIZES)]
"""Fits two disks of 10 GiB, but only a search of 7 steps finds how."""


def puzzle_node(name: str) -> Node:
    return node(name, *(disk(f"disk-{n}", maximum_bytes=10 * GIB) for n in (1, 2)))


@pytest.mark.parametrize(
    ("per_node", "per_request", "expected"),
    [
        pytest.param(0, 100, [], id="no-step-per-node"),
        pytest.param(1, 100, [], id="too-few-per-node"),
        pytest.param(100, 0, [], id="no-step-per-request"),
        pytest.param(100, 10, ["node-1"], id="enough-for-one-node"),
        pytest.param(100, 100, ["node-1", "node-2", "node-3"], id="enough-for-all"),
    ],
)
def test_step_limits(per_node: int, per_request: int, expected: list[str]) -> None:
    view = view_of(*(puzzle_node(f"node-{n}") for n in (1, 2, 3)), *bound(*PUZZLE))
    claims = [volume.name for volume in PUZZLE]

    result = ask(view, *claims, limits=StepLimits(per_node=per_node, per_request=per_request))

    assert result.accepted == expected
    assert set(result.rejected.values()) <= {PackingUndecided()}
    assert result.steps <= per_request


def test_verdict_cut_short_by_the_request_limit_is_not_remembered() -> None:
    view = view_of(*(puzzle_node(f"node-{n}") for n in (1, 2)), *bound(*PUZZLE))
    asked = pod(*(volume.name for volume in PUZZLE))
    extender = Extender(StepLimits(per_node=100, per_request=10))
    extender.filter(asked, names("node-1", "node-2"), view)

    result = extender.filter(asked, names("node-2"), view)

    assert result.accepted == ["node-2"]


def test_remembered_verdicts_take_no_steps() -> None:
    view = view_of(puzzle_node("node-1"), *bound(*PUZZLE))
    asked = pod(*(volume.name for volume in PUZZLE))
    extender = Extender(GENEROUS)
    first = extender.filter(asked, names("node-1"), view)

    second = extender.filter(asked, names("node-1"), view)

    assert (first.steps > 0, second.steps) == (True, 0)
    assert second.accepted == first.accepted


def test_setting_that_changed_is_heeded() -> None:
    large = volume(size_bytes=150 * GIB)
    before = view_of(node(), *bound(large))
    after = view_of(node(), *bound(large), setting("storage-over-provisioning-percentage", "200"))
    extender = Extender(GENEROUS)
    extender.filter(pod(), names("node-1"), before)

    assert extender.filter(pod(), names("node-1"), after).accepted == ["node-1"]


def test_pod_that_brings_a_pending_replica_is_judged_without_it() -> None:
    volumes = volume("vol", size_bytes=60 * GIB), volume("other", size_bytes=60 * GIB)
    view = view_of(node(), *bound(*volumes), pending(of="other", size_bytes=60 * GIB))
    extender = Extender(GENEROUS)
    assert extender.filter(pod("vol"), names("node-1"), view).accepted == []

    assert extender.filter(pod("other"), names("node-1"), view).accepted == ["node-1"]


def test_pending_replica_counts_no_longer_when_its_volume_is_deleted() -> None:
    other = volume("other", size_bytes=60 * GIB)
    view = view_of(node(), *bound(volume(size_bytes=60 * GIB)), other, pending())
    extender = Extender(GENEROUS)
    assert extender.filter(pod(), names("node-1"), view).accepted == []

    remaining = {name: each for name, each in view.volumes.items() if name != "other"}
    later = msgspec.structs.replace(view, volumes=remaining)  # no space was replaced
    later.volume_changes.add(VolumeName("other"))

    assert extender.filter(pod(), names("node-1"), later).accepted == ["node-1"]


def test_strict_local_pod_does_not_spoil_what_is_remembered_of_another() -> None:
    placed = volume("placed", locality=Locality.STRICT_LOCAL)
    view = view_of(
        node("node-1"),
        node("node-2", disk(ready=False)),
        *bound(placed, volume("free")),
        replica("placed-r-1", of="placed", on="node-2"),
    )
    extender = Extender(GENEROUS)
    assert extender.filter(pod("placed"), names("node-1"), view).accepted == []

    assert extender.filter(pod("free"), names("node-1"), view).accepted == ["node-1"]
    assert extender.filter(pod("placed"), names("node-1"), view).accepted == []


def test_many_different_needs_are_answered_as_the_first_was() -> None:
    volumes = [volume(f"v{n}", size_bytes=(90 + n) * GIB) for n in range(40)]
    view = view_of(node(), *bound(*volumes))
    extender = Extender(GENEROUS)

    def fitting() -> list[int]:
        return [
            n for n in range(40) if extender.filter(pod(f"v{n}"), names("node-1"), view).accepted
        ]

    assert fitting() == list(range(11))
    assert fitting() == list(range(11))
