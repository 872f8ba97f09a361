"""When Longhorn lets the instance managers of a node go: each step of its decision."""

import pytest

from tests.unit.cli.drained import (
    THEN,
    Document,
    budget,
    host,
    in_the_way,
    judged,
    manager,
    manager_pod,
    node,
    replica,
    settings,
    volume,
)

ALONE = [*node(), volume(), replica()]
"""The only replica of a volume is there."""
LAST = [("last_replica", "Replica vol-r-node-1")]
TWO = [*node(), *node("node-2"), volume(), replica(), replica("node-2")]


def policy(value: str | None, *documents: Document) -> list[Document]:
    return [*documents, *settings(node_drain_policy=value)]


def test_the_only_replica_keeps_a_node() -> None:
    verdict = judged(*ALONE)

    assert [each.logged for each in verdict.obstacles] == [
        "replica vol-r-node-1 has no pdb on another node"
    ]
    assert in_the_way(*ALONE) == LAST


def test_a_protected_replica_elsewhere_lets_a_node_go() -> None:
    assert in_the_way(*TWO) == []


@pytest.mark.parametrize("is_cordoned", [True, False])
def test_a_cordon_changes_nothing_since_the_drain_sets_it_first(*, is_cordoned: bool) -> None:
    documents = [*node(cordoned=is_cordoned), volume(), replica()]

    assert in_the_way(*documents) == LAST
    assert judged(*documents).cordoned is is_cordoned


def test_a_manager_that_is_being_deleted_holds_nothing_back() -> None:
    there = [host(), manager(deleting=True), budget("im-v1-node-1"), manager_pod()]

    assert in_the_way(*there, volume(), replica()) == []


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        ([manager_pod(ready=False)], ["manager_not_running"]),
        ([manager_pod(phase="Pending")], []),
        ([manager_pod(phase="Failed")], []),
        ([manager_pod(deletionTimestamp=THEN)], []),
        ([], []),
    ],
    ids=["unready", "pending", "failed", "ending", "gone"],
)
def test_the_budget_of_a_manager_that_does_not_run_stays(
    pods: list[Document], expected: list[str]
) -> None:
    there = [host(), manager(currentState="error"), budget("im-v1-node-1"), *pods]

    assert [code for code, _ in in_the_way(*there, volume(), replica())] == expected


def test_without_a_budget_on_a_cordoned_node_all_may_go() -> None:
    there = [host(cordoned=True), manager(), manager_pod(), volume(), replica()]

    assert in_the_way(*there) == []


def test_without_a_budget_on_a_node_that_is_not_cordoned_one_is_about_to_be_made() -> None:
    assert in_the_way(host(), manager(), manager_pod(), volume(), replica()) == LAST


def test_with_the_autoscaler_there_need_be_no_budget() -> None:
    there = [host(), manager(), manager_pod(), volume(), replica()]

    assert in_the_way(*there, *settings(kubernetes_cluster_autoscaler_enabled="true")) == []


def test_a_manager_of_an_unknown_type_is_an_error() -> None:
    there = [host(), manager(type="odd"), budget("im-v1-node-1")]

    assert in_the_way(*there) == [("manager_of_unknown_type", "InstanceManager im-v1-node-1")]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "no_policy"),
        ("", "no_policy"),
        ("always-allow", None),
        ("block-for-eviction", "replica_to_move"),
        ("block-for-eviction-if-contains-last-replica", "last_replica_to_move"),
        ("block-if-contains-last-replica", "last_replica"),
        ("allow-if-replica-is-stopped", "last_replica"),
        ("no-such-policy", "last_replica"),
    ],
)
def test_the_policy_decides_about_the_only_replica(value: str | None, expected: str | None) -> None:
    found = in_the_way(*policy(value, *ALONE))

    assert [code for code, _ in found] == ([expected] if expected else [])


@pytest.mark.parametrize(
    "value",
    [
        "block-for-eviction",
        "block-for-eviction-if-contains-last-replica",
        "block-if-contains-last-replica",
    ],
)
def test_a_strict_local_replica_goes_nowhere(value: str) -> None:
    there = [*node(), volume(dataLocality="strict-local"), replica()]

    found = in_the_way(*policy(value, *there))

    assert found == [("strict_local_replica", "Replica vol-r-node-1")]


def test_block_for_eviction_wants_every_replica_gone() -> None:
    assert in_the_way(*policy("block-for-eviction", *TWO)) == [
        ("replica_to_move", "Replica vol-r-node-1")
    ]


@pytest.mark.parametrize(
    ("desired", "current", "expected"),
    [("stopped", "stopped", []), ("running", "stopped", LAST), ("stopped", "running", LAST)],
)
def test_a_replica_is_stopped_only_if_it_is_and_shall_be(
    desired: str, current: str, expected: list[tuple[str, str]]
) -> None:
    there = [*node(), volume(), replica(state=current, desireState=desired)]

    assert in_the_way(*policy("allow-if-replica-is-stopped", *there)) == expected


def test_a_replica_that_was_never_used_holds_nothing_back() -> None:
    assert in_the_way(*node(), volume(), replica(healthyAt="")) == []


def test_a_failed_replica_does_without_another_one() -> None:
    assert in_the_way(*node(), volume(), replica(failedAt=THEN)) == [
        ("failed_replica", "Replica vol-r-node-1")
    ]


