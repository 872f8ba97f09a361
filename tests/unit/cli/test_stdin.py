"""`-` in place of a file: what comes in on stdin."""

import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from app.errors import InputError
from cli.documents import load_documents
from cli.files import load_cluster
from cli.running import run_command
from cli.stdin import INPUT, read_input
from tests.unit.cli.plans import BUNDLE, EXAMPLES, ROOT, WIKI

CLUSTER = EXAMPLES / "goal2" / "cluster.yaml"
SCENARIO = "steps: [{place: wiki.yaml}]"


Given = Callable[[bytes], None]


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> Given:
    """Give a text on stdin."""

    def give(text: bytes) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))

    return give


@pytest.mark.parametrize("words", [("place",), ("capacity",)])
def test_workloads_come_in_on_stdin(run, given, words):
    expected = run(*words, WIKI)
    given(Path(WIKI).read_bytes())

    assert run(*words, "-") == expected


def test_a_scenario_comes_in_on_stdin_and_names_files_of_the_folder(run, given, monkeypatch):
    monkeypatch.chdir(Path(WIKI).parent)
    given(SCENARIO.encode())

    assert run("run", "-")[:2] == run("place", WIKI)[:2]


def test_a_scenario_of_a_folder_may_name_stdin(run, given, tmp_path):
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text("steps: [{place: '-'}]")
    given(Path(WIKI).read_bytes())

    assert run("run", str(scenario))[:2] == run("place", WIKI)[:2]


def test_a_policy_comes_in_on_stdin(run, given):
    given(b"[]")

    status, _, errors = run("cordon", "node-1", "--policy", "-")

    assert status == 2
    assert errors.startswith("error: the input: ")


def test_a_cluster_comes_in_on_stdin(run, given):
    given(CLUSTER.read_bytes())

    status, out, _ = run("cordon", "node-1", "-o", "json", files="-")

    assert (status, json.loads(out)["origin"]) == (0, "the input")


def test_more_of_a_cluster_comes_in_on_stdin(run, given):
    given(CLUSTER.read_bytes())

    status, out, errors = run("cordon", "node-1", "--also", "-", "-o", "json")

    assert (status, json.loads(out)["origin"]) == (0, f"{BUNDLE}, the input")
    assert "warning: the input has Node node-1 and " in errors


def test_the_objects_are_named_by_their_place_in_the_input(given):
    given(b"- 1")

    said = r"^the input holds no object .*\(the input\[0\]\[0\] is int"
    with pytest.raises(InputError, match=said):
        load_cluster(INPUT)


def test_a_pod_comes_in_on_stdin(given, capsys):
    given(b"{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c}]}}")

    assert run_command(["filter", "-", "-q", "--cluster-file", str(CLUSTER)]) == 0

    assert "default/a" in capsys.readouterr().out


@pytest.mark.parametrize(
    "text",
    [
        '{"apiVersion":\t"v1", "kind": "Pod", "metadata": {"name": "\\ud83d\\ude00"}}',
        "{apiVersion: v1}",
        "[1, a]",
        "{}\n---\n{}",
        "a: b",
    ],
)
def test_json_and_yaml_are_told_apart_by_what_they_are(given, tmp_path, text):
    try:
        expected = [json.loads(text)]
    except ValueError:
        file = tmp_path / "it.yaml"
        file.write_text(text)
        expected = [document for _, document in load_documents(file)]
    given(text.encode())

    assert [document for _, document in load_documents(INPUT)] == expected


@pytest.mark.parametrize("text", ['{"a": ', "[" * 100_000])
def test_what_is_neither_is_an_error(given, text):
    given(text.encode())

    with pytest.raises(InputError, match=r"^the input "):
        load_documents(INPUT)


def test_it_can_be_given_once(run, given):
    given(Path(WIKI).read_bytes())

    status, out, errors = run("place", "-", files="-")

    error = "error: - is given twice, and stdin can be read once; name a file for the other\n"
    assert (status, out, errors) == (2, "", error)


def test_a_bundle_has_to_be_a_file(run, given):
    given(b"PK\x03\x04")

    assert run("cordon", "node-1", files="-")[2] == "error: the input is a zip; give its file\n"


def test_no_more_than_the_limit_is_read(given):
    given(b"0123456789")

    assert read_input(4) == b"01234"


def test_helm_and_the_like_can_be_piped_into_the_process():
    command = [sys.executable, "-m", "cli", "plan", "place", "-", "--cluster-file", BUNDLE]
    with subprocess.Popen(["/bin/cat", WIKI], stdout=subprocess.PIPE) as cat:
        found = subprocess.run(
            command, stdin=cat.stdout, capture_output=True, text=True, cwd=ROOT, check=False,
        )  # fmt: skip

    assert found.returncode == 0, found.stderr
    assert found.stdout.startswith("all of it works: 3 pods placed\n")
