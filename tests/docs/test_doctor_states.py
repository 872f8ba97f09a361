"""The page about `doctor` says what it finds in each state of an installation."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from app.config import NAME
from cli.catalogue import Severity
from cli.doctor.facts import InjectionSeen, LeftOver
from cli.doctor.findings import findings
from cli.doctor.releases import Release
from cli.kube.asking import WaitingPod
from tests.docs.pages import DOCS, code_in, tables
from tests.unit.cli.test_doctor_findings import (
    INSTANCES,
    NAMESPACE,
    NOW,
    OVER_TLS,
    configured,
    facts,
    instance,
    lease,
    live_settings,
    scheduler,
    wishing,
)

PAGE = DOCS / "doctor.md"
RELEASE = Release(NAME, NAMESPACE)
NO_LEADER: Mapping[str, Any] = {"holder": None, "slices": []}
STARTING = {**NO_LEADER, "lease": None}
BY_HELM = configured(RELEASE, filterVerb=None)


def edited(config: Any) -> Any:
    """Return a configuration that somebody has changed by hand."""
    return msgspec.structs.replace(config, by_people=frozenset({"config.yaml"}))


def unready(trouble: str) -> dict[str, Any]:
    return {"instances": [instance(is_ready=False, trouble=trouble)] * 2}


STATES: Mapping[str, Mapping[str, Any]] = {
    "The first pods start": {
        **STARTING,
        **unready("ContainerCreating"),
        "second_scheduler": scheduler(pods=[instance(is_ready=False)]),
    },
    "Their image cannot be pulled": {**STARTING, **unready("ErrImagePull: not found")},
    "It is in another namespace": {"left_over": LeftOver(elsewhere=["default"])},
    "A live setting says that nobody leads": {
        **NO_LEADER,
        "lease": lease(holder=None),
        "config_map": live_settings(RELEASE, scheduler_extender_enabled="false"),
    },
    "The same, installed without Helm": {
        **NO_LEADER,
        "lease": lease(holder=None),
        "config_map": live_settings(scheduler_extender_enabled="false"),
    },
    "An Emergency is on, by Helm": {"second_scheduler": scheduler(config=BY_HELM)},
    "An Emergency is on, by kubectl": {"second_scheduler": scheduler(config=edited(BY_HELM))},
    "TLS is on, and the second scheduler's configuration could not be written": {
        "instances": OVER_TLS,
        "second_scheduler": scheduler(config=edited(configured(RELEASE))),
    },
    "That configuration was changed, and the second scheduler not restarted": {
        "second_scheduler": scheduler(
            config=msgspec.structs.replace(configured(), changed=NOW),
            pods=[instance(started=NOW.replace(hour=9))],
        )
    },
    "Injection has not begun, or somebody has turned it off": {
        "config_map": live_settings(RELEASE, scheduler_extender_inject="false")
    },
    "Injection waits for kube-scheduler": {
        "injection": InjectionSeen(),
        "service": wishing("waiting"),
    },
    "It was uninstalled, and pods wait": {
        "left_over": LeftOver(
            leases=[NAME, "longhorn-scheduler"],
            asking=[
                WaitingPod(namespace="shop", name="solo"),
                WaitingPod(namespace="shop", name="web-0", controller="StatefulSet web"),
            ],
        )
    },
}


def rows() -> list[tuple[str, str, str]]:
    [found] = tables(PAGE, "what-it-says-in-each-state")
    return [(state, problems, said) for state, problems, said in found]


def test_every_state_has_a_row():
    assert [_plain(state) for state, _, _ in rows()] == [*STATES]


@pytest.mark.parametrize(
    ("state", "problems", "said"), [pytest.param(*row, id=row[0]) for row in rows()]
)
def test_what_it_says_is_what_the_page_says(state, problems, said):
    found = [
        each
        for each in findings(facts(**STATES[_plain(state)]))
        if each.severity in (Severity.WARNING, Severity.ERROR)
    ]
    text = " ".join(f"{each.text} {' '.join(each.remedies)}" for each in found)

    assert list(dict.fromkeys(each.code for each in found)) == code_in(problems)
    assert [each for each in code_in(said) if each not in text] == []


def test_a_healthy_installation_has_neither():
    healthy = facts(instances=INSTANCES, second_scheduler=scheduler())

    assert {each.severity for each in findings(healthy)} == {Severity.OK}


def _plain(state: str) -> str:
    """Return the text without its link."""
    return state.replace("[", "").replace(
        "](troubleshooting.md#emergency-schedule-without-the-extender)", ""
    )
