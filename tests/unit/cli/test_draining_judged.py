"""What keeps a node from being drained, in many states of a cluster: kubectl, budgets, Longhorn."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from click import unstyle

from cli.draining.lines import lines
from cli.draining.report import make_report
from tests.builders import document
from tests.unit.cli.drained import (
    LONGHORN,
    SETTINGS,
    THEN,
    Document,
    attachment,
    budget,
    engines,
    host,
    judged,
    manager,
    manager_pod,
    node,
    pod,
    replica,
    settings,
    volume,
)

HERE, ALONE = node(), [*node(), volume(), replica()]
TWO = [*node(), *node("node-2"), volume(), replica(), replica("node-2")]
V2 = [*node(), volume(), replica(dataEngine="v2"), host("node-2")]
STATIC = {"kubernetes.io/config.mirror": "x"}
AUTOSCALED = settings(kubernetes_cluster_autoscaler_enabled="true")
AWAY = settings(node_drain_policy="always-allow")
UNGUARDED = [host(), manager(), manager_pod(), volume(), replica()]
LED = [*HERE, *node("node-3"), replica("node-3"), replica("gone"), volume()]
CSI = {"csi_attacher": "node-1"}


def web(number: int = 0, **fields: Any) -> Document:
    return pod(f"web-{number}", labels={"app": "web"}, **fields)


def kept(allowed: int = 0, policy: str = "", **status: int) -> Document:
    """Build the budget of the pods `web`."""
    found = budget("web", "default", labels={"app": "web"}, allowed=allowed, **status)
    if policy:
        found["spec"]["unhealthyPodEvictionPolicy"] = policy
    return found


def without_selector() -> Document:
    found = budget("none", "default")
    del found["spec"]["selector"]
    return found


def guarded(*pods: Document) -> list[Document]:
    """Build a node with an instance manager that does not run, and these pods of it."""
    state = manager(currentState="error")
    return [host(), state, budget("im-v1-node-1"), *pods, volume(), replica()]


def by_policy(value: str | None, *documents: Document) -> list[Document]:
    return [*documents, *settings(node_drain_policy=value)]


def of_default_image(*managers: Document) -> list[Document]:
    """Build a replica elsewhere that names no manager, with these on its node."""
    unnamed = replica("node-2", manager="")
    return [*ALONE, host("node-2"), budget("im-v1-node-2"), *managers, unnamed]


def of_v2(*states: str) -> list[Document]:
    """Build a replica of data engine v2 elsewhere, with managers in these states."""
    found = [*V2, replica("node-2", manager="", dataEngine="v2")]
    for number, state in enumerate(states):
        found += [manager("node-2", "v2", name=f"v2-{number}", currentState=state)]
        found += [budget(f"v2-{number}")]
    return found


def autoscaled(
    policy: str = SETTINGS["node-drain-policy"], *, cordoned: bool = False, state: str = "running"
) -> list[Document]:
    """Build a replica elsewhere that gets its budget from the autoscaler's setting."""
    there = [*node(cordoned=cordoned), host("node-2"), manager("node-2"), volume(), replica()]
    there += settings(kubernetes_cluster_autoscaler_enabled="true", node_drain_policy=policy)
    return [*there, replica("node-2", state=state)]


def stopped(desired: str, current: str) -> list[Document]:
    there = [*HERE, volume(), replica(state=current, desireState=desired)]
    return by_policy("allow-if-replica-is-stopped", *there)


def attached(*documents: Document, **nodes: str) -> list[Document]:
    """Build a node with an engine, and which tickets want it there."""
    there = [*node(instanceEngines=engines("vol-e-0")), attachment(**nodes), *documents]
    return [*there, *([] if documents else [volume(claim="data")])]


def used(*, owner: str = "DaemonSet", claim: str = "data", spec: Mapping[str, Any] | None = None,
         **fields: Any) -> list[Document]:  # fmt: skip
    user = pod(owner=owner, claims=[claim], **fields)
    return attached(volume(claim="data", **(spec or {})), user, **CSI)


def by_hand(**manager_fields: Any) -> list[Document]:
    return [*HERE, volume(), attachment(longhorn_api="node-1"), manager(**manager_fields)]


