"""How priorities score nodes, by their names in a policy; those made from labels are included."""

import pytest

from planner.priorities import PRIORITIES, label_preference, service_anti_affinity
from planner.records import (
    PodTerm,
    PreferredPods,
    Selector,
    Service,
)
from tests.builders import GIB
from tests.unit.planner.scheduling import cluster, labelled, node, pod, scores, service, web

LEAST, BALANCED = PRIORITIES["LeastRequestedPriority"], PRIORITIES["BalancedResourceAllocation"]
SPREAD, EQUAL = PRIORITIES["ServiceSpreadingPriority"], PRIORITIES["EqualPriority"]
THREE = [node("a"), node("b"), node("c")]
RACKS = labelled(a={"rack": "x"}, b={"rack": "x"}, c={"rack": "y"}, d={"rack": "z"}, e={})


def test_least_requested_is_the_mean_of_the_free_shares_in_whole_points():
    where = cluster(
        THREE,
        pod("one", on="a", requests={"cpu": 1000, "memory": 2 * GIB}),
        pod("two", on="b", requests={"cpu": 3000}),
    )

    found = scores(LEAST, pod(requests={"cpu": 1000, "memory": 2 * GIB}), where)

    # a: (5 + 5) / 2, b: (0 + 7) / 2, c: (7 + 7) / 2, each rounded down
    assert found == {"a": 5, "b": 3, "c": 7}


def test_least_requested_favours_the_node_with_fewer_requests():
    where = cluster(THREE[:2], pod("there", on="a", requests={"cpu": 2000, "memory": 4 * GIB}))

    found = scores(LEAST, pod(), where)

    assert found == {"a": 5, "b": 10}


@pytest.mark.parametrize(
    "allocatable", [{}, {"cpu": 1, "memory": 1}], ids=["nothing-declared", "more-than-there-is"]
)
def test_least_requested_gives_nothing_where_nothing_is_left(allocatable):
    where = cluster([node("a", allocatable)])

    assert scores(LEAST, pod(requests={"cpu": 2, "memory": 2}), where) == {"a": 0}


def test_balanced_allocation_goes_by_how_near_the_two_shares_are():
    where = cluster(
        THREE,
        pod("one", on="a", requests={"cpu": 2000, "memory": 4 * GIB}),
        pod("two", on="b", requests={"cpu": 3000, "memory": 2 * GIB}),
    )

    found = scores(BALANCED, pod(), where)

    # shares of CPU and memory: a 1/2 and 1/2, b 3/4 and 1/4, c none
    assert found == {"a": 10, "b": 5, "c": 10}


@pytest.mark.parametrize("requests", [{"cpu": 4000}, {"memory": 8 * GIB}])
def test_balanced_allocation_gives_nothing_to_a_full_node(requests):
    assert scores(BALANCED, pod(requests=requests), cluster(THREE[:1])) == {"a": 0}


def test_balanced_allocation_takes_a_size_that_is_not_declared_for_full():
    assert scores(BALANCED, pod(), cluster([node("a", {"cpu": 1000})])) == {"a": 0}


def test_balanced_allocation_is_to_be_used_with_least_requested():
    """Alone, it likes a node that is nearly full as much as an empty one."""
    where = cluster(THREE[:2], pod("there", on="a", requests={"cpu": 3600, "memory": 7 * GIB}))

    assert scores(BALANCED, pod(), where)["a"] > 9 - 1
    assert scores(LEAST, pod(), where)["a"] < scores(LEAST, pod(), where)["b"]


def test_service_spreading_favours_nodes_with_fewer_pods_of_the_service():
    where = cluster(
        THREE,
        *(web(f"a-{i}", on="a") for i in range(4)),
        web("b-0", on="b"),
        pod("other", on="c"),
        services=[service()],
    )

    assert scores(SPREAD, web("new"), where) == {"a": 0, "b": 7.5, "c": 10}


@pytest.mark.parametrize(
    "services", [[], [service(namespace="x")], [Service(namespace="default", name="external")]]
)
def test_service_spreading_is_the_same_for_all_nodes_without_a_service(services):
    where = cluster(THREE, web("there", on="a"), services=services)

    assert scores(SPREAD, web("new"), where) == {"a": 10, "b": 10, "c": 10}


def test_service_spreading_counts_a_pod_of_two_services_once():
    services = [service("one"), service("two", tier="front")]
    both = {"app": "web", "tier": "front"}
    there = web("there", on="a", labels=both), web("too", on="b")
    where = cluster(THREE, *there, services=services)

    assert scores(SPREAD, web("new", labels=both), where) == {"a": 0, "b": 0, "c": 10}


