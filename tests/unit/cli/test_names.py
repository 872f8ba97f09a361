"""Names as kubectl takes them: with or without the kind before a slash."""

import io
import json
import os
import sys
from pathlib import Path

import pytest

from cli.commands import run_command
from cli.names import Named, WrongKindError, node_name, split_kind, without_kind
from tests.builders import node_document
from tests.unit.cli.plans import Run
from tests.unit.cli.situations import claim, host, pod, storage_class

RICH = str(Path(__file__).parents[3] / "examples" / "rich")


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("EXTENDER_")]:
        monkeypatch.delenv(name)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("web", (None, "web")),
        ("default/web", (None, "default/web")),
        ("po/web", (Named.POD, "web")),
        ("Pods/default/web", (Named.POD, "default/web")),
        ("pvc/default/data", (Named.CLAIM, "default/data")),
        ("pv/it", (Named.PERSISTENT_VOLUME, "it")),
        ("volumes.longhorn.io/it", (Named.VOLUME, "it")),
        ("lhv/it", (Named.VOLUME, "it")),
        ("no/a", (Named.NODE, "a")),
        ("nodes.longhorn.io/a", (Named.NODE, "a")),
        ("node/", (Named.NODE, "")),
        ("node", (None, "node")),
    ],
)
def test_a_kind_stands_before_the_first_slash(
    given: str, expected: tuple[Named | None, str]
) -> None:
    assert split_kind(given) == expected


def test_another_kind_is_an_error_that_names_both() -> None:
    with pytest.raises(WrongKindError, match="pvc/data is a claim; give a node"):
        node_name("pvc/data")
    assert without_kind("no/a", Named.NODE) == "a"


@pytest.mark.parametrize("name", ["pair", "po/pair", "pods/pair", "pod/default/pair"])
def test_filter_takes_a_pod_by_each_of_its_names(
    capsys: pytest.CaptureFixture[str], name: str
) -> None:
    run_command(["filter", name, "--cluster-file", RICH])

    assert capsys.readouterr().out.startswith("pod default/pair: ")


def test_a_namespace_before_the_name_counts_behind_a_kind(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status = run_command(["filter", "pod/elsewhere/pair", "--cluster-file", RICH])

    assert status == 2
    assert "is default/pair meant?" in capsys.readouterr().err


def test_filter_of_a_node_says_what_it_takes(capsys: pytest.CaptureFixture[str]) -> None:
    status = run_command(["filter", "node/node-a1", "--cluster-file", RICH])

    assert status == 2
    assert "error: node/node-a1 is a node; give a pod" in capsys.readouterr().err


@pytest.mark.parametrize("as_yaml", [False, True])
def test_a_pod_may_come_from_the_standard_input(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    as_yaml: object,
) -> None:
    cluster = tmp_path / "cluster.json"
    items = [host(), node_document("node-1"), storage_class()]
    cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    documents = [json.dumps(pod()), json.dumps(claim())]
    text = (
        "\n---\n".join(documents)
        if as_yaml
        else json.dumps({"apiVersion": "v1", "kind": "List", "items": [pod(), claim()]})
    )
    text = f"# yaml\n{text}" if as_yaml else text
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))

    status = run_command(["filter", "-", "--cluster-file", str(cluster)])

    assert status == 0
    assert capsys.readouterr().out.startswith("pod default/web: 1 of 1 nodes fit: node-1")


def test_nothing_on_the_standard_input_is_an_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))

    assert run_command(["filter", "-", "--cluster-file", RICH]) == 2
    assert "the input holds 0 pods; give a file with one" in capsys.readouterr().err


def test_nodes_of_a_plan_may_have_their_kind(run: Run) -> None:
    plain, said = (
        run(*words, "-o", "json", files=RICH)[1]
        for words in (("cordon", "node-a1", "node-a2"), ("cordon", "no/node-a1", "node/node-a2"))
    )

    assert plain == said


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("drain", "pod/web"), "drain: pod/web is a pod; give a node"),
        (("remove-disk", "node/node-a1/nosuch"), "node-a1"),
        (("add-node", "new", "--like", "node/nosuch"), "there is no node nosuch"),
        (("resize", "pvc/default/nosuch", "20Gi"), "default/nosuch"),
        (("resize", "pvc/nosuch", "20Gi"), "default/nosuch"),
    ],
)
def test_what_a_plan_names_is_found_without_its_kind(
    run: Run, words: tuple[str, ...], text: str
) -> None:
    status, _, error = run(*words, files=RICH)

    assert status == 2
    assert text in error
    assert "node/" not in error
    assert "pvc/" not in error
