"""What keeps a node from being drained, in many states of a cluster: kubectl, budgets, Longhorn.

Most states stand in `golden/draining/`: a name, with codes of what is in the way (`!` before a
caution, `?` for what is unknown); what there is, as `objects_of` reads it; and how it is told.
At the end: which node may go next, and which two at once.
"""

from typing import Any

import pytest
from click import unstyle

from cli.draining.cluster import Means, situation
from cli.draining.judging import judge, next_of, pairs_of
from cli.draining.lines import lines
from cli.draining.report import make_report
from longhorn import NodeName
from tests.builders import document
from tests.unit.cli.drained import (
    LONGHORN,
    SETTINGS,
    THEN,
    Document,
    attachment,
    budget,
    cluster,
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
from tests.unit.cli.plans import objects_of, rows_of

ALONE = [*node(), volume(), replica()]
THREE = [*node(), *node("node-2"), *node("node-3")]
WORDS = {
    "THEN": THEN,
    "LONGHORN": LONGHORN,
    "STATIC": {"kubernetes.io/config.mirror": "x"},
    "ENGINES": engines("vol-e-0"),
    "GONE": engines("gone-e-0"),
}


def web(number: int = 0, **fields: Any) -> Document:
    return pod(f"web-{number}", labels={"app": "web"}, **fields)


def kept(allowed: int = 0, policy: str = "", **status: int) -> Document:
    """Build the budget of the pods `web`."""
    found = budget("web", "default", labels={"app": "web"}, allowed=allowed, **status)
    if policy:
        found["spec"]["unhealthyPodEvictionPolicy"] = policy
    return found


def of_v2(*states: str) -> list[Document]:
    """Build a replica of data engine v2 elsewhere, with managers in these states."""
    found = [*node(), volume(), replica(dataEngine="v2"), host("node-2")]
    found += [replica("node-2", manager="", dataEngine="v2")]
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
    there = [*node(), volume(), replica(state=current, desireState=desired)]
    return [*there, *settings(node_drain_policy="allow-if-replica-is-stopped")]


def attached(**nodes: str) -> list[Document]:
    """Build a node with an engine, and which tickets want it there."""
    return [*node(instanceEngines=engines("vol-e-0")), attachment(**nodes)]


def used(owner: str = "DaemonSet", claim: str = "data", **fields: Any) -> list[Document]:
    """Build an engine of claim `data`, and a pod that uses a claim; *spec* is of the volume."""
    of = volume(claim="data", **fields.pop("spec", {}))
    return [*attached(csi_attacher="node-1"), of, pod(owner=owner, claims=[claim], **fields)]


def by_hand(**manager_fields: Any) -> list[Document]:
    return [*node(), volume(), attachment(longhorn_api="node-1"), manager(**manager_fields)]


def sharded(spare: int, *states: str, first: int = 1) -> list[Document]:
    """Build a volume in shards with these states, on node-1 and the next ones."""
    layout = {"type": "sharded", "dataChunks": len(states) - spare, "parityChunks": spare}
    return [*THREE, volume("ec", dataLayout=layout)] + [
        document("Shard", f"ec-{slot}", spec={"shardGroupName": "ec", "size": "0",
                 "nodeID": f"node-{slot + first}"}, status={"state": state})
        for slot, state in enumerate(states)
    ]  # fmt: skip


BUILT: dict[str, Any] = {
    "alone": ALONE,
    "two": [*ALONE, *node("node-2"), replica("node-2")],
    "three": THREE,
    "on_two": [volume(claim="data"), replica(), replica("node-2")],
    "at_rest": [volume(), replica(state="stopped"), replica("node-2", state="stopped")],
    "led": [*node(), *node("node-3"), replica("node-3"), replica("gone"), volume()],
    "unguarded": [host(), manager(), manager_pod(), volume(), replica()],
    # The instance manager does not run.
    "guarded":
        [host(), manager(currentState="error"), budget("im-v1-node-1"), volume(), replica()],
    # The replica elsewhere names no manager.
    "of_default_image":
        [*ALONE, host("node-2"), budget("im-v1-node-2"), replica("node-2", manager="")],
    "for_autoscaler": settings(kubernetes_cluster_autoscaler_enabled="true"),
    "away": settings(node_drain_policy="always-allow"),
    "without_selector": budget("none", "default") | {"spec": {"minAvailable": 1}},
}  # fmt: skip
BUILDERS: dict[str, Any] = BUILT | {
    each.__name__: each
    for each in (attached, attachment, autoscaled, budget, by_hand, host, kept, manager,
                 manager_pod, node, of_v2, pod, replica, settings, sharded, stopped, used, volume,
                 web)
}  # fmt: skip


def there(text: str) -> list[Document]:
    return objects_of(text, BUILDERS, WORDS)


def codes(text: str, **options: Any) -> str:
    verdict = judged(*there(text), **options)
    may = "not_yet" if verdict.obstacles else "unknown" if verdict.unknown else "yes"
    assert verdict.may == may
    found = [str(each.code) for each in verdict.obstacles]
    found += [f"!{each.code}" for each in verdict.cautions]
    return ", ".join([*found, *"?" * len(verdict.unknown)]) or "yes"


TOPICS = ("kubectl", "budgets", "managers", "replicas", "peers", "engines", "shards")
ROWS = {topic: rows_of(f"draining/{topic}") for topic in TOPICS}


@pytest.mark.parametrize(
    ("expected", "text"),
    [pytest.param(*row, id=name) for rows in ROWS.values() for name, row in rows.items()],
)
def test_a_state_keeps_a_node_or_not(expected, text):
    assert codes(text) == expected


@pytest.mark.parametrize("topic", ROWS)
def test_a_state_is_told_in_these_lines(golden, topic):
    told = list[str]()
    for row, (expected, text) in ROWS[topic].items():
        report = make_report([judged(*there(text))], "")
        told += [f"# {row}: {expected}", text, *lines(report, 100), ""]

    golden(f"draining/{topic}", unstyle("\n".join(told)))


BARE, LOCAL = "node + pod owner=null", "node + pod emptyDir=true"
OF_MANAGER = ROWS["kubectl"]["manager-of-v2-with-local-data"][1]
OPTIONS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "force": ("yes", BARE, {"force": True}),
    "force-and-local-data": ("pod_with_local_data", LOCAL, {"force": True}),
    "delete-local-data": ("yes", LOCAL, {"delete_local_data": True}),
    "delete-local-data-of-a-manager": ("yes", OF_MANAGER, {"delete_local_data": True}),
    "also-the-node-of-the-peer": ("last_replica", "two", {"also": ["node-2"]}),
    "volumes-away": ("yes", "two + away", {}),
    "volumes-away-and-the-node-of-the-peer":
        ("!volume_away", "two + away", {"also": ["node-2"]}),
}  # fmt: skip


