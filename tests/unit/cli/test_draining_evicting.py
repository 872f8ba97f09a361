"""What `kubectl drain` refuses, and which pods budgets keep."""

from typing import Any

import pytest

from tests.unit.cli.drained import (
    LONGHORN,
    THEN,
    Document,
    budget,
    host,
    in_the_way,
    judged,
    manager,
    manager_pod,
    node,
    pod,
)

WEB = {"app": "web"}
STATIC = {"kubernetes.io/config.mirror": "x"}


def web(number: int = 0, **fields: Any) -> Document:
    return pod(f"web-{number}", labels=WEB, **fields)


def codes(*documents: Document, **options: Any) -> list[str]:
    return [code for code, _ in in_the_way(*documents, **options)]


@pytest.mark.parametrize(
    ("fields", "means", "expected"),
    [
        ({"owner": None}, {}, ["pod_without_controller"]),
        ({"owner": None}, {"force": True}, []),
        ({"owner": None, "phase": "Succeeded"}, {}, []),
        ({"owner": None, "annotations": STATIC}, {}, []),
        ({"emptyDir": True}, {}, ["pod_with_local_data"]),
        ({"emptyDir": True}, {"force": True}, ["pod_with_local_data"]),
        ({"emptyDir": True}, {"delete_local_data": True}, []),
        ({"emptyDir": True, "phase": "Failed"}, {}, []),
        ({"emptyDir": True, "owner": "DaemonSet"}, {}, []),
        ({"emptyDir": True, "node": "node-2"}, {}, []),
        ({"emptyDir": True, "owner": None}, {}, ["pod_without_controller", "pod_with_local_data"]),
    ],
)
def test_kubectl_refuses_some_pods(
    fields: dict[str, Any], means: dict[str, bool], expected: list[str]
) -> None:
    assert codes(*node(), pod(**fields), **means) == expected


def test_a_manager_of_data_engine_v2_has_an_empty_dir() -> None:
    there = [*node(), manager(engine="v2"), budget("im-v2-node-1")]
    there.append(manager_pod(engine="v2", emptyDir=True))

    assert in_the_way(*there) == [("manager_with_local_data", f"Pod {LONGHORN}/im-v2-node-1")]
    assert in_the_way(*there, delete_local_data=True) == []


@pytest.mark.parametrize(
    ("ready", "pods", "expected"),
    [
        ("False", [pod()], ["node_not_ready"]),
        ("Unknown", [pod()], ["node_not_ready"]),
        ("True", [pod()], []),
        ("False", [pod(owner="DaemonSet")], []),
    ],
)
def test_pods_do_not_end_on_a_node_that_is_not_ready(
    ready: str, pods: list[Document], expected: list[str]
) -> None:
    assert codes(host(ready=ready), *pods) == expected


@pytest.mark.parametrize(
    ("allowed", "fields", "expected"),
    [
        (0, {}, ["budget"]),
        (1, {}, []),
        (-1, {}, ["budget"]),
        (0, {"phase": "Pending"}, []),
        (0, {"phase": "Succeeded"}, []),
        (0, {"deletionTimestamp": THEN}, []),
        (0, {"owner": "DaemonSet"}, []),
        (0, {"node": "node-2"}, []),
        (0, {"ready": False}, ["budget"]),
    ],
)
def test_a_budget_keeps_a_pod(allowed: int, fields: dict[str, Any], expected: list[str]) -> None:
    there = budget("web", "default", labels=WEB, allowed=allowed)

    assert codes(*node(), there, web(**fields)) == expected


@pytest.mark.parametrize(
    ("status", "policy", "expected"),
    [
        ({"currentHealthy": 2, "desiredHealthy": 2}, None, []),
        ({"currentHealthy": 1, "desiredHealthy": 2}, None, ["budget"]),
        ({"currentHealthy": 0, "desiredHealthy": 0}, None, ["budget"]),
        ({"currentHealthy": 1, "desiredHealthy": 2}, "IfHealthyBudget", ["budget"]),
        ({"currentHealthy": 1, "desiredHealthy": 2}, "AlwaysAllow", []),
    ],
)
def test_a_pod_that_is_not_ready_may_go_if_its_budget_is_met(
    status: dict[str, int], policy: str | None, expected: list[str]
) -> None:
    there = budget("web", "default", labels=WEB, **status)
    if policy:
        there["spec"]["unhealthyPodEvictionPolicy"] = policy

    assert codes(*node(), there, web(ready=False)) == expected


def test_a_budget_of_another_namespace_or_without_a_selector_keeps_nothing() -> None:
    elsewhere = budget("web", "other", labels=WEB)
    of_none = budget("none", "default")
    del of_none["spec"]["selector"]

    assert codes(*node(), elsewhere, of_none, web()) == []


def test_an_empty_selector_takes_all_pods_of_the_namespace() -> None:
    assert codes(*node(), budget("all", "default", labels={}), web()) == ["budget"]


def test_kubernetes_evicts_no_pod_of_two_budgets() -> None:
    there = [budget(name, "default", labels=WEB, allowed=1) for name in ("one", "two")]

    assert codes(*node(), *there, web()) == ["several_budgets"]


def test_a_second_budget_of_an_instance_manager_is_as_any_other() -> None:
    there = budget("mine", LONGHORN, labels={"im": "im-v1-node-1"}, allowed=0)

    assert in_the_way(*node(), there) == [("budget", f"Pod {LONGHORN}/im-v1-node-1")]


def test_a_budget_that_lets_some_of_the_pods_go_makes_the_drain_wait() -> None:
    there = budget("web", "default", labels=WEB, allowed=1)

    verdict = judged(*node(), there, web(0), web(1))

    assert (verdict.may, verdict.obstacles) == ("yes", ())
    [caution] = verdict.cautions
    assert (caution.code, caution.object) == ("one_by_one", "PodDisruptionBudget default/web")
    assert "allows 1 of 2 pods" in caution.text


def test_a_budget_without_a_status_is_not_known() -> None:
    verdict = judged(*node(), budget("web", "default", labels=WEB, allowed=None), web())

    assert verdict.may == "unknown"
    assert verdict.unknown == (
        "PodDisruptionBudget default/web has no status, so what it allows is not known",
    )


def test_what_keeps_kubectl_from_beginning_comes_first() -> None:
    there = [budget("web", "default", labels=WEB), web(), pod("tool", owner=None)]

    assert codes(*node(), *there) == ["pod_without_controller", "budget"]


def test_what_has_the_same_remedy_comes_together() -> None:
    pods = [pod(name, owner=None, emptyDir=True) for name in ("a", "b")]

    assert codes(*node(), *pods) == [
        *["pod_without_controller"] * 2,
        *["pod_with_local_data"] * 2,
    ]


def test_the_pods_that_would_go_are_counted() -> None:
    there = [web(), pod("agent", owner="DaemonSet"), pod("other", "node-2")]

    assert judged(*node(), *there).pods == 2  # the instance manager is the other one