def test_longhorn_finds_the_replicas_of_a_node_by_their_label() -> None:
    there = [*node(), *node("node-2"), volume()]

    assert in_the_way(*there, replica("node-2", label="node-1", manager="gone")) == [
        ("last_replica", "Replica vol-r-node-2")
    ]
    assert in_the_way(*there, replica(label="node-2")) == []


@pytest.mark.parametrize(
    ("peer", "why"),
    [
        ([*node("node-2"), replica("node-2", failedAt=THEN)], "has failed"),
        ([*node("node-2"), replica("node-2", healthyAt="")], "has no data yet"),
        ([*node("node-2", cordoned=True), replica("node-2")], "is on a cordoned node"),
        (
            [*node("node-2", currentState="error"), replica("node-2")],
            "has an instance manager that does not run: im-v1-node-2 is 'error'",
        ),
        (
            [host("node-2"), manager("node-2"), replica("node-2")],
            "has an instance manager without a PodDisruptionBudget: im-v1-node-2",
        ),
        (
            [*node("node-2"), replica("node-2", manager="gone")],
            "has no instance manager: gone is not there",
        ),
    ],
    ids=["failed", "rebuilding", "cordoned", "stopped", "no-budget", "no-manager"],
)
def test_a_replica_elsewhere_does_not_count(peer: list[Document], why: str) -> None:
    verdict = judged(*ALONE, *peer)

    assert [str(each.code) for each in verdict.obstacles] == ["last_replica"]
    assert f"(vol-r-node-2 on node-2 {why})" in verdict.obstacles[0].text


def test_a_second_replica_on_the_same_node_does_not_count() -> None:
    found = in_the_way(*ALONE, replica(name="vol-r-2"))

    assert found == [("last_replica", "Replica vol-r-2"), *LAST]


def test_a_node_that_is_drained_along_does_not_count() -> None:
    assert in_the_way(*TWO, also=["node-2"]) == LAST
    assert in_the_way(*TWO) == []


@pytest.mark.parametrize("healthy_at", [THEN, ""], ids=["used", "never-used"])
def test_a_healthy_replica_whose_node_is_gone_is_an_error(healthy_at: str) -> None:
    """Longhorn looks up all of them before it asks whether the one on the node was ever used."""
    there = [*node(), *node("node-3"), volume(), replica(healthyAt=healthy_at)]

    assert in_the_way(*there, replica("node-3"), replica("gone")) == [
        ("peer_unclear", "Replica vol-r-node-1")
    ]


@pytest.mark.parametrize(
    ("managers", "expected"),
    [
        ([manager("node-2")], []),
        ([manager("node-2", image="old")], ["peer_unclear"]),
        ([manager("node-2"), manager("node-2", name="second")], ["peer_unclear"]),
        ([manager("node-2"), manager("node-2", name="old", image="old")], []),
        ([manager("node-2", engine="v2")], ["peer_unclear"]),
        ([manager("node-2", type="replica")], ["peer_unclear"]),
        ([], ["peer_unclear"]),
    ],
    ids=["default", "old-image", "two", "two-images", "other-engine", "old-type", "none"],
)
def test_a_replica_that_names_no_manager_has_that_of_the_default_image(
    managers: list[Document], expected: list[str]
) -> None:
    there = [host("node-2"), budget("im-v1-node-2"), *managers, replica("node-2", manager="")]

    assert [code for code, _ in in_the_way(*ALONE, *there)] == expected


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        (["running"], []),
        (["error", "running"], []),
        (["running", "running"], ["peer_unclear"]),
        (["error"], ["last_replica"]),
    ],
)
def test_of_data_engine_v2_it_has_the_only_manager_or_the_only_one_that_runs(
    states: list[str], expected: list[str]
) -> None:
    managers = [
        manager("node-2", "v2", name=f"v2-{number}", currentState=state)
        for number, state in enumerate(states)
    ]
    guards = [budget(each["metadata"]["name"]) for each in managers]
    peer = replica("node-2", manager="", dataEngine="v2")
    there = [*node(), volume(), replica(dataEngine="v2")]

    assert [code for code, _ in in_the_way(*there, host("node-2"), *managers, *guards, peer)] == (
        expected
    )


@pytest.mark.parametrize(
    ("cordoned", "state", "value", "expected"),
    [
        (False, "running", "block-if-contains-last-replica", []),
        (True, "running", "block-if-contains-last-replica", LAST),
        (False, "stopped", "block-if-contains-last-replica", []),
        (False, "stopped", "allow-if-replica-is-stopped", LAST),
    ],
    ids=["before-the-cordon", "after-it", "stopped-and-asked-about", "stopped"],
)
def test_with_the_autoscaler_a_budget_is_made_after_the_cordon(
    *, cordoned: bool, state: str, value: str, expected: list[tuple[str, str]]
) -> None:
    """Longhorn has a budget for one replica of each volume, on a node that is not cordoned."""
    there = [*node(cordoned=cordoned), host("node-2"), manager("node-2"), volume(), replica()]
    there += settings(kubernetes_cluster_autoscaler_enabled="true", node_drain_policy=value)

    assert in_the_way(*there, replica("node-2", state=state)) == expected


def test_without_an_instance_manager_longhorn_holds_nothing_back() -> None:
    assert in_the_way(host(), volume(), replica()) == []
