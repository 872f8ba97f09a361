"""Which commands move a release, in which order, and what is left if one of them fails."""

import json
from itertools import count
from typing import Any

import pytest

from supply.move import Move, MoveError, move, refusal, secrets_of

PLAN = Move("longhorn-system", "longhorn-scheduler", "ours")
EXTENDER = "longhorn-scheduler-extender"
BACK = Move("longhorn-scheduler", "longhorn-system", "ours")


class Cluster:
    """Notes what is run; a command that begins with *failing* fails.

    Attributes:
        commands: In short: the program, what it does, and the namespace.
        given: The values and options of each installation and upgrade.
    """

    def __init__(
        self,
        values: dict[str, Any] | None = None,
        *,
        failing: str = "-",
        held: str = "",
        there: bool = False,
    ) -> None:
        self.commands: list[str] = []
        self.given: list[tuple[dict[str, Any], list[str]]] = []
        self._values, self._failing, self._held, self._there = values, failing, held, there

    def move(self, plan: Move = PLAN) -> float:
        """Move the release; a look at the clock takes 7 s."""
        times = count(0, 7)
        return move(self.run, plan, lambda: float(next(times)))

    def run(self, *command: str, stdin: str = "") -> str:
        namespace = next((each for each in command if each.startswith("--namespace=")), "")
        said = f"{command[0]} {command[1]} {namespace.removeprefix('--namespace=')}".strip()
        self.commands.append(said)
        if stdin:
            options = [each.removeprefix("--set=") for each in command if "--set=" in each]
            self.given.append((json.loads(stdin), options))
        if command[:3] == ("kubectl", "get", "secrets"):
            return "secret/sh.helm.release.v1.ours.v1" if self._there else ""
        if said == self._failing:
            self._failing = "-"
            raise MoveError(f"{said} failed")
        if command[:3] == ("helm", "get", "values"):
            return json.dumps(self._values or None)
        if command[:3] == ("kubectl", "get", "lease"):
            return f"{command[3]} {self._held}"
        return "2" if "jsonpath={.spec.replicas}" in command[-1] else ""


def test_new_release_is_idle_until_the_old_scheduler_has_ended():
    cluster = Cluster({"replicas": 3})

    assert cluster.move() == 7
    assert cluster.commands == [
        "helm get longhorn-system",
        "kubectl get longhorn-scheduler",
        "kubectl apply",
        "kubectl get longhorn-system",
        "helm install longhorn-scheduler",
        "kubectl scale longhorn-system",
        "kubectl wait longhorn-system",
        "helm upgrade longhorn-scheduler",
        "helm uninstall longhorn-system",
        *["kubectl get longhorn-system", "kubectl delete longhorn-system"] * 3,
    ]
    [(before, idle), (after, working)] = cluster.given
    assert before == after == {"replicas": 3}
    assert "liveSettings.enabled=false" in idle
    assert "injection.mode=none" in idle
    assert working == ["diskScheduleController.enabled=false"]


def test_way_back_makes_no_namespace():
    cluster = Cluster()

    cluster.move(BACK)

    assert "kubectl apply" not in cluster.commands
    assert cluster.commands[-1] == "kubectl delete longhorn-scheduler"


HELD = {
    "the extender, gone": ("longhorn-scheduler-extender-7d9-x_some-uuid", True),
    "the second scheduler, gone": ("longhorn-scheduler-5f-y_some-uuid", True),
    "somebody else": ("longhorn-manager-x", False),
}


@pytest.mark.parametrize(("held", "goes"), HELD.values(), ids=HELD)
def test_lease_of_a_pod_that_is_gone_goes_and_that_of_others_stays(held, goes):
    cluster = Cluster(held=held)

    cluster.move()

    deleted = [each for each in cluster.commands if each.startswith("kubectl delete")]
    assert {*deleted} == ({"kubectl delete longhorn-system"} if goes else set())


def test_controller_of_disk_schedules_starts_when_the_old_one_is_gone():
    cluster = Cluster({"diskScheduleController": {"enabled": True}})

    cluster.move()

    at = cluster.commands.index("helm uninstall longhorn-system")
    assert cluster.commands[at + 1] == "helm upgrade longhorn-scheduler"
    assert cluster.given[-1][1] == []


UNINSTALL, SCALE = "helm uninstall longhorn-scheduler", "kubectl scale longhorn-system"
FAILING = {
    "kubectl get longhorn-system": [],
    "helm install longhorn-scheduler": [UNINSTALL],
    SCALE: [UNINSTALL, SCALE],
    "kubectl wait longhorn-system": [UNINSTALL, SCALE],
    "helm upgrade longhorn-scheduler": [UNINSTALL, SCALE],
}


@pytest.mark.parametrize(("failing", "after"), FAILING.items(), ids=FAILING)
def test_failure_leaves_the_old_release_at_work(failing, after):
    cluster = Cluster(failing=failing)

    with pytest.raises(MoveError, match=failing):
        cluster.move()

    assert cluster.commands[cluster.commands.index(failing) + 1 :] == after


def test_secret_that_is_not_there_stops_before_anything_is_installed():
    cluster = Cluster(
        {"tls": {"mode": "secret"}, "imagePullSecrets": [{"name": "registry"}]},
        failing="kubectl get longhorn-scheduler",
    )

    with pytest.raises(MoveError):
        cluster.move()

    assert not any("install" in each for each in cluster.commands)


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ({}, []),
        ({"image": None, "tls": None}, []),
        ({"image": {"pullSecrets": [{"name": "a"}]}, "imagePullSecrets": [{"name": "a"}]}, ["a"]),
        ({"tls": {"mode": "selfSigned"}}, []),
        ({"tls": {"mode": "secret", "secretName": "mine"}}, [f"{EXTENDER}-client", "mine"]),
    ],
)
def test_secrets_of_a_user_s_own(values, names):
    assert secrets_of(values) == names


def test_release_that_is_in_the_other_namespace_already_is_left_alone():
    cluster = Cluster(there=True)

    with pytest.raises(MoveError, match="has a release ours already"):
        cluster.move()

    assert not any("install" in each or "scale" in each for each in cluster.commands)


def with_address(**address: str) -> dict[str, Any]:
    return {"service": {"clusterIP": address}}


REFUSED: dict[str, tuple[Move, dict[str, Any], str]] = {
    "no address": (PLAN, {}, ""),
    "empty addresses": (PLAN, with_address(ipv4="", ipv6=""), ""),
    "an address": (PLAN, with_address(ipv4="10.96.0.95"), "fixed address"),
    "an address of IPv6": (PLAN, with_address(ipv6="fd00::95"), "fixed address"),
    "no namespace": (PLAN._replace(source=""), {}, "FROM="),
    "the same namespace": (PLAN._replace(target=PLAN.source), {}, "already"),
}


@pytest.mark.parametrize(("plan", "values", "why"), REFUSED.values(), ids=REFUSED)
def test_fixed_address_is_moved_by_hand_and_a_namespace_must_be_another(plan, values, why):
    found = refusal(plan, values)

    assert why in str(found) if why else found is None
