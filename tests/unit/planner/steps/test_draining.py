"""The step `drain`: what kubectl, budgets and Longhorn do with a node's pods and replicas."""

import pytest
from msgspec import structs

from longhorn import VolumeName
from planner.records import PodTerm, Selector
from tests.builders import bound, instance_manager, replica, volume
from tests.unit.planner.clusters import kubernetes_node, pod_with
from tests.unit.planner.notation import records_of, result_of, step_of, taken
from tests.unit.planner.plans import plan_of

ALWAYS, BLOCK = "=always-allow", "=block-if-contains-last-replica"
EVICT, STOPPED = "=block-for-eviction", "=allow-if-replica-is-stopped"
EVICT_LAST = "=block-for-eviction-if-contains-last-replica"
MOVED = "replica_placed old 2 | replica_removed old 1"
FORCE = "has no controller: the drain does not begin without --force, which deletes it"
EMPTY_DIR = "has an emptyDir: the drain does not begin without --delete-emptydir-data"
AWAIT = "refused node 2: is cordoned only: kubectl drains it once 1 is drained"
NO_DISRUPTION = "is not evicted: PodDisruptionBudget pdb allows no disruption"
THREE, DRAIN = ".web-0@1/db .web-1@1/db .web-2@3/db", "cordon 3; drain 1"
BOTH_MOVE = "moved web-0 2 | moved web-1 2"


def kept(policy: str) -> str:
    return (
        f"refused node 1: is not drained to the end: by node-drain-policy {policy[1:]} Longhorn "
        "keeps its instance manager for old"
    )


def refused(pod: str, why: str = NO_DISRUPTION) -> str:
    return f"refused {pod} 1: {why}"


def attached(volume: str) -> str:
    return f"refused node 1: is not drained to the end: still attached there are {volume}"


