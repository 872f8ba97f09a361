"""`trial`: how large its claims are, what it tries, and how it tells what came of it."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.settings import Settings
from cli.explaining.explainer import Explainer
from cli.files import load_cluster
from cli.kube.resources import ASKED
from cli.trial.cases import Action, Case, Class, Skipped, cases
from cli.trial.drawing import page
from cli.trial.manifests import Asking, Way, stateful_set
from cli.trial.outcome import Outcome, outcome, places, pod_seen
from cli.trial.report import TrialNode, TrialReport, cases_of, lines
from cli.trial.rooms import classes
from cli.trial.rooms import rooms as rooms_of
from cli.trial.sizing import Rooms, Sizing, size_claims
from tests.builders import GIB, MIB, bare_class
from tests.unit.cli.plans import ROOT

MOST_PODS = 16


def rooms(*nodes: Sequence[int]) -> Rooms:
    """Build nodes with disks of so many GiB of room."""
    return {f"n{number}": [gib * GIB for gib in each] for number, each in enumerate(nodes, 1)}


SIZED: Mapping[str, tuple[Rooms, int, tuple[int, ...] | None]] = {
    "goal 1a": (rooms([400], [400], [400], [400]), 5, (4, 4, 4, 4)),
    "goal 1b": (rooms([800], [400], [200], [200]), 5, (8, 4, 2, 2)),
    "goal 2": (rooms([100], [100] * 2, [100] * 3, [100] * 4), 5, (4, 3, 2, 1)),
    "goal 3a": (rooms([400], [400], [99], [99]), 5, (7, 7, 1, 1)),
    "one node has room": (rooms([400], [0]), 5, None),
    "no node has room": (rooms([0], [0]), 0, None),
    "nothing is left for others": (rooms([400], [400]), 200, None),
    "no node": ({}, 0, None),
    "full disk keeps what it has": (rooms([400, 1], [400]), 5, (8, 8)),
    "disk over its limit": ({"a": [-GIB, 100 * GIB], "b": [100 * GIB]}, 5, (8, 8)),
}


@pytest.mark.parametrize("name", SIZED)
def test_claims_meet_the_limits_of_disks(name):
    given_rooms, leave, slots = SIZED[name]
    found = size_claims(given_rooms, most_pods=MOST_PODS, leave_bytes=leave * GIB)

    assert (None if found is None else tuple(found.slots.values())) == slots


@given(
    nodes=st.lists(
        st.lists(st.integers(-1, 500).map(lambda gib: gib * GIB), min_size=1, max_size=3),
        max_size=6,
    ),
    most_pods=st.integers(3, 40),
    leave=st.integers(0, 60),
)
def test_sizes_leave_room_and_are_clear(nodes, most_pods, leave):
    named = {f"n{number}": node for number, node in enumerate(nodes)}
    found = size_claims(named, most_pods=most_pods, leave_bytes=leave * GIB)

    if found is None:
        return
    size = found.claim_bytes
    assert size % (2 * MIB) == 0
    assert found.total <= most_pods
    assert [*found.slots.values()] == sorted(found.slots.values(), reverse=True)
    for name, node in named.items():
        taken = [max(0, room) // size for room in node]
        assert found.slots[name] == sum(taken)
        for room, count in zip(node, taken, strict=True):
            assert not count or room - count * size >= leave * GIB


def test_nodes_with_most_room_are_tried():
    objects, _ = load_cluster(ROOT / "examples" / "bundle", kinds=ASKED)
    explainer = Explainer(objects, Settings(), None, "a file")
    found = rooms_of(explainer, 3)

    gib = {name: [room // GIB for room in disks] for name, disks in found.items()}
    assert [*gib.items()] == [("node-2", [70, 60]), ("node-6", [60, 60]), ("node-4", [40, 60])]
    names = [each.name for each in classes(explainer)]
    assert names == ["longhorn", "longhorn-local", "longhorn-single"]


def tried(*slots: int) -> dict[str, Case | Skipped]:
    """Return what is tried, or why not, on nodes that take so many claims, by name."""
    sizing = Sizing(claim_bytes=GIB, slots={f"n{n}": each for n, each in enumerate(slots, 1)})
    found, skipped = cases(sizing, ())
    every: list[Case | Skipped] = [*skipped, *found]
    return {each.name: each for each in every}


FILLERS: Mapping[str, tuple[tuple[int, ...], str, dict[str, int]]] = {
    "goal 2 on unequal nodes": ((4, 3, 2, 1), "2", {}),
    "goal 2 on equal nodes": ((4, 4, 4, 4), "2", {"n2": 1, "n3": 1, "n4": 1}),
    "goal 2 with many claims": ((12, 9, 2), "2", {"n2": 2}),
    "goal 3a on unequal nodes": ((7, 7, 1, 0), "3a", {"n3": 1}),
    "goal 3a on equal nodes": ((4, 4, 4), "3a", {"n3": 4}),
}


@pytest.mark.parametrize("name", FILLERS)
def test_other_nodes_are_filled_so_that_one_is_left(name):
    slots, case, fillers = FILLERS[name]
    found = tried(*slots)[case]

    assert isinstance(found, Case)
    assert found.fillers == fillers


def test_goals_are_those_that_the_nodes_allow():
    even, uneven, two = tried(4, 4, 4, 4), tried(8, 4, 2, 2), tried(4, 4)

    assert [name for name in even if isinstance(even[name], Case)] == ["1a", "2", "3a", "3b"]
    assert all(isinstance(each, Skipped) for each in (even["1b"], uneven["1a"], two["3a"]))
    drain = even["3a"]
    assert isinstance(drain, Case)
    assert (drain.start, drain.pods, drain.action) == ("n1", 4, Action.DRAIN)


def test_bursts_take_of_classes_what_replicas_are_placed_by():
    same = {"numberOfReplicas": "3", "dataLocality": "best-effort"}
    every = (same | {"recurringJobSelector": "[]"}, same,
        {"numberOfReplicas": "x", "diskSelector": "ssd"},
        {"encrypted": "true"}, {"dataEngine": "v2"}, {"numberOfReplicas": "20"})  # fmt: skip
    classes = [
        bare_class(name, parameters=each) for name, each in zip("abcdef", every, strict=True)
    ]
    sizing = Sizing(claim_bytes=GIB, slots={"a": 4, "b": 4})
    found, skipped = cases(sizing, classes, ["burst"])

    assert [(each.name, each.pods, each.class_.parameters) for each in found] == [
        ("burst 1", 2, same),
        ("burst 2", 2, {"numberOfReplicas": "x", "diskSelector": "ssd"}),
    ]
    assert [each.why for each in skipped] == [
        "a class has encrypted, which is not tried",
        "a class is for engine v2, which is not tried",
        "no volume with 20 replicas fits",
    ]
    assert [each.why for each in cases(sizing, [], ["burst"])[1]] == [
        "there is no StorageClass of Longhorn"
    ]


BEST_EFFORT = {"numberOfReplicas": "1", "dataLocality": "best-effort"}
LOCAL = Class(name="local", told="", parameters=BEST_EFFORT)
FAR = Class(name="far", told="", parameters={"numberOfReplicas": "2"})


def case_of(class_: Class = LOCAL, action: Action = Action.CREATE) -> Case:
    return Case(name="1a", told="", pods=2, class_=class_, action=action)


def seen(words: str) -> list[dict[str, Any]]:
    """Build pods with one claim of their name each: `a@n1 b@n2/Pending`; they are running."""
    return [
        {
            "metadata": {"name": name, "uid": name},
            "spec": {"nodeName": on, "volumes": [{"persistentVolumeClaim": {"claimName": name}}]},
            "status": {"phase": phase or "Running"},
        }
        for name, on, phase in re.findall(r"(\w+)@(\w*)/?(\w*)", words)
    ]


def replicas(words: str) -> list[dict[str, Any]]:
    """Build replicas of the volumes of pods: `a@n1 b@n2/failed`."""
    return [
        {"spec": {"volumeName": f"v-{name}", "nodeID": node, "failedAt": failed}}
        for name, node, failed in re.findall(r"(\w+)@(\w+)/?(\w*)", words)
    ]


PODS, HERE = "a@n1 b@n2", case_of()
BACK, DRAINED = case_of(action=Action.RESTART), case_of(action=Action.DRAIN)
JUDGED: Mapping[str, tuple[Case, str, str, str, bool]] = {
    "volumes beside pods": (HERE, PODS, "a@n1 b@n2", "without_room=0", True),
    "volume elsewhere": (HERE, PODS, "a@n1 b@n1", "without_room=1", False),
    "disk beyond its limit": (HERE, "a@n1 b@n1", "a@n1 b@n1", "without_room=1", False),
    "failed replica is none":
        (HERE, PODS, "a@n1/failed b@n2", "without_room=1 replicas_missing=1", False),
    "volume that may be anywhere":
        (case_of(FAR), PODS, "a@n3 a@n4 b@n3", "without_room=0 replicas_missing=1", True),
    "pod without a node":
        (HERE, "a@n1 b@/Pending", "a@n1", "waiting=1 running=1 without_room=0", False),
    "pod that hangs":
        (HERE, "a@n1 b@n2/Pending", "a@n1", "waiting=0 running=1 without_room=1", False),
    "pod that returns elsewhere": (BACK, PODS, "a@n1 b@n2", "moved=1", False),
    "drained pod is to be elsewhere": (DRAINED, PODS, "a@n1 b@n2", "moved=0", True),
}  # fmt: skip
"""The case, the pods that were seen, the replicas, and what is made of them."""


@pytest.mark.parametrize("name", JUDGED)
def test_runs_are_right_with_all_volumes_where_they_belong(name):
    case, pods, copies, figures, is_right = JUDGED[name]
    claims, there = {"a": "v-a", "b": "v-b"}, places(replicas(copies))
    found = outcome(
        case, Way.OURS, 1, [*map(pod_seen, seen(pods))], claims, there,
        before={"a": "n1", "b": "n3"}, room={"n1": 1, "n2": 1}, seconds=1.0, calls=None,
    )  # fmt: skip

    told = [f"{name}={getattr(found, name)}" for name in re.findall(r"\w+(?==)", figures)]
    assert " ".join(told) == figures
    assert found.is_right is is_right


def test_pods_ask_by_their_manifest_alone():
    def template(way):
        asking = Asking(way=way, scheduler="s", image="pause")
        made = stateful_set(
            "x", "ns", pods=2, claims=2, claim_bytes=GIB, class_=LOCAL, asking=asking, nodes=["n"]
        )
        claims = made["spec"]["volumeClaimTemplates"]
        assert [each["spec"]["volumeMode"] for each in claims] == ["Block", "Block"]
        return made["spec"]["template"]

    alone, ours = map(str, (template(Way.NONE), template(Way.OURS)))
    assert "longhorn.io/scheduler-extender" not in alone.replace("longhorn-scheduler-extender/", "")
    assert "'limits': {'longhorn.io/scheduler-extender': '1'}" in ours
    assert "'longhorn-scheduler-extender/injection': 'disabled'" in alone


def run_of(way: Way, number: int, by_node: dict[str, int], **figures: object) -> Outcome:
    whole = Outcome(
        case="1b", way=way, run=number, pods=4, running=4, waiting=0, by_node=by_node,
        without_room=0, replicas_missing=0, moved=0, seconds=10.0 + number, calls=None,
    )  # fmt: skip
    return msgspec.structs.replace(whole, **figures)


def report(*runs: Outcome, **changes: object) -> TrialReport:
    nodes = [
        TrialNode(name=f"node-{n}", room_bytes=(room * GIB,), claims=claims)
        for n, room, claims in ((1, 400, 3), (2, 200, 1))
    ]
    names = {"secret-1": "node-1", "secret-2": "node-2"}
    told = {"1b": "4 pods at once, which fill all nodes unequally"}
    found = TrialReport(
        extender="0.2.0", kubernetes="v1.36.2", longhorn="", nodes=tuple(nodes),
        claim_bytes=110 * GIB, cases=cases_of(runs, told, names), unasked={}, is_complete=True,
        skipped=(Skipped(name="1a", why="nodes have different room: 1b is tried"),),
    )  # fmt: skip
    return msgspec.structs.replace(found, **changes)


WHOLE = report(
    run_of(Way.NONE, 1, {"secret-1": 2, "secret-2": 2}, without_room=1),
    run_of(Way.OURS, 1, {"secret-1": 3, "secret-2": 1}, calls=4),
    run_of(Way.NONE, 2, {"secret-1": 3, "secret-2": 1}),
    run_of(Way.OURS, 2, {"secret-1": 3, "secret-2": 1}, calls=5),
)


def test_tables_have_a_line_for_each_case_and_way(golden):
    early = report(
        run_of(Way.OURS, 1, {}, running=0, problem="other nodes could not be filled beforehand"),
        run_of(Way.LONGHORN, 1, {"secret-1": 3}, running=3, waiting=1, seconds=None),
        is_complete=False,
        unasked={Way.NONE: "no scheduler looks at it"},
    )
    text = "\n".join([*lines(WHOLE, 98), "", "=" * 20, *lines(early, 98)])

    golden("trial", text + "\n")
    assert "secret" not in text


def test_page_has_the_table_and_a_bar_for_each_node():
    drawn = page(WHOLE)

    assert drawn.count("<rect") == 4
    assert "secret" not in drawn
    assert "<script" not in drawn
