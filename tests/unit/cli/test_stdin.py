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
from cli.stdin import INPUT, read_input
from tests.unit.cli.plans import BUNDLE, EXAMPLES, ROOT, WIKI

CLUSTER = EXAMPLES / "goal2" / "cluster.yaml"
WORKLOADS = Path(WIKI).read_bytes()
Given = Callable[[bytes], None]


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> Given:
    """Give a text on stdin."""
    return lambda text: monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))


PLANS: dict[str, tuple[str, bytes, str]] = {
    "workloads": ("place -", WORKLOADS, f"place {WIKI}"),
    "workloads-to-count": ("capacity -", WORKLOADS, f"capacity {WIKI}"),
    "scenario-that-names-a-file-of-the-folder":
        ("run -", b"steps: [{place: wiki.yaml}]", f"place {WIKI}"),
    "scenario-of-a-folder-that-names-stdin": ("run scenario.yaml", WORKLOADS, f"place {WIKI}"),
}  # fmt: skip
"""What is asked, what comes in, and what is asked of a file instead."""


@pytest.mark.parametrize(("words", "text", "of_file"), PLANS.values(), ids=PLANS)
def test_a_plan_comes_in_on_stdin(run, given, tmp_path, monkeypatch, words, text, of_file):
    monkeypatch.chdir(tmp_path)
    Path("wiki.yaml").write_bytes(WORKLOADS)
    Path("scenario.yaml").write_text("steps: [{place: '-'}]")
    given(text)

    assert run(*words.split()) == run(*of_file.split())


@pytest.mark.parametrize(
    ("more", "files", "origin"),
    [((), "-", "the input"), (("--also", "-"), BUNDLE, f"{BUNDLE}, the input")],
)
def test_a_cluster_or_more_of_it_comes_in_on_stdin(run, given, more, files, origin):
    given(CLUSTER.read_bytes())

    status, out, errors = run("cordon", "node-1", *more, "-o", "json", files=files)

    assert (status, json.loads(out)["origin"]) == (0, origin)
    assert ("warning: the input has Node node-1 and " in errors) is bool(more)


def test_a_pod_comes_in_on_stdin(called, given):
    given(b"{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c}]}}")

    status, out, _ = called("filter", "-", "-q", "--cluster-file", str(CLUSTER))

    assert (status, "default/a" in out) == (0, True)


REFUSED: dict[str, tuple[str, str, bytes, str]] = {
    "policy-that-is-none": ("cordon node-1 --policy -", BUNDLE, b"[]", "error: the input: "),
    "given-twice": ("place -", "-", WORKLOADS,
        "error: - is given twice, and stdin can be read once; name a file for the other\n"),
    "bundle": ("cordon node-1", "-", b"PK\3\4", "error: the input is a zip; give its file\n"),
}  # fmt: skip


@pytest.mark.parametrize(("words", "files", "text", "said"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_come_in_on_stdin_is_an_error(run, given, words, files, text, said):
    given(text)

    status, out, errors = run(*words.split(), files=files)

    assert (status, out, errors[: len(said)]) == (2, "", said)


def test_the_objects_are_named_by_their_place_in_the_input(given):
    given(b"- 1")

    said = r"^the input holds no object .*\(the input\[0\]\[0\] is int"
    with pytest.raises(InputError, match=said):
        load_cluster(INPUT)


@pytest.mark.parametrize(
    "text",
    [
        '{"apiVersion":\t"v1", "kind": "Pod", "metadata": {"name": "\\ud83d\\ude00"}}',
        *("{apiVersion: v1}", "[1, a]", "{}\n---\n{}", "a: b"),
    ],
)
def test_json_and_yaml_are_told_apart_by_what_they_are(given, write, text):
    try:
        expected = [json.loads(text)]
    except ValueError:
        expected = [document for _, document in load_documents(write(text))]
    given(text.encode())

    assert [document for _, document in load_documents(INPUT)] == expected


@pytest.mark.parametrize("text", ['{"a": ', "[" * 100_000])
def test_what_is_neither_is_an_error(given, text):
    given(text.encode())

    with pytest.raises(InputError, match=r"^the input "):
        load_documents(INPUT)


def test_no_more_than_the_limit_is_read(given):
    given(b"0123456789")

    assert read_input(4) == b"01234"


def test_helm_and_the_like_can_be_piped_into_the_process():
    command = [sys.executable, "-m", "cli", "plan", "place", "-", "--cluster-file", BUNDLE]
    found = subprocess.run(command, input=WORKLOADS, capture_output=True, cwd=ROOT, check=False)

    assert found.returncode == 0, found.stderr
    assert found.stdout.startswith(b"all of it works: 3 pods placed\n")