def sharded(spare: int, *states: str, first: int = 1) -> list[Document]:
    """Build a volume in shards with these states, on node-1 and the next ones."""
    layout = {"type": "sharded", "dataChunks": len(states) - spare, "parityChunks": spare}
    nodes = [each for number in (1, 2, 3) for each in node(f"node-{number}")]
    return [*nodes, volume("ec", dataLayout=layout)] + [
        document("Shard", f"ec-{slot}", spec={"shardGroupName": "ec", "size": "0",
                 "nodeID": f"node-{slot + first}"}, status={"state": state})
        for slot, state in enumerate(states)
    ]  # fmt: skip


ENGINES: Mapping[str, Any] = {"instanceEngines": engines("vol-e-0")}
BARE, LOCAL = "pod_without_controller", "pod_with_local_data"
ROWS: dict[str, dict[str, tuple[str, Sequence[Document]]]] = {
    "kubectl": {
        "pod-without-controller": (BARE, [*HERE, pod(owner=None)]),
        "pod-that-ended": ("", [*HERE, pod(owner=None, phase="Succeeded")]),
        "pod-of-the-kubelet": ("", [*HERE, pod(owner=None, annotations=STATIC)]),
        "pod-with-local-data": (LOCAL, [*HERE, pod(emptyDir=True)]),
        "pod-with-local-data-that-failed": ("", [*HERE, pod(emptyDir=True, phase="Failed")]),
        "pod-of-a-daemon-set-with-local-data":
            ("", [*HERE, pod(emptyDir=True, owner="DaemonSet")]),
        "pod-with-local-data-elsewhere": ("", [*HERE, pod(emptyDir=True, node="node-2")]),
        "pod-with-both": (f"{BARE}, {LOCAL}", [*HERE, pod(emptyDir=True, owner=None)]),
        "pods-with-both": (f"{BARE}, {BARE}, {LOCAL}, {LOCAL}",
            [*HERE, *(pod(name, owner=None, emptyDir=True) for name in ("a", "b"))]),
        "manager-of-v2-with-local-data": ("manager_with_local_data",
            [*HERE, manager(engine="v2"), budget("im-v2-node-1"),
             manager_pod(engine="v2", emptyDir=True)]),
        "node-not-ready": ("node_not_ready", [host(ready="False"), pod()]),
        "node-not-heard-of": ("node_not_ready", [host(ready="Unknown"), pod()]),
        "node-ready": ("", [host(), pod()]),
        "node-not-ready-without-pods-to-evict": ("", [host(ready="False"), pod(owner="DaemonSet")]),
        "pods-counted":
            ("", [*HERE, web(), pod("agent", owner="DaemonSet"), pod("other", "node-2")]),
    },
    "budgets": {
        "budget-that-allows-none": ("budget", [*HERE, kept(), web()]),
        "budget-that-allows-one": ("", [*HERE, kept(1), web()]),
        "budget-below-zero": ("budget", [*HERE, kept(-1), web()]),
        "budget-and-a-pod-that-waits": ("", [*HERE, kept(), web(phase="Pending")]),
        "budget-and-a-pod-that-ended": ("", [*HERE, kept(), web(phase="Succeeded")]),
        "budget-and-a-pod-that-ends": ("", [*HERE, kept(), web(deletionTimestamp=THEN)]),
        "budget-and-a-pod-that-stays": ("", [*HERE, kept(), web(owner="DaemonSet")]),
        "budget-and-a-pod-elsewhere": ("", [*HERE, kept(), web(node="node-2")]),
        "budget-and-a-pod-not-ready": ("budget", [*HERE, kept(), web(ready=False)]),
        "budget-met": ("", [*HERE, kept(currentHealthy=2, desiredHealthy=2), web(ready=False)]),
        "budget-not-met":
            ("budget", [*HERE, kept(currentHealthy=1, desiredHealthy=2), web(ready=False)]),
        "budget-of-none":
            ("budget", [*HERE, kept(currentHealthy=0, desiredHealthy=0), web(ready=False)]),
        "budget-not-met-by-its-policy": ("budget", [*HERE, web(ready=False),
            kept(policy="IfHealthyBudget", currentHealthy=1, desiredHealthy=2)]),
        "budget-for-healthy-pods-alone": ("", [*HERE, web(ready=False),
            kept(policy="AlwaysAllow", currentHealthy=1, desiredHealthy=2)]),
        "budget-elsewhere-or-without-selector": ("",
            [*HERE, budget("web", "other", labels={"app": "web"}), without_selector(), web()]),
        "budget-of-all-pods": ("budget", [*HERE, budget("all", "default", labels={}), web()]),
        "budgets-of-one-pod": ("several_budgets", [*HERE, web(), *(
            budget(name, "default", labels={"app": "web"}, allowed=1) for name in ("a", "b"))]),
        "budget-of-a-manager-besides-its-own":
            ("budget", [*HERE, budget("mine", LONGHORN, labels={"im": "im-v1-node-1"})]),
        "budget-for-one-of-two": ("!one_by_one", [*HERE, kept(1), web(0), web(1)]),
        "budget-without-status": ("?",
            [*HERE, budget("web", "default", labels={"app": "web"}, allowed=None), web()]),
        "budget-after-what-kubectl-refuses":
            (f"{BARE}, budget", [*HERE, kept(), web(), pod("tool", owner=None)]),
    },
    "managers": {
        "manager-that-ends": ("!volume_away",
            [host(), manager(deleting=True), budget("im-v1-node-1"), manager_pod(), *ALONE[-2:]]),
        "manager-stopped-and-pod-unready":
            ("manager_not_running, !volume_away", guarded(manager_pod(ready=False))),
        "manager-stopped-and-pod-pending": ("!volume_away", guarded(manager_pod(phase="Pending"))),
        "manager-stopped-and-pod-failed": ("!volume_away", guarded(manager_pod(phase="Failed"))),
        "manager-stopped-and-pod-ending":
            ("!volume_away", guarded(manager_pod(deletionTimestamp=THEN))),
        "manager-stopped-and-pod-gone": ("!volume_away", guarded()),
        "manager-unguarded-and-node-cordoned":
            ("!volume_away", [host(cordoned=True), manager(), manager_pod(), volume(), replica()]),
        "manager-unguarded": ("last_replica", UNGUARDED),
        "manager-unguarded-for-the-autoscaler": ("!volume_away", [*UNGUARDED, *AUTOSCALED]),
        "manager-of-an-unknown-type": ("manager_of_unknown_type",
            [host(), manager(type="odd"), budget("im-v1-node-1")]),
        "manager-missing": ("!volume_away", [host(), volume(), replica()]),
    },
    "replicas": {
        "replica-alone": ("last_replica", ALONE),
        "replica-protected-elsewhere": ("", TWO),
        "replica-alone-on-a-cordoned-node":
            ("last_replica", [*node(cordoned=True), volume(), replica()]),
        "policy-missing": ("no_policy, !volume_away", by_policy(None, *ALONE)),
        "policy-empty": ("no_policy, !volume_away", by_policy("", *ALONE)),
        "policy-always-allow": ("!volume_away", by_policy("always-allow", *ALONE)),
        "policy-eviction": ("replica_to_move", by_policy("block-for-eviction", *ALONE)),
        "policy-eviction-of-the-last": ("last_replica_to_move",
            by_policy("block-for-eviction-if-contains-last-replica", *ALONE)),
        "policy-last": ("last_replica", by_policy("block-if-contains-last-replica", *ALONE)),
        "policy-stopped": ("last_replica", by_policy("allow-if-replica-is-stopped", *ALONE)),
        "policy-unknown": ("last_replica", by_policy("no-such-policy", *ALONE)),
        **{f"strict-local-{policy}": ("strict_local_replica", by_policy(
            policy, *HERE, volume(dataLocality="strict-local"), replica()))
            for policy in ("block-for-eviction", "block-for-eviction-if-contains-last-replica",
                           "block-if-contains-last-replica")},
        "policy-eviction-of-one-of-two": ("replica_to_move", by_policy("block-for-eviction", *TWO)),
        "replica-stopped": ("!volume_away", stopped("stopped", "stopped")),
        "replica-starting": ("last_replica", stopped("running", "stopped")),
        "replica-stopping": ("last_replica", stopped("stopped", "running")),
        "replica-never-used": ("", [*HERE, volume(), replica(healthyAt="")]),
        "replica-failed": ("failed_replica", [*HERE, volume(), replica(failedAt=THEN)]),
        "replica-labelled-for-the-node": ("last_replica", [*HERE, *node("node-2"), volume(),
            replica("node-2", label="node-1", manager="gone")]),
        "replica-labelled-for-another-node":
            ("", [*HERE, *node("node-2"), volume(), replica(label="node-2")]),
        "replica-of-the-same-node":
            ("last_replica, last_replica", [*ALONE, replica(name="vol-r-2")]),
    },
    "peers": {
        "peer-failed":
            ("last_replica", [*ALONE, *node("node-2"), replica("node-2", failedAt=THEN)]),
        "peer-rebuilding":
            ("last_replica", [*ALONE, *node("node-2"), replica("node-2", healthyAt="")]),
        "peer-on-a-cordoned-node":
            ("last_replica", [*ALONE, *node("node-2", cordoned=True), replica("node-2")]),
        "peer-of-a-stopped-manager":
            ("last_replica", [*ALONE, *node("node-2", currentState="error"), replica("node-2")]),
        "peer-without-budget":
            ("last_replica", [*ALONE, host("node-2"), manager("node-2"), replica("node-2")]),
        "peer-without-manager":
            ("last_replica", [*ALONE, *node("node-2"), replica("node-2", manager="gone")]),
        "peer-whose-node-is-gone": ("peer_unclear", [*LED, replica()]),
        # Longhorn looks up all of them before it asks whether the one on the node was ever used.
        "peer-whose-node-is-gone-of-one-never-used":
            ("peer_unclear", [*LED, replica(healthyAt="")]),
        "manager-of-the-default-image": ("", of_default_image(manager("node-2"))),
        "manager-of-an-old-image": ("peer_unclear", of_default_image(manager("node-2", image="o"))),
        "managers-of-the-default-image": ("peer_unclear",
            of_default_image(manager("node-2"), manager("node-2", name="second"))),
        "managers-of-two-images":
            ("", of_default_image(manager("node-2"), manager("node-2", name="old", image="old"))),
        "manager-of-the-other-engine":
            ("peer_unclear", of_default_image(manager("node-2", engine="v2"))),
        "manager-of-an-old-type":
            ("peer_unclear", of_default_image(manager("node-2", type="replica"))),
        "manager-of-no-image": ("peer_unclear", of_default_image()),
        "manager-of-v2": ("", of_v2("running")),
        "manager-of-v2-beside-a-stopped-one": ("", of_v2("error", "running")),
        "managers-of-v2": ("peer_unclear", of_v2("running", "running")),
        "manager-of-v2-stopped": ("last_replica", of_v2("error")),
        # Longhorn has a budget for one replica of each volume, on a node that is not cordoned.
        "autoscaler-before-the-cordon": ("", autoscaled()),
        "autoscaler-after-the-cordon": ("last_replica", autoscaled(cordoned=True)),
        "autoscaler-and-a-stopped-peer-asked-about": ("", autoscaled(state="stopped")),
        "autoscaler-and-a-stopped-peer":
            ("last_replica", autoscaled("allow-if-replica-is-stopped", state="stopped")),
    },
    "engines": {
        "engine-of-a-pod": ("", attached(volume(claim="data"), pod(claims=["data"]), **CSI)),
        "engine-attached-by-hand": ("attached_by_hand", attached(longhorn_api="node-1")),
        "engine-for-a-backup": ("attached_by_longhorn", attached(backup_controller="node-1")),
        "engine-for-an-eviction":
            ("attached_by_longhorn", attached(volume_eviction_controller="node-1")),
        "engine-of-a-share-manager": ("", attached(share_manager_controller="node-1")),
        "engine-wanted-elsewhere": ("!detaching", attached(longhorn_api="node-2")),
        "engine-detached-by-the-cordon": ("", [*attached(longhorn_api="node-1"),
            *settings(detach_manually_attached_volumes_when_cordoned="true")]),
        "engine-of-a-daemon-set": ("attached_for_staying_pod", used()),
        "engine-of-a-static-pod":
            ("attached_for_staying_pod", used(owner="ReplicaSet", annotations=STATIC)),
        "engine-of-another-claim": ("", used(claim="other")),
        "engine-of-a-shared-volume": ("", used(spec={"accessMode": "rwx"})),
        "engine-of-a-migratable-volume": ("attached_for_staying_pod",
            used(spec={"accessMode": "rwx", "migratable": True})),
        "engine-of-a-pod-elsewhere": ("", used(node="node-2")),
        "engine-of-an-old-manager": ("attached_by_hand",
            by_hand(name="old", type="engine", currentState="running", **ENGINES)),
        "engine-of-an-old-manager-stopped": ("attached_by_hand",
            by_hand(name="old", type="engine", currentState="error", **ENGINES)),
        "engine-without-volume":
            ("orphaned_engine", node(instanceEngines=engines("gone-e-0"))),
        # In every field that versions of Longhorn have.
        **{f"engine-in-{field}": ("attached_by_hand",
            by_hand(engine="v2", currentState="error", **{field: engines("vol-e-0")}))
            for field in ("instanceEngines", "instanceEngineFrontends", "instances")},
        "engine-before-replicas": ("attached_by_hand, last_replica",
            attached(volume(claim="data"), replica(), longhorn_api="node-1")),
        "engine-of-a-manager-for-engines-alone": ("attached_by_hand, !volume_away", [host(),
            manager(type="engine", **ENGINES), budget("im-v1-node-1"), volume(), replica(),
            attachment(longhorn_api="node-1")]),
    },
    "shards": {
        "shards-whole": ("", sharded(1, "normal", "normal", "normal")),
        "shards-one-failed-of-one-spare":
            ("!shards_lost", sharded(1, "normal", "failed", "normal")),
        "shards-one-failed-of-two-spare":
            ("!shards_not_whole", sharded(2, "normal", "failed", "normal")),
        "shards-failed-here": ("!shards_not_whole", sharded(1, "failed", "normal", "normal")),
        "shards-failed-here-and-there":
            ("!shards_not_whole", sharded(1, "failed", "failed", "normal")),
        "shards-none-spare": ("!shards_lost", sharded(0, "normal", "normal", "normal")),
        "shards-elsewhere": ("", sharded(1, "failed", "normal", first=2)),
    },
}  # fmt: skip
"""What there is, and codes of what is in the way; `!` before a caution, `?` for what is unknown."""
ROWS_OF_ALL = [pytest.param(*row, id=name) for rows in ROWS.values() for name, row in rows.items()]


