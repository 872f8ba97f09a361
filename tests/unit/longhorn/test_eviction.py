"""When replicas are evicted, and when a drain may end."""

from typing import Any

import pytest

from longhorn import Node, NodeName, Replica, Settings, drain_may_end, needs_eviction
from tests.unit.longhorn.objects import disk, failed, node, replica

BLOCK_IF_LAST = "block-if-contains-last-replica"
EVICT_ALL = "block-for-eviction"
EVICT_LAST = "block-for-eviction-if-contains-last-replica"
ALLOW_STOPPED = "allow-if-replica-is-stopped"
ALWAYS_ALLOW = "always-allow"
POLICIES = (BLOCK_IF_LAST, EVICT_ALL, EVICT_LAST, ALLOW_STOPPED, ALWAYS_ALLOW)

HERE = replica("a1")
PEER = replica("b1", name="vol-r-2")
STOPPED: dict[str, Any] = {"desireState": "stopped", "status": {"currentState": "stopped"}}


def evicts(
    *peers: Replica,
    of: Replica = HERE,
    on: Node | None = None,
    policy: str = BLOCK_IF_LAST,
    cordoned: bool = True,
    guarded: tuple[NodeName, ...] = (NodeName("b"),),
) -> bool:
    settings = Settings(drain_policy=policy)
    return needs_eviction(
        of, [of, *peers], on or node(), settings, cordoned=cordoned, guarded=guarded
    )


def ends(*replicas: Replica, policy: str, guarded: tuple[NodeName, ...] = (NodeName("b"),)) -> bool:
    return drain_may_end(NodeName("a"), replicas, Settings(drain_policy=policy), guarded=guarded)


@pytest.mark.parametrize("cordoned", [True, False])
@pytest.mark.parametrize(
    ("on", "expected"),
    [
        pytest.param(node(spec={"evictionRequested": True}), True, id="node"),
        pytest.param(node("a", disk(spec={"evictionRequested": True})), True, id="disk"),
        pytest.param(
            node("a", disk(), disk(spec={"evictionRequested": True})), False, id="another-disk"
        ),
        pytest.param(node(), False, id="none"),
    ],
)
def test_a_requested_eviction(on, *, cordoned, expected):
    assert evicts(on=on, cordoned=cordoned) is expected


@pytest.mark.parametrize(
    ("status", "reason", "expected"),
    [
        ("False", "KubernetesNodeNotReady", False),
        ("False", "KubernetesNodeGone", False),
        ("False", "ManagerPodDown", True),
        ("True", "KubernetesNodeGone", True),
    ],
)
def test_nothing_is_evicted_from_a_node_that_is_down(status, reason, *, expected):
    ready = {"type": "Ready", "status": status, "reason": reason}
    on = node(spec={"evictionRequested": True}, status={"conditions": [ready]})

    assert evicts(on=on) is expected


@pytest.mark.parametrize("policy", POLICIES)
def test_a_cordon_evicts_by_policy(policy):
    assert evicts(policy=policy) is (policy in (EVICT_ALL, EVICT_LAST))
    assert evicts(PEER, policy=policy) is (policy == EVICT_ALL)
    assert not evicts(policy=policy, cordoned=False)


@pytest.mark.parametrize("replicas", [(HERE,), (HERE, PEER)], ids=["last", "kept-elsewhere"])
def test_an_unknown_policy_keeps_the_last_replica_and_moves_nothing(replicas):
    of_default = ends(*replicas, policy=BLOCK_IF_LAST)

    assert ends(*replicas, policy="unheard-of") is of_default
    assert not evicts(*replicas[1:], policy="unheard-of")


@pytest.mark.parametrize(
    ("peer", "guarded"),
    [
        pytest.param(PEER, (), id="not-guarded"),
        pytest.param(failed("b1", name="peer"), ("b",), id="failed"),
        pytest.param(replica("b1", name="peer", healthyAt=""), ("b",), id="rebuilding"),
        pytest.param(replica("b1", name="peer", deleting=True), ("b",), id="being-deleted"),
        pytest.param(replica("b1", name="peer", volumeName="other"), ("b",), id="another-volume"),
        pytest.param(replica("a2", name="peer"), ("a", "b"), id="same-node"),
    ],
)
def test_what_does_not_keep_the_data_elsewhere(peer, guarded):
    assert evicts(peer, policy=EVICT_LAST, guarded=guarded)
    assert not ends(HERE, peer, policy=BLOCK_IF_LAST, guarded=guarded)


MAY_END = {
    "last": ((HERE,), {ALWAYS_ALLOW}),
    "kept-elsewhere": ((HERE, PEER), {*POLICIES} - {EVICT_ALL}),
    "nothing-here": ((PEER,), {*POLICIES}),
    "nothing": ((), {*POLICIES}),
    "last-and-stopped": ((replica("a1", **STOPPED),), {ALWAYS_ALLOW, ALLOW_STOPPED}),
    "stopping": (
        (replica("a1", desireState="stopped", status={"currentState": "stopping"}),),
        {ALWAYS_ALLOW}),
    "starting": (
        (replica("a1", desireState="running", status={"currentState": "stopped"}),),
        {ALWAYS_ALLOW}),
    "never-used": ((replica("a1", healthyAt=""),), {*POLICIES} - {EVICT_ALL}),
    "failed": ((failed("a1", healthyAt=""),), {ALWAYS_ALLOW}),
    "one-of-two-kept": (
        (HERE, PEER, replica("a2", name="other-r-1", volumeName="other")), {ALWAYS_ALLOW}),
}  # fmt: skip


@pytest.mark.parametrize(("replicas", "may_end"), MAY_END.values(), ids=MAY_END)
def test_a_drain_ends_by_policy(replicas, may_end):
    assert {policy for policy in POLICIES if ends(*replicas, policy=policy)} == may_end