ROWS = {
    "pod-moves": (f"ab {ALWAYS} db@1", "drain 1", "moved db 2", "db@2[2]"),
    "last-replica-follows-its-pod": ("ab db@1", "drain 1", "moved db 2", "db@2[2]"),
    "last-replica-has-no-other-place": ("ab:100,5 old[1]", "drain 1", kept(BLOCK), "old[1]"),
    # A policy and the last replica, of a volume without locality: nothing else moves it.
    "last-replica-blocks": (f"ab {BLOCK} old[1]~", "drain 1", kept(BLOCK), "old[1]"),
    "last-replica-is-never-waited-for": (f"ab {ALWAYS} old[1]~", "drain 1", "", "old[1]"),
    "last-replica-is-stopped": (f"ab {STOPPED} old[1]~", "drain 1", "", "old[1]"),
    "last-replica-runs": (f"ab {STOPPED} old@2[1]~", "drain 1", kept(STOPPED), "old@2[1]"),
    "all-replicas-move": (f"ab {EVICT} old[1]~", "drain 1", MOVED, "old[2]"),
    "all-replicas-move-while-in-use": (f"ab {EVICT} old@2[1]~", "drain 1", MOVED, "old@2[2]"),
    "last-replica-moves": (f"ab {EVICT_LAST} old[1]~", "drain 1", MOVED, "old[2]"),
    "peer-elsewhere": (f"abc {EVICT_LAST} db@2[1,2]", "drain 1", "", "db@2[1,2]"),
    "peer-elsewhere-while-blocked": (f"abc {BLOCK} db@2[1,2]", "drain 1", "", "db@2[1,2]"),
    "peer-is-drained-too": (f"abc {EVICT_LAST} db@3[1,2]", "drain 1 2", "", "db@3[2,3]"),
    "uncordoning-ends-an-eviction": (
        f"a {EVICT} old[1]~", "drain 1; uncordon 1; add 2 like 1", "", "old[1]"),
    "node-to-be-drained-next-gets-no-pod": (
        f"abc {ALWAYS} db@1", "drain 1 2", "moved db 3", "db@3[3]"),
    "pod-without-another-node": (f"a {ALWAYS} .web@1", "drain 1", "pending web", ".web@"),
    "pod-comes-back-later": (
        f"a {ALWAYS} .web@1", "drain 1; add 2 like 1", "placed web 2", ".web@2"),
    "strict-local": (f"ab {ALWAYS} db@1!", "drain 1", "pending db", "db@[1]"),
    # Which pods kubectl refuses, passes over and deletes
    "bare-pod-is-refused-and-none-moves": (
        f"ab {ALWAYS} .bare@1/bare db@1", "drain 1", refused("bare", FORCE), ".bare@1 db@1[1]"),
    "bare-pod-with-force": (f"ab {ALWAYS} .bare@1/bare", "drain 1 --force", "lost bare 1", ""),
    "empty-dir": (
        f"ab {ALWAYS} .web@1/emptydir", "drain 1", refused("web", EMPTY_DIR), ".web@1"),
    "empty-dir-that-may-go": (f"ab {ALWAYS} .web@1/emptydir",
        "drain 1; drain 1 --delete-emptydir-data", "moved web 2", ".web@2"),
    "next-node-after-a-refusal": (f"abc {ALWAYS} .bare@1/bare .web@2", "drain 1 2",
        f"{refused('bare', FORCE)} | moved web 3", ".bare@1 .web@3"),
    "next-node-after-a-drain-that-does-not-end": (
        f"abc {ALWAYS} pdb/most=0 .web@1/db .other@2", "drain 1 2",
        f"{refused('web')} | {AWAIT}", ".other@2 .web@1"),
    **{f"pod-that-{ended}-goes-without-flags-or-budgets": (
        f"ab {ALWAYS} pdb/most=0 .done@1/bare/emptydir/{ended}/db", "drain 1", "", "")
        for ended in ("succeeded", "failed")},
    **{f"{own}-pod-stays": (f"ab {ALWAYS} .agent@1/{own}", "drain 1", "", ".agent@1")
        for own in ("daemon", "static")},
    # Volumes that stay attached
    "volume-of-a-pod-that-stays": (
        f"ab {ALWAYS} data@1/daemon", "drain 1", attached("data"), "data@1[1]"),
    "volume-that-no-pod-of-a-known-namespace-uses": (
        "ab used@1[2]~/podless .other@2", "drain 1", attached("used"), ".other@2 used[2]"),
    # Budgets
    "budgets-for-one-pod": (f"abc {ALWAYS} one/most=3 two/most=3 .web@1/db", "drain 1",
        refused("web", "is not evicted: of several PodDisruptionBudgets (one, two) Kubernetes "
            "evicts no pod; leave it one"), ".web@1"),
    "budget-for-pods-that-do-not-run": (
        f"abc {ALWAYS} pdb/least=3 .web-0@1/db/pending .web-1@1/db/pending .web-2@3/db",
        DRAIN, BOTH_MOVE, ".web-0@2 .web-1@2 .web-2@3"),
    "budget-for-other-pods": (f"ab {ALWAYS} pdb/most=0 .web@1", "drain 1", "moved web 2", ".web@2"),
    "budget-is-exhausted-by-a-pod-that-finds-no-node": (
        f"abc {ALWAYS} pdb/most=1 {THREE}", "cordon 2 3; drain 1",
        f"pending web-0 | {refused('web-1')}", ".web-0@ .web-1@1 .web-2@3"),
}  # fmt: skip
"""Cluster, steps, what the last one told, and what is found then."""


@pytest.mark.parametrize(("cluster", "steps", "told", "left"), ROWS.values(), ids=ROWS)
def test_drain(cluster, steps, told, left):
    assert taken(cluster, steps) == (told, left)


BUDGETS = {
    "least=2": True,
    "least=3": False,
    "least=4": False,  # more than there are
    "least=67%": False,  # a share is rounded up
    "least=66%": True,
    "least=100%": False,
    "most=0": False,
    "most=1": True,
    "most=1%": True,  # of three pods that is one
    "most=0%": False,
}
"""Whether the two pods of node-1 move, of three that the budget is for."""


@pytest.mark.parametrize(("budget", "move"), BUDGETS.items(), ids=BUDGETS)
def test_budget_decides_whether_pods_move_if_each_runs_again_before_the_next(budget, *, move):
    told, _ = taken(f"abc {ALWAYS} pdb/{budget} {THREE}", DRAIN)

    assert told == (BOTH_MOVE if move else f"{refused('web-0')} | {refused('web-1')}")


