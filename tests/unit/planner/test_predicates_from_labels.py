"""Predicates that a policy makes from labels: serviceAffinity and labelsPresence."""

import pytest

from planner.predicates import labels_presence, service_affinity
from planner.records import Service
from tests.unit.planner.scheduling import (
    cluster,
    labelled,
    pod,
    policy,
    refused,
    schedule,
    service,
    web,
)

ZONES = labelled(a={"region": "r1", "zone": "x"}, b={"region": "r1", "zone": "y"}, c={"zone": "x"})
ZONE = service_affinity(["zone"])
ELSEWHERE = "the pod's service is elsewhere, by label zone"


def test_service_affinity_keeps_a_service_on_nodes_with_the_same_values():
    where = cluster(ZONES, web("first", on="a"), services=[service()])

    assert refused(ZONE, web("second"), where) == {"b": ELSEWHERE}


def test_service_affinity_wants_the_same_values_of_all_its_labels():
    where = cluster(ZONES, web("first", on="a"), services=[service()])

    found = refused(service_affinity(["region", "zone"]), web("second"), where)

    text = "the pod's service is elsewhere, by labels region, zone"
    assert found == {"b": text, "c": text}


def test_service_affinity_lets_the_first_pod_go_anywhere():
    where = cluster(ZONES, pod("other", on="a"), services=[service()])

    assert refused(ZONE, web("first"), where) == {}


def test_service_affinity_goes_by_the_node_selector_if_it_gives_the_labels():
    where = cluster(ZONES, web("first", on="a"), services=[service()])

    found = refused(ZONE, web("second", node_selector={"zone": "y"}), where)

    assert found == {"a": ELSEWHERE, "c": ELSEWHERE}


def test_service_affinity_takes_labels_that_the_node_selector_lacks_from_the_service():
    where = cluster(ZONES, web("first", on="a"), services=[service()])

    found = refused(
        service_affinity(["region", "zone"]), web("second", node_selector={"zone": "y"}), where
    )

    assert [*found] == ["a", "c"]


@pytest.mark.parametrize(
    ("there", "refused_nodes"),
    [
        pytest.param(["b", "a", "b"], ["a", "c"], id="most"),
        pytest.param(["b", "a"], ["b"], id="as-many"),
    ],
)
def test_service_affinity_keeps_to_the_values_of_most_pods_if_they_differ(there, refused_nodes):
    pods = [web(f"web-{index}", on=name) for index, name in enumerate(there)]

    found = refused(ZONE, web("new"), cluster(ZONES, *pods, services=[service()]))

    assert [*found] == refused_nodes


def test_service_affinity_takes_a_lacking_label_for_a_value():
    where = cluster(ZONES, web("first", on="c"), services=[service()])

    assert [*refused(service_affinity(["region"]), web("new"), where)] == ["a", "b"]


@pytest.mark.parametrize(
    ("services", "there"),
    [
        pytest.param([], web("there", on="a"), id="no-service"),
        pytest.param([service(namespace="x")], web("there", on="a"), id="service-elsewhere"),
        pytest.param(
            [service()], web("there", on="a", labels={"app": "db"}), id="not-of-the-service"
        ),
        pytest.param(
            [service()],
            pod("there", on="a", labels={"app": "web"}, namespace="x"),
            id="other-namespace",
        ),
        pytest.param([service()], web("there"), id="not-placed"),
        pytest.param([service()], web("there", on="a", deleting=True), id="being-deleted"),
        pytest.param([service()], web("there", on="gone"), id="on-a-node-that-is-not-known"),
    ],
)
def test_service_affinity_looks_only_at_placed_pods_of_the_same_service(services, there):
    where = cluster(ZONES, there, services=services)

    assert refused(ZONE, web("new"), where) == {}


def test_service_affinity_ignores_a_service_without_selector():
    nobodys = Service(namespace="default", name="external")
    where = cluster(ZONES, web("first", on="a"), services=[nobodys])

    assert refused(ZONE, web("second"), where) == {}


def test_labels_presence_true_wants_all_labels_whatever_their_values():
    where = cluster(labelled(a={"region": "", "zone": "x"}, b={"region": "r"}, c={}))

    found = refused(labels_presence(["region", "zone"], presence=True), pod(), where)

    assert found == {"b": "it lacks label zone", "c": "it lacks label region"}


def test_labels_presence_false_wants_none_of_the_labels_whatever_their_values():
    where = cluster(labelled(a={"region": "", "zone": "x"}, b={"zone": "x"}, c={}))

    found = refused(labels_presence(["region", "zone"], presence=False), pod(), where)

    assert found == {"a": "it has label region", "b": "it has label zone"}


def test_predicates_of_one_kind_are_combined_under_different_names():
    rules = policy(
        [
            {"name": "In", "argument": {"labelsPresence": {"labels": ["in"], "presence": True}}},
            {"name": "Out", "argument": {"labelsPresence": {"labels": ["out"], "presence": False}}},
        ]
    )
    where = cluster(labelled(a={"in": ""}, b={"in": "", "out": ""}, c={}))

    found = schedule(rules, pod(), where)

    assert found.node == "a"
    assert {name: why.text for name, why in found.refusals.items()} == {
        "b": "it has label out",
        "c": "it lacks label in",
    }
