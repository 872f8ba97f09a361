"""What plans read of a pod's rules: spreads, preferences, and what no plan goes by."""

from typing import Any

import msgspec
import pytest

from cli.kube.planned_pods import PlannedPod, planned_wishes
from extender.kubernetes import NodeTerm, Requirement
from planner.records import PodTerm, PreferredNodes, PreferredPods, Selector, Spread, Wishes

ZONE, LABELS = "topology.kubernetes.io/zone", {"app": "web", "rev": "1"}
IS_WEB = {"matchLabels": {"app": "web"}}
SPREAD = {"topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def wishes(**spec: Any) -> Wishes:
    pod = {"metadata": {"name": "web-0", "labels": LABELS}, "spec": {"containers": [{}], **spec}}
    return planned_wishes(msgspec.convert(pod, PlannedPod))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(SPREAD, {}, id="no-selector"),
        pytest.param(
            SPREAD | {"labelSelector": IS_WEB},
            {"selector": Selector(labels={"app": "web"})},
            id="selector",
        ),
        pytest.param(
            SPREAD | {"labelSelector": {}, "matchLabelKeys": ["rev", "absent"]},
            {
                "selector": Selector(
                    requirements=(Requirement(key="rev", operator="In", values=("1",)),)
                )
            },
            id="match-label-keys",
        ),
        pytest.param(
            SPREAD | {"matchLabelKeys": ["rev"]}, {}, id="match-label-keys-without-selector"
        ),
        pytest.param(
            SPREAD | {"minDomains": 3, "maxSkew": 2},
            {"least_domains": 3, "max_skew": 2},
            id="numbers",
        ),
        pytest.param(
            SPREAD | {"nodeAffinityPolicy": "Ignore", "nodeTaintsPolicy": "Honor"},
            {"only_allowed": False, "only_tolerated": True},
            id="policies",
        ),
        pytest.param(
            SPREAD | {"whenUnsatisfiable": "ScheduleAnyway"}, {"is_required": False}, id="soft"
        ),
    ],
)
def test_topology_spread(given: dict[str, Any], expected: dict[str, Any]) -> None:
    found = wishes(topologySpreadConstraints=[given])

    assert found.spreads == (Spread(**{"topology_key": ZONE, "max_skew": 1, **expected}),)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"topologyKey": None}, "has no topologyKey; name a label of nodes"),
        ({"maxSkew": 0}, ".maxSkew is 0; use 1 or more"),
        ({"minDomains": 0}, ".minDomains is 0; use 1 or more"),
        ({"whenUnsatisfiable": "Never"}, ".whenUnsatisfiable is 'Never'; use DoNotSchedule or"),
        ({"nodeTaintsPolicy": "honor"}, ".nodeTaintsPolicy is 'honor'; use Honor or Ignore"),
    ],
)
def test_a_topology_spread_that_the_api_server_refuses(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=r"topologySpreadConstraints\[0\]") as refused:
        wishes(topologySpreadConstraints=[SPREAD | changes])

    assert why in str(refused.value)


def test_preferred_affinity() -> None:
    near = {"labelSelector": IS_WEB, "topologyKey": ZONE}
    term = PodTerm(Selector(labels={"app": "web"}), ZONE, ("default",))
    ssd = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}

    found = wishes(
        affinity={
            "nodeAffinity": {PREFERRED: [{"weight": 5, "preference": ssd}]},
            "podAffinity": {PREFERRED: [{"weight": 7, "podAffinityTerm": near}]},
            "podAntiAffinity": {PREFERRED: [{"weight": 9, "podAffinityTerm": near}]},
        }
    )

    is_ssd = NodeTerm(labels=(Requirement(key="disk", operator="In", values=("ssd",)),))
    assert found.preferred_nodes == (PreferredNodes(5, is_ssd),)
    assert found.preferred_pods == (PreferredPods(7, term), PreferredPods(-9, term))
    assert not found.has_pod_rules


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        ({"resourceClaims": [{"name": "gpu"}]}, "resourceClaims"),
        ({"schedulingGates": [{"name": "later"}]}, "schedulingGates"),
        ({"schedulingGroup": {"podGroupName": "all"}}, "schedulingGroup"),
        ({"runtimeClassName": "kata"}, "runtimeClassName"),
        ({"volumes": [{"name": "a", "csi": {"driver": "x"}}]}, "csi volumes"),
        ({"volumes": [{"name": "a", "rbd": {"image": "x"}}]}, "rbd volumes"),
        (
            {"volumes": [{"name": "a", "gcePersistentDisk": {"pdName": "x"}}]},
            "gcePersistentDisk volumes",
        ),
        (
            {
                "affinity": {
                    "podAffinity": {
                        REQUIRED: [{"topologyKey": ZONE, "namespaceSelector": IS_WEB}],
                    }
                }
            },
            "namespaceSelector of its affinity",
        ),
    ],
)
def test_what_no_plan_goes_by_is_named(spec: dict[str, Any], named: str) -> None:
    [what] = wishes(**spec).unplanned

    assert what.startswith(f"{named} (")


@pytest.mark.parametrize(
    "spec",
    [
        {"runtimeClassName": "kata", "overhead": {"cpu": "1"}},
        {"affinity": {"podAffinity": {REQUIRED: [{"topologyKey": ZONE, "namespaceSelector": {}}]}}},
        {"hostNetwork": True, "tolerations": [{"operator": "Exists"}]},
        {"topologySpreadConstraints": [SPREAD]},
        {"volumes": [{"name": "a", "emptyDir": {}}, {"name": "b", "configMap": {"name": "x"}}]},
    ],
)
def test_what_plans_go_by_is_not_named(spec: dict[str, Any]) -> None:
    assert wishes(**spec).unplanned == ()


@pytest.mark.parametrize(
    ("spec", "priority"),
    [
        ({}, ""),
        ({"priority": 0}, ""),
        ({"priority": 7}, "7"),
        ({"priorityClassName": "high", "priority": 7}, "high"),
        ({"priorityClassName": "high", "preemptionPolicy": "Never"}, ""),
    ],
)
def test_by_which_priority_a_pod_may_have_others_evicted(
    spec: dict[str, Any], priority: str
) -> None:
    assert wishes(**spec).priority == priority