def codes(*documents: Document, **options: Any) -> str:
    verdict = judged(*documents, **options)
    may = "not_yet" if verdict.obstacles else "unknown" if verdict.unknown else "yes"
    assert verdict.may == may
    found = [str(each.code) for each in verdict.obstacles]
    found += [f"!{each.code}" for each in verdict.cautions]
    return ", ".join([*found, *"?" * len(verdict.unknown)])


@pytest.mark.parametrize(("expected", "documents"), ROWS_OF_ALL)
def test_a_state_keeps_a_node_or_not(expected, documents):
    assert codes(*documents) == expected


@pytest.mark.parametrize("topic", ROWS)
def test_a_state_is_told_in_these_lines(golden, topic):
    text = list[str]()
    for row, (_, documents) in ROWS[topic].items():
        text += [f"# {row}", *lines(make_report([judged(*documents)], ""), 100), ""]

    golden(f"draining/{topic}", unstyle("\n".join(text)))


@pytest.mark.parametrize(
    ("documents", "options", "expected"),
    [
        ([*HERE, pod(owner=None)], {"force": True}, ""),
        ([*HERE, pod(emptyDir=True)], {"force": True}, LOCAL),
        ([*HERE, pod(emptyDir=True)], {"delete_local_data": True}, ""),
        (ROWS["kubectl"]["manager-of-v2-with-local-data"][1], {"delete_local_data": True}, ""),
        (TWO, {"also": ["node-2"]}, "last_replica"),
        ([*TWO, *AWAY], {}, ""),
        ([*TWO, *AWAY], {"also": ["node-2"]}, "!volume_away"),
    ],
)
def test_options_of_a_drain_change_what_is_in_the_way(documents, options, expected):
    assert codes(*documents, **options) == expected


@pytest.mark.parametrize("is_cordoned", [True, False])
def test_a_cordon_is_told(*, is_cordoned):
    assert judged(*node(cordoned=is_cordoned)).cordoned is is_cordoned