def test_equal_priority_gives_every_node_one_point():
    where = cluster(THREE, pod("there", on="a", requests={"cpu": 4000}))

    assert scores(EQUAL, pod(), where) == {"a": 1, "b": 1, "c": 1}


def test_service_anti_affinity_scores_nodes_with_the_same_value_the_same():
    where = cluster(RACKS, web("one", on="a"), services=[service()])

    found = scores(service_anti_affinity("rack"), web("new"), where)

    assert found["a"] == found["b"] == 0


def test_service_anti_affinity_favours_the_group_with_the_least_concentration():
    there = [web("one", on="a"), web("two", on="b"), web("three", on="a"), web("four", on="c")]
    where = cluster(RACKS, *there, services=[service()])

    found = scores(service_anti_affinity("rack"), web("new"), where)

    assert found == {"a": 2.5, "b": 2.5, "c": 7.5, "d": 10, "e": 0}


def test_service_anti_affinity_sees_a_difference_of_one_pod_among_many():
    there = [
        web(f"{name}-{i}", on=name) for name, count in (("a", 51), ("c", 50)) for i in range(count)
    ]
    where = cluster(RACKS[:3], *there, services=[service()])

    found = scores(service_anti_affinity("rack"), web("new"), where)

    assert found["c"] > found["a"]


def test_service_anti_affinity_gives_10_to_all_groups_before_the_first_pod():
    where = cluster(RACKS, services=[service()])

    found = scores(service_anti_affinity("rack"), web("new"), where)

    assert found == {"a": 10, "b": 10, "c": 10, "d": 10, "e": 0}


@pytest.mark.parametrize(("presence", "expected"), [(True, [10, 10, 0]), (False, [0, 0, 10])])
def test_label_preference_prefers_nodes_with_or_without_a_label_whatever_its_value(
    *, presence, expected
):
    where = cluster(labelled(a={"rack": "x"}, b={"rack": ""}, c={"zone": "x"}))

    found = scores(label_preference("rack", presence=presence), pod(), where)

    assert [*found.values()] == expected


def test_least_allocated_assumes_something_for_pods_that_ask_for_nothing():
    """kube-scheduler takes 0.1 cores and 200 MiB for them, so that they spread as well."""
    where = cluster(THREE[:2], *(pod(f"a-{i}", on="a") for i in range(10)))

    found = scores(PRIORITIES["LeastAllocated"], pod(), where)

    # b: CPU 97 of 100, memory 97; a: CPU 72, memory 73, rounded down
    assert found == {"a": 7.2, "b": 9.7}


def test_balanced_allocation_of_today_goes_by_what_the_pod_changes():
    where = cluster(
        THREE,
        pod("one", on="a", requests={"memory": 4 * GIB}),
        pod("two", on="b", requests={"cpu": 2000}),
    )

    found = scores(PRIORITIES["BalancedAllocation"], pod(requests={"cpu": 2000}), where)

    # a: 75 before and 100 after, b: 75 and 50, c: 100 and 75
    assert found == {"a": 8.7, "b": 6.2, "c": 6.2}


def test_balanced_allocation_of_today_does_not_score_pods_that_ask_for_nothing():
    assert scores(PRIORITIES["BalancedAllocation"], pod(), cluster(THREE[:2])) == {"a": 0, "b": 0}


HOSTS = [
    node(name, labels={"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone})
    for name, zone in (("a", "x"), ("b", "x"), ("c", "y"))
]


def test_default_spread_favours_nodes_and_zones_with_fewer_pods_of_the_controller():
    there = pod("db-0", on="a", owner=("StatefulSet", "db"))
    where = cluster(HOSTS, there, pod("job", on="c", owner=("Job", "x")))

    found = scores(PRIORITIES["PodTopologySpread"], pod("db-1", owner=("StatefulSet", "db")), where)

    # costs: log(5) a pod of the node + 2, log(4) a pod of the zone + 4: a 9, b 7, c 6
    assert found == {"a": 6.6, "b": 8.8, "c": 10}


@pytest.mark.parametrize("owner", [None, ("Job", "x")])
def test_default_spread_does_not_score_pods_without_service_and_controller(owner):
    where = cluster(HOSTS, pod("there", on="a", owner=owner))

    found = scores(PRIORITIES["PodTopologySpread"], pod(owner=owner), where)

    assert found == {"a": 0, "b": 0, "c": 0}


def near(weight: int, app: str = "web", label: str = "rack") -> PreferredPods:
    return PreferredPods(weight, PodTerm(Selector(labels={"app": app}), label, ("default",)))


def test_preferences_go_with_the_pod_that_has_them():
    where = cluster(RACKS[:3], pod("there", on="a", preferred_pods=(near(3),)))
    where.remove_pod("default/there")

    assert {*scores(PRIORITIES["InterPodAffinity"], web("new"), where).values()} == {0}
