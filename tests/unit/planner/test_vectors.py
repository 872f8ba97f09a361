"""The predicates and priorities of today against 1,000 answers of kube-scheduler's own plugins.

Each answer is about a random pod on a random cluster: the nodes that each plugin refuses, and how
it scores those that all of them let pass. Pods and nodes are translated as those of a live cluster.
"""

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from cli.kube.decoding import read_object
from cli.kube.pods import Pod
from cli.kube.resources import PLANNED
from longhorn import NodeName
from planner import records
from planner.cluster import Cluster
from planner.predicates import PREDICATES
from planner.priorities import PRIORITIES
from planner.records import KubernetesNode, Service
from tests.unit.planner.scheduling import cluster

VECTORS = Path(__file__).parents[2] / "data" / "kube-scheduler-vectors" / "vectors.jsonl.gz"
FILTERS = {
    "TaintToleration": "PodToleratesNodeTaints",
    "NodeAffinity": "NodeAffinity",
    "PodTopologySpread": "PodTopologySpread",
    "InterPodAffinity": "InterPodAffinity",
}
SCORES = ("TaintToleration", "NodeAffinity", "PodTopologySpread", "InterPodAffinity")
POINTS = 10
"""Of kube-scheduler's 100, for one of ours."""

Vector = dict[str, Any]


@pytest.fixture(scope="module")
def vectors() -> list[Vector]:
    return [json.loads(line) for line in gzip.open(VECTORS, "rt", encoding="utf-8")]


def read(kind: type, document: Any) -> Any:
    record = read_object(document, PLANNED)
    assert isinstance(record, kind), record
    return record


def pod_of(document: Any) -> records.Pod:
    found = read(Pod, document)
    return records.Pod(ref=found.ref, wishes=found.wishes, node=found.status.node)


def built(vector: Vector) -> Cluster:
    return cluster(
        [read(KubernetesNode, each) for each in vector["nodes"]],
        *(pod_of(each) for each in vector["pods"]),
        services=[read(Service, each) for each in vector["services"]],
    )


def refused(vector: Vector, where: Cluster) -> dict[str, list[str]]:
    asked = pod_of(vector["pod"])
    return {
        plugin: sorted(PREDICATES[name](asked, [*where.nodes], where))
        for plugin, name in FILTERS.items()
    }


def scored(vector: Vector, where: Cluster) -> dict[str, dict[str, int]]:
    out = {name for names in vector["refused"].values() for name in names}
    nodes = [NodeName(name) for name in where.nodes if name not in out]
    asked, found = pod_of(vector["pod"]), dict[str, dict[str, int]]()
    for name in SCORES if nodes else ():
        given = PRIORITIES[name](asked, nodes, where)
        found[name] = {node: round(given.get(node, 0) * POINTS) for node in nodes}
    return found


def test_every_plugin_refuses_and_scores_the_same_nodes(vectors):
    different = Counter[str]()
    for vector in vectors:
        where = built(vector)
        for told, ours in (
            (vector["refused"], refused(vector, where)),
            (vector["scores"], scored(vector, where)),
        ):
            for plugin in ours:
                different[plugin] += ours[plugin] != told[plugin]

    assert len(vectors) == 1_000
    assert +different == Counter()


def test_every_plugin_has_something_to_say_in_many_of_them(vectors):
    refusing = Counter(name for each in vectors for name, nodes in each["refused"].items() if nodes)
    scoring = Counter(
        name
        for each in vectors
        for name, scores in each["scores"].items()
        if len({*scores.values()}) > 1
    )

    assert min(refusing[name] for name in FILTERS) > 150
    assert min(scoring[name] for name in SCORES) > 60
