"""What `helm install` would send, for tests of the chart."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

CHART = Path(__file__).parents[1] / "charts" / "longhorn-scheduler-extender"
NAMESPACE = "longhorn-system"
RELEASE = "release"

Object = dict[str, Any]


def template(name: str, *options: str, chart: Path = CHART) -> list[Object]:
    """Return the objects of one template of the chart; *options* are of `helm template`."""
    done = _run("--show-only", f"templates/{name}.yaml", *options, chart=chart)
    if "could not find template" in done.stderr:  # it renders nothing
        return []
    assert (done.returncode, done.stderr) == (0, "")
    return [obj for obj in yaml.safe_load_all(done.stdout) if obj is not None]


def refusal(*options: str) -> str:
    """Return what helm says against these values."""
    done = _run(*options)
    assert done.returncode != 0, "helm has nothing against these values"
    return done.stderr


def _run(*options: str, chart: Path = CHART) -> subprocess.CompletedProcess[str]:
    """Render the chart.

    A missing helm skips the test, except in CI: there it would skip all of them unnoticed.
    """
    helm = shutil.which("helm")
    if helm is None:
        reason = "helm is not on the PATH, so the chart cannot be rendered"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    command = [helm, "template", RELEASE, str(chart), "--namespace", NAMESPACE, *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
