"""The versions of Kubernetes that the end-to-end tests run, and where they are named."""

import re

import pytest
import yaml

from tests.docs.pages import ROOT
from tests.e2e.controlplane.programs import MissingError, kubernetes_version, minor_versions
from tests.e2e.controlplane.versions import VERSIONS, chosen

GATE = ROOT / ".github" / "workflows" / "gate.yml"


def test_the_table_has_a_row_for_each():
    assert tuple(VERSIONS) == minor_versions()


def test_the_workflow_runs_each():
    jobs = yaml.safe_load(GATE.read_text(encoding="utf-8"))["jobs"]

    assert jobs["kubernetes"]["strategy"]["matrix"] == {"kubernetes": [*minor_versions()]}


@pytest.mark.parametrize("minor", minor_versions())
def test_one_is_chosen_by_its_name(minor):
    environ = {"E2E_KUBERNETES": minor}

    assert chosen(environ) is VERSIONS[minor]
    assert re.fullmatch(rf"v{re.escape(minor)}\.\d+", kubernetes_version(environ))


def test_the_newest_is_the_default():
    assert chosen({"E2E_KUBERNETES": ""}) is VERSIONS[minor_versions()[-1]]


def test_one_that_is_not_there_is_named_with_those_that_are():
    with pytest.raises(MissingError, match=r"E2E_KUBERNETES is 1\.33; name one of 1\.34, "):
        chosen({"E2E_KUBERNETES": "1.33"})
