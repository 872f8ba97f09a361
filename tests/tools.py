"""Programs besides Python that tests call, and what becomes of a test where one is missing.

`make test` leaves such a test out, and names the program at its end. A test that may call one has
the mark `tools`: `make test-tools` runs those, and there a missing program fails them.
"""

import os
import shutil
from typing import NoReturn

import pytest

_COREUTILS = "apt-get install coreutils"
INSTALL = {
    **dict.fromkeys(("base64", "cat", "head", "mkdir", "mktemp", "rm", "tail", "tr"), _COREUTILS),
    "actionlint": "go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12",
    "curl": "apt-get install curl",
    "helm": "go install helm.sh/helm/v4/cmd/helm@v4.3.1",
    "kubectl": "see https://kubernetes.io/docs/tasks/tools/",
    "kustomize": "go install sigs.k8s.io/kustomize/kustomize/v5@v5.8.0",
    "openssl": "apt-get install openssl",
    "tar": "apt-get install tar",
}
"""How each comes onto a machine."""
_RUNS_THEM = "`make test-tools`"


def find(*names: str) -> str:
    """Return the path of the first of these programs that is there; without any, end the test."""
    for path in filter(None, map(shutil.which, names)):
        return path
    reason = f"{' or '.join(names)} is missing; {INSTALL[names[0]]}, then {_RUNS_THEM}"
    if os.environ.get("REQUIRE_TOOLS"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def judge(report: pytest.TestReport, item: pytest.Item) -> None:
    """Have pytest count the tests that miss a program as one, and take none without the mark."""
    if not (report.skipped and isinstance(report.longrepr, tuple)):
        return
    reason = report.longrepr[2].removeprefix("Skipped: ")
    if not reason.endswith(_RUNS_THEM):
        return
    if item.get_closest_marker("tools"):
        report.longrepr = (__file__, 1, reason)
    else:
        report.outcome, report.longrepr = "failed", f"{reason} (it has no mark `tools`)"


def give_up(reason: str) -> NoReturn:
    """Skip a test of another target, except in CI: there all would be skipped unnoticed."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)
