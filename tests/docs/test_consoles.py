"""What runs the documentation's commands notices those that would not work."""

import io
from pathlib import Path

import pytest

from tests import tools
from tests.docs import stand_ins
from tests.docs.consoles import Command, agrees, commands
from tests.docs.pages import Block
from tests.docs.workspace import Workspace

pytestmark = pytest.mark.tools


def session(text: str) -> list[Command]:
    return list(commands(Block(Path("page.md"), 1, "console", text, "")))


def test_what_follows_a_command_is_its_output():
    assert session("$ a \\\n  b\none\ntwo\n$ c 'd\n  e'\n") == [
        Command(2, "a \\\n  b", "one\ntwo"),
        Command(6, "c 'd\n  e'", ""),
    ]


@pytest.mark.parametrize(
    ("shown", "printed", "expected"),
    [
        ("one\ntwo", "one\ntwo\n", True),
        ("one", "one\ntwo\n", False),
        ("one\n...\nfour", "one\ntwo\nthree\nfour\n", True),
        ("one\n...", "one\ntwo\n", True),
        ("one\n...\nfour", "one\ntwo\n", False),
        ('{"a": 1}', '{\n  "a": 1}\n', True),
        ('{"a": 1}', '{"a": 2}', False),
    ],
)
def test_output_agrees_with_what_is_shown(shown, printed, expected):
    assert agrees(shown, printed) is expected


@pytest.mark.parametrize(
    "command",
    [
        "make no-such-target",
        "docker build --tag x manifests",
        "cp manifests/scheduler/k4s.yaml /etc",
        "kubectl apply -k manifests/no-such-folder",
        "kubectl apply -f no-such-file.yaml | grep x",
        "helm install x charts/no-such-chart",
    ],
)
def test_stand_ins_complain_of_what_would_not_work(command, tmp_path):
    assert_trouble(command, tmp_path)


@pytest.mark.parametrize(
    "command",
    [
        "kubectl get --no-such-flag pods",
        "kubectl aply -k manifests/base",
        "helm install x charts/longhorn-scheduler-extender --set replica=3",
    ],
)
def test_real_programs_complain_of_what_would_not_work(command, tmp_path):
    tools.find(command.partition(" ")[0])

    assert_trouble(command, tmp_path)


def test_what_is_piped_into_a_stand_in_is_read(monkeypatch, tmp_path):
    given = io.StringIO("kind: Pod")
    monkeypatch.setattr("sys.stdin", given)
    monkeypatch.setenv("REAL_KUBECTL", "")
    monkeypatch.chdir(tmp_path)  # where it writes what is applied

    assert stand_ins.main("kubectl", ["apply", "-f", "-"]) == 0
    assert given.read() == ""


def assert_trouble(command: str, tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)

    assert workspace.run(command).status != 0
    assert command.partition(" | ")[0] in workspace.trouble()