@pytest.mark.parametrize(("expected", "text", "options"), OPTIONS.values(), ids=OPTIONS)
def test_options_of_a_drain_change_what_is_in_the_way(expected, text, options):
    assert codes(text, **options) == expected


@pytest.mark.parametrize("is_cordoned", [True, False])
def test_a_cordon_is_told(*, is_cordoned):
    assert judged(*node(cordoned=is_cordoned)).cordoned is is_cordoned


NAMES = tuple(map(NodeName, ("node-1", "node-2", "node-3")))
NEXT = {
    "nodes-alike": ("1 2 3", "1+2 1+3 2+3", "three"),
    "node-in-the-way": ("2 3", "2+3", "three + pod bare owner=null"),
    # It has begun, and comes first.
    "node-cordoned":
        ("3 1 2", "3+1 3+2 1+2", "node + node node-2 + node node-3 cordoned=true"),
    "replicas-on-two": ("1 2 3", "1+3 2+3", "three + on_two"),
    "replicas-on-three": ("1 2 3", "1+2 1+3 2+3", "three + on_two + replica node-3"),
    "replicas-stopped-and-allowed": ("1 2 3", "1+3 2+3", "three + at_rest + away"),
    "replicas-stopped": ("1 2 3", "1+3 2+3",
        "three + at_rest + settings node_drain_policy=allow-if-replica-is-stopped"),
    "replica-failed-elsewhere":
        ("1 2 3", "1+3 2+3", "three + on_two + replica node-3 failedAt=THEN"),
    # Longhorn asks for a protected one also where the replica on the node has no data.
    "replica-failed":
        ("1 3", "1+3", "three + volume + replica failedAt=THEN + replica node-2"),
    "replica-unprotected": ("1 2 3", "1+3 2+3",
        "node + node node-2 + host node-3 + manager node-3 + replica node-3 + on_two"),
    # It may go, but is not next.
    "volume-taken-away": ("2 3", "2+3", "three + volume + replica + away"),
    "shard-to-spare": ("1 2 3", "", "sharded 1 normal normal normal"),
    "shards-to-spare": ("1 2 3", "1+2 1+3 2+3", "sharded 2 normal normal normal"),
}  # fmt: skip


@pytest.mark.parametrize(("following", "together", "text"), NEXT.values(), ids=NEXT)
def test_nodes_that_may_go_next_and_two_at_a_time(following, together, text):
    found = cluster(*there(text))

    ready = next_of([judge(each, situation(found, [each], Means()), ()) for each in NAMES])
    pairs = pairs_of(ready, found)[0]

    assert " ".join(each[-1] for each in ready) == following
    assert " ".join("+".join(each[-1] for each in pair) for pair in pairs) == together


def test_the_volume_is_named_that_needs_one_of_two():
    [apart] = pairs_of(NAMES, cluster(*there("three + on_two")))[1]

    about = "volume vol (default/data) needs one of them"
    assert (apart.nodes, apart.why) == (("node-1", "node-2"), about)