def test_pod_is_tried_again_once_another_one_runs():
    """web-9 waits until zz, which keeps it away from zone a, has left that zone."""
    away = PodTerm(Selector(labels={"app": "db"}), "zone", ())
    told = taken(
        f"aaa {ALWAYS} pdb/most=1 .web-0@1/db",
        "drain 1",
        *(
            kubernetes_node(f"node-{number}", labels={"zone": zone})
            for number, zone in enumerate("aab", 1)
        ),
        pod_with(name="web-9", labels={"app": "db"}, node_selector={"zone": "a"}),
        pod_with(name="zz", on="node-1", labels={"app": "zz"}, anti_affinity=(away,)),
    )

    assert told[0] == "placed web-9 2 | moved zz 3 | moved web-0 2"


@pytest.mark.parametrize(("more", "name"), [("", "default/used"), ("/claimless", "used")])
def test_volume_whose_pod_is_not_in_the_files_is_not_known_to_block(more, name):
    """As in a support bundle, which has some namespaces only."""
    other = pod_with(name="other", on="node-2")
    other = structs.replace(other, ref=structs.replace(other.ref, namespace="elsewhere"))
    plan = plan_of(*records_of(f"ab used@1[2]~/podless{more}"), other)

    assert result_of(plan, "drain 1") == ""
    assert plan.report(origin="", policy="", seed=0).unplanned == (
        f"not known: which pods use {name}, attached to node node-1. If they are evicted like the "
        "others, the drain ends; if no pod uses them, or it stays, it does not",
    )


def test_pod_that_moved_says_where_it_was():
    plan = plan_of(*records_of(f"ab {ALWAYS} db@1"))

    [event] = plan.take(step_of("drain 1")).events

    assert (event.before, event.node) == ("node-1", "node-2")


def test_shared_volume_is_served_from_another_node():
    plan = plan_of(
        *records_of(f"abc {ALWAYS} files@1[3]~/podless/shared .web-0@1+files .web-1@2+files")
    )

    assert result_of(plan, "drain 1") == "moved web-0 3"
    assert plan.cluster.view.volumes[VolumeName("files")].attached_to in ("node-2", "node-3")


@pytest.mark.parametrize("steps", ["drain 1", "drain 1 --force", "drain 1 2"])
def test_drained_node_is_cordoned(steps):
    plan = plan_of(*records_of(f"abc {ALWAYS} pdb/most=0 db@1 .bare@1/bare"))
    plan.take(step_of(steps))

    assert [each.name for each in plan.cluster.nodes.values() if each.cordoned] == [
        f"node-{number}" for number in steps.split() if number.isdigit()
    ]


@pytest.mark.parametrize(
    ("kind", "begins"), [("InstanceManager", False), ("DaemonSet", True), ("Node", True)]
)
def test_instance_manager_with_an_empty_dir_keeps_the_drain_from_its_beginning(kind, *, begins):
    """As those of data engine v2 have; kubectl passes over DaemonSets' and static pods."""
    manager = pod_with(
        name="manager",
        on="node-1",
        owner=(kind, "any"),
        has_local_data=True,
        of_daemon_set=kind == "DaemonSet",
        is_static=kind == "Node",
    )
    plan = plan_of(*records_of(f"ab {ALWAYS} db@1"), manager)

    assert result_of(plan, "drain 1") == ("moved db 2" if begins else refused("manager", EMPTY_DIR))
    assert "refused" not in result_of(plan, "drain 1 --delete-emptydir-data")


@pytest.mark.parametrize("is_v2", [False, True])
def test_replica_without_running_instance_manager_does_not_keep_the_data(*, is_v2):
    """Of its own data engine: Longhorn has no budget then that would protect it."""
    told, _ = taken(
        "ab default-instance-manager-image=manager:1",
        "drain 1",
        instance_manager("node-1"),
        instance_manager("node-1", is_v2=True),
        instance_manager("node-2", is_running=False),
        instance_manager("node-2", is_v2=True),
        *bound(volume("old", replicas=2, disk_type="block" if is_v2 else "filesystem")),
        *(replica(f"old-{n}", of="old", on=f"node-{n}", disk=f"node-{n}-disk") for n in (1, 2)),
    )

    assert told == ("" if is_v2 else kept(BLOCK))
