"""Each step of `plan` is a command with options of its own; calls of before go on working."""

import json
import re

import pytest

from tests.unit.cli.plans import BUNDLE, WIKI

COMMON = {
    "--cluster-file", "--also", "--kubeconfig", "--context", "--policy", "--seed", "--runs",
    "--namespace", "--ignore-waiting", "--in-flight", "--output", "--all", "--html", "--quiet",
    "--help",
}  # fmt: skip
OWN = {
    "place": {"--replicas", "--until-full", "--most"},
    "capacity": {"--size", "--class", "--volume-replicas", "--most"},
    "drain": {"--force", "--delete-emptydir-data"},
    "lose": set[str](),
    "cordon": set[str](),
    "uncordon": set[str](),
    "add-node": {"--like"},
    "add-disk": {"--reserved", "--tag"},
    "remove-disk": set[str](),
    "rebalance": {"--below", "--moves"},
    "resize": set[str](),
    "scale": set[str](),
    "set": set[str](),
    "run": set[str](),
}


def test_the_help_names_each_step(called):
    listed = called("plan", "--help")[1].partition("Commands:\n")[2]

    assert [line.split()[0] for line in listed.splitlines()] == [*OWN]


@pytest.mark.parametrize("name", OWN)
def test_the_help_of_a_step_has_its_options_and_no_others(called, name):
    status, text, _ = called("plan", name, "--help")

    assert status == 0

    listed = re.findall(r"^  (?:-\w, )?(--[\w-]+)", text, flags=re.MULTILINE)
    assert {*listed} == COMMON | OWN[name]
    assert "Exit status: 0 " in text


@pytest.mark.parametrize(
    ("front", "behind"),
    [
        (("--delete-emptydir-data", "drain", "node-2"),
         ("drain", "node-2", "--delete-emptydir-data")),
        (("--replicas", "1", "place", WIKI), ("place", WIKI, "--replicas", "1")),
        (("--runs=2", "place", "--replicas=1", WIKI), ("place", WIKI, "--replicas=1", "--runs=2")),
        (("-qo", "json", "--", "cordon", "node-1"), ("cordon", "node-1", "-q", "-o", "json")),
        (("--tag", "a", "add-disk", "node-1/x", "--tag", "b", "1Ti"),
         ("add-disk", "node-1/x", "1Ti", "--tag", "a", "--tag", "b")),
    ],
)  # fmt: skip
def test_options_may_stand_before_the_step(called, front, behind):
    expected = called("plan", "--cluster-file", BUNDLE, *behind)

    assert expected[0] == 0
    assert called("plan", "--cluster-file", BUNDLE, *front) == expected


def test_a_scenario_that_fills_is_asked_whether_it_works(run, tmp_path):
    scenario = tmp_path / "fill.yaml"
    scenario.write_text(json.dumps({"steps": [{"fill": WIKI}]}))

    assert run("run", str(scenario))[1].startswith("all of it works: 4 pods placed")
    assert run("capacity", WIKI)[1].startswith("4 more pods fit")
