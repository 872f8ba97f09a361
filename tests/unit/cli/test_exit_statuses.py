"""Every exit status that a help text names is met, and JSON obeys its schema each time."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import typer

from cli.commands import commands
from cli.schema import schema
from tests.fakes import Answer, Fault, Object
from tests.unit.cli.live import put
from tests.unit.cli.plans import ROOT, Run

GROUP: Any = typer.main.get_command(commands)
BUNDLE = ("--cluster-file", "examples/bundle")
QUAD = ("--cluster-file", "examples/goal2")
RICH = ("--cluster-file", "examples/rich")
DRAIN = ("--cluster-file", "examples/may-drain")
WIKI = "examples/plans/wiki.yaml"
POD = """apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec: {volumes: [{name: v, persistentVolumeClaim: {claimName: NAME}}]}
"""
TOO_LARGE = """---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: large}
spec:
  storageClassName: longhorn-local
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 100Ti}}
"""
OTHER = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
FILES: list[tuple[int, tuple[str, ...]]] = [
    (0, ("filter", "quad", *QUAD)),
    (1, ("filter", "large.yaml", *QUAD)),
    (2, ("filter", "nobody", *QUAD)),
    (3, ("filter", "lost.yaml", *QUAD)),
    *((0, ("filter", pod, *RICH)) for pod in ("pair", "queue-0", "files", "neighbour-0")),
    (0, ("overview", *BUNDLE)),
    (0, ("overview", *RICH)),
    (2, ("overview", "--cluster-file", "absent")),
    (0, ("claims", *RICH)),
    (2, ("claims", "--cluster-file", "absent")),
    (0, ("status", *BUNDLE)),
    (1, ("status", *RICH)),
    (2, ("status", "--cluster-file", "absent")),
    (0, ("survey", *BUNDLE)),
    (1, ("survey", *RICH)),
    (2, ("survey", "--cluster-file", "absent")),
    (0, ("plan", "cordon", "node-1", *BUNDLE)),
    (0, ("plan", "place", WIKI, *BUNDLE)),
    (1, ("plan", "place", WIKI, "--replicas", "9", *BUNDLE)),
    (0, ("plan", "capacity", WIKI, *BUNDLE)),
    (0, ("plan", "run", "examples/plans/growth.yaml", *BUNDLE)),
    (1, ("plan", "lose", "node-3", "node-4", *BUNDLE)),
    (1, ("plan", "drain", "node-c1", *RICH)),
    (1, ("plan", "set", "storage-over-provisioning-percentage=10", *RICH)),
    (2, ("plan", "drain", "node-9", *BUNDLE)),
    (0, ("may-drain", "node-1", *DRAIN)),
    (1, ("may-drain", "node-2", *DRAIN)),
    (1, ("may-drain", "node-4", *DRAIN)),
    (1, ("may-drain", "node-3", "node-4", *DRAIN)),
    (0, ("may-drain", "--next", "node-2", "node-5", "node-1", *DRAIN)),
    (1, ("may-drain", "--next", "node-3", *DRAIN)),
    (2, ("may-drain", "node-9", *DRAIN)),
    (0, ("scheduler-config", "--distribution", "k3s", "--check", "manifests/scheduler/k3s.yaml")),
    (1, ("scheduler-config", "--distribution", "k3s", "--check", "other.yaml")),
    (2, ("scheduler-config", "--distribution", "k3s", "--check", "absent")),
]
RANGES: Object = {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "ServiceCIDR",
    "metadata": {"name": "kubernetes"},
    "spec": {"cidrs": ["10.43.0.0/16"]},
}


LIVE = {
    ("doctor", 0): "may read nothing",
    ("doctor", 1): "is empty",
    ("doctor", 2): "refuses",
    ("propose-address", 0): "has ranges",
    ("propose-address", 2): "may read nothing",
    ("trial", 2): "refuses",
}
"""How the cluster is with which a command that needs a live one ends so."""
END_TO_END = {("trial", 0), ("trial", 1)}
"""Met in tests/e2e/test_trial.py: they take schedulers, controllers and Longhorn."""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in a folder with the examples and some files."""
    monkeypatch.chdir(tmp_path)
    for name in ("examples", "manifests"):
        Path(name).symlink_to(ROOT / name)
    Path("lost.yaml").write_text(POD.replace("NAME", "lost"))
    Path("large.yaml").write_text(POD.replace("NAME", "large") + TOO_LARGE)
    Path("other.yaml").write_text(OTHER)


def test_each_exit_status_of_a_help_text_has_a_call():
    named = {
        (command, int(status))
        for command in GROUP.commands
        for said in re.findall(r"(?s)Exit status: (.*?)\.(?:\s|$)", GROUP.commands[command].help)
        for status in re.findall(r"(?:^|[,;]\s+)(\d) ", said)
    }

    assert named == {*((words[0], status) for status, words in FILES), *LIVE, *END_TO_END}


def check(called: Run, status: int, *words: str) -> None:
    """Check the status of a command, and its answer in two forms."""
    for output in ("table", "json"):
        found, out, _ = called(*words, "-o", output)

        assert found == status
        assert (out == "") is (status == 2)
        if out and output == "json":
            jsonschema.validate(json.loads(out), schema(words[0]))


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(("status", "words"), FILES)
def test_the_exit_status_is_that_of_the_help_and_json_obeys_the_schema(called, status, words):
    check(called, status, *words)


@pytest.mark.parametrize(("command", "status"), LIVE)
def test_of_a_live_cluster_too(server, config, called, command, status):
    match LIVE[command, status]:
        case "may read nothing":
            server.authorize = lambda _: False
        case "refuses":
            server.faults.append(Fault(Answer(401), times=None))
        case "has ranges":
            put(server, [RANGES])

    check(called, status, command, "--kubeconfig", config)
