"""The answers that the example clusters were made to show."""

from functools import cache
from pathlib import Path

import pytest

from cli.files import load_cluster
from cli.kube.pods import Pod
from cli.kube.view import build_view
from extender import ClusterView, Extender, PodRef
from longhorn import NodeName
from tests.builders import GENEROUS

EXAMPLES = Path(__file__).parents[3] / "examples"

FOUR_NODES = ["node-1", "node-2", "node-3", "node-4"]
ALL_OF_RICH = [
    "cp-1",
    *(f"node-a{n}" for n in (1, 2, 3)),
    *(f"node-b{n}" for n in (1, 2, 3, 4)),
    *(f"node-c{n}" for n in (1, 2, 3)),
]

NEVER_ATTACHING = ("cp-1", "node-a3", "node-b4")
"""Longhorn is not there, or not ready."""

ANSWERS = [
    *(("goal1", f"web-{n}", FOUR_NODES) for n in range(16)),
    ("goal2", "quad", ["node-4"]),
    ("goal2", "pair", ["node-2", "node-3", "node-4"]),
    ("goal2", "single", FOUR_NODES),
    *(("goal3a", f"db-{n}", ["node-1"]) for n in range(4)),
    ("goal3a", "new-0", ["node-2"]),
    *(("goal3b", f"restarted-{n}", [f"node-{n + 1}"]) for n in range(4)),
    ("rich", "queue-0", ["node-a2"]),
    ("rich", "cron-0", ["node-b2"]),
    ("rich", "moved-0", ["node-a1"]),
    ("rich", "legacy-0", ["node-a1"]),
    ("rich", "ledger", ["node-a1"]),
    ("rich", "files", [each for each in ALL_OF_RICH if each not in NEVER_ATTACHING]),
    ("rich", "report", [each for each in ALL_OF_RICH if each not in NEVER_ATTACHING]),
    ("rich", "lost-0", []),
    ("rich", "first-0", ["node-a2", "node-b1"]),
    ("rich", "neighbour-0", ["node-a1", "node-a2"]),
    ("rich", "guest-1", ["node-a2", "node-b1"]),
    ("rich", "pair", ["node-c1"]),
    ("rich", "render", ["node-c1"]),
    ("rich", "batch", ["node-a1", "node-a2", "node-c1"]),
]


@cache
def load(example: str) -> tuple[ClusterView, dict[str, PodRef], tuple[NodeName, ...]]:
    cluster, problems = load_cluster(EXAMPLES / example)
    assert problems == []
    pods = {name: pod.ref for name, pod in cluster.of(Pod).items()}
    return build_view(cluster), pods, cluster.candidates()


@pytest.mark.parametrize(
    ("example", "pod", "expected"),
    [pytest.param(*answer, id=f"{answer[0]}-{answer[1]}") for answer in ANSWERS],
)
def test_accepted_nodes(example, pod, expected):
    view, pods, candidates = load(example)

    result = Extender(GENEROUS).filter(pods[f"default/{pod}"], candidates, view)

    assert list(result.accepted) == expected


@pytest.mark.parametrize("number", range(4))
def test_drained_pod_moves_to_the_node_with_room(number):
    view, pods, _ = load("goal3a")
    without_the_drained = [NodeName(f"node-{n}") for n in (2, 3, 4)]

    result = Extender(GENEROUS).filter(pods[f"default/db-{number}"], without_the_drained, view)

    assert list(result.accepted) == ["node-2"]


@pytest.mark.parametrize("example", ["goal1", "goal2", "goal3a", "goal3b", "rich"])
def test_every_pod_has_an_expected_answer(example):
    _, pods, _ = load(example)

    assert {f"default/{pod}" for name, pod, _ in ANSWERS if name == example} == set(pods)
