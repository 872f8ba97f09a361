"""The policies in examples/policies do what their use cases say."""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from planner.cluster import Cluster
from planner.engine import Scheduler
from planner.policy import SEED_POLICY, TODAY_POLICY, Policy
from planner.policy_file import read_policy
from planner.records import KubernetesNode, Pod
from tests.unit.planner.scheduling import ALLOCATABLE, cluster, node, pod, service, web

POLICIES = Path(__file__).parents[3] / "examples" / "policies"
SEEDS = range(5)


def policy_of(name: str) -> Policy:
    return read_policy(json.loads((POLICIES / f"{name}.json").read_text(encoding="utf-8")))


def tree(*levels: str, each: int) -> list[KubernetesNode]:
    """Build nodes in a tree of labels, *each* on every level; all values are different."""
    paths: list[tuple[str, ...]] = [()]
    for _ in levels:
        paths = [(*path, f"{'-'.join(path)}{number}") for path in paths for number in range(each)]
    return [node(f"n{path[-1]}", labels=dict(zip(levels, path, strict=True))) for path in paths]


def place(
    by: Policy, pods: Iterable[Pod], where: Cluster, seed: int
) -> list[KubernetesNode | None]:
    """Place pods one after another, and return their nodes."""
    scheduler, found = Scheduler(by, Random(seed)), list[KubernetesNode | None]()
    for each in pods:
        decision = scheduler.schedule(each, where)
        where.put_pod(replace(each, node=decision.node))
        found.append(None if decision.node is None else where.nodes[decision.node])
    return found


def webs(number: int, cpu: int = 100) -> list[Pod]:
    return [web(f"web-{index}", requests={"cpu": cpu}) for index in range(number)]


def values(nodes: Iterable[KubernetesNode | None], label: str) -> Counter[str]:
    return Counter(each.labels.get(label, "") for each in nodes if each is not None)


@pytest.mark.parametrize(("name", "built_in"), [("default", SEED_POLICY), ("today", TODAY_POLICY)])
def test_the_built_in_policies_are_files_too(name, built_in):
    assert policy_of(name) == built_in


@pytest.mark.parametrize("path", sorted(POLICIES.glob("*.json")), ids=lambda path: path.stem)
def test_every_sample_places_pods(path):
    nodes = [node("a", labels={"region": "r", "zone": "z", "rack": "s", "city": "c"})]

    [found] = place(policy_of(path.stem), [pod()], cluster(nodes), seed=0)

    assert found == nodes[0]


@pytest.mark.parametrize("seed", SEEDS)
def test_region_and_zone_affinity_with_rack_spreading(seed):
    nodes = tree("region", "zone", "rack", "node", each=3)
    where = cluster(nodes, services=[service()])

    found = place(policy_of("region-zone-rack"), webs(6), where, seed)

    assert len(values(found, "region")) == len(values(found, "zone")) == 1
    assert sorted(values(found, "rack").values()) == [2, 2, 2]
    assert len(values(found, "node")) == 6


@pytest.mark.parametrize("seed", SEEDS)
def test_without_room_in_its_affinity_group_a_pod_stays_pending(seed):
    where = cluster(tree("region", "zone", "rack", each=2), services=[service()])

    found = place(policy_of("region-zone-rack"), webs(3, cpu=3000), where, seed)

    assert None not in found[:2]
    assert found[2] is None


@pytest.mark.parametrize("seed", SEEDS)
def test_city_affinity_with_spreading_over_buildings_and_rooms(seed):
    where = cluster(tree("city", "building", "room", each=2), services=[service()])

    found = place(policy_of("city-building-room"), webs(8), where, seed)

    assert [*values(found, "city").values()] == [8]
    assert [*values(found, "building").values()] == [4, 4]
    assert [*values(found, "room").values()] == [2, 2, 2, 2]


@pytest.mark.parametrize("seed", SEEDS)
def test_only_nodes_with_a_region_and_rather_those_with_a_zone(seed):
    few = {**ALLOCATABLE, "pods": 3}
    nodes = [
        node("both", few, labels={"region": "r", "zone": "z"}),
        node("region", few, labels={"region": "r"}),
        node("zone", few, labels={"zone": "z"}),
        node("none", few),
    ]
    pods = [pod(f"pod-{index}", requests={"cpu": 100}) for index in range(7)]

    found = place(policy_of("region-required-zone-preferred"), pods, cluster(nodes), seed)

    names = [each.name if each else None for each in found]
    assert names == ["both"] * 3 + ["region"] * 3 + [None]


@pytest.mark.parametrize("seed", SEEDS)
def test_static_and_configurable_functions_combined_with_weights(seed):
    nodes = [
        *(
            node(f"{region}-{zone}-{index}", labels={"region": region, "zone": f"{region}-{zone}"})
            for region in ("r1", "r2")
            for zone in ("z1", "z2")
            for index in range(2)
        ),
        node("no-zone", labels={"region": "r1"}),
        node("building", labels={"region": "r1", "zone": "r1-z1", "building": "b"}),
        node("no-region", labels={"zone": "r1-z1"}),
    ]
    where = cluster(nodes, services=[service()])
    first = replace(webs(1)[0], wishes=replace(webs(1)[0].wishes, node_selector={"region": "r1"}))

    found = place(policy_of("combined"), [first, *webs(4)[1:]], where, seed)

    assert [*values(found, "region")] == ["r1"]
    assert sorted(values(found, "zone").items()) == [("r1-z1", 2), ("r1-z2", 2)]
    assert len({each.name for each in found if each}) == 4


def test_weights_of_the_combined_sample_are_in_the_scores():
    nodes = [
        node("z1", labels={"region": "r", "zone": "z1"}),
        node("z2", labels={"region": "r", "zone": "z2"}),
        node("no-zone", labels={"region": "r"}),
    ]
    where = cluster(nodes, web("there", on="z1"), services=[service()])

    found = Scheduler(policy_of("combined"), Random(0)).schedule(web("new"), where)

    # ZoneSpread twice, ZonePreferred, ServiceSpreadingPriority, and 20 for empty nodes
    assert found.scores == {
        "z1": 2 * 0 + 10 + 0 + 20,
        "z2": 2 * 10 + 10 + 10 + 20,
        "no-zone": 2 * 0 + 0 + 10 + 20,
    }


@pytest.mark.parametrize("seed", SEEDS)
def test_levels_may_have_any_names_and_any_number(seed):
    levels = ("planet", "hall", "row", "shelf")
    where = cluster(tree(*levels, each=2), services=[service()])
    rules = read_policy(
        {
            "kind": "Policy",
            "version": "v1",
            "predicates": [
                {"name": "Near", "argument": {"serviceAffinity": {"labels": ["planet", "hall"]}}}
            ],
            "priorities": [
                {
                    "name": f"Spread over {level}",
                    "weight": 1,
                    "argument": {"serviceAntiAffinity": {"label": level}},
                }
                for level in ("row", "shelf")
            ],
        }
    )

    found = place(rules, webs(4), where, seed)

    assert [len(values(found, level)) for level in levels] == [1, 1, 2, 4]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_service_is_spread_as_evenly_as_possible(seed):
    where = cluster([node(f"n{index}") for index in range(5)], services=[service()])

    place(SEED_POLICY, webs(23, cpu=10), where, seed)

    numbers = Counter(each.node for each in where.pods.values())
    assert sorted(numbers.values()) == [4, 4, 5, 5, 5]
