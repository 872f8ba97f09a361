"""The command `may-drain` on files: what it prints, and with which status it ends.

At the end: odd values anywhere in the objects.
"""

import json
import shutil
from copy import deepcopy
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import yaml
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from tests.effort import examples
from tests.unit.cli.drained import (
    Document,
    attachment,
    budget,
    host,
    node,
    pod,
    replica,
    settings,
    volume,
)
from tests.unit.cli.plans import ROOT, Run, questions, rows_of, write

EXAMPLE = ROOT / "examples" / "may-drain"
HOSTILE = "a\x1b[31m\nb"
AWAY = settings(node_drain_policy="always-allow")
SIXTY = " ".join(f"node-{number}" for number in range(60))


@pytest.fixture
def run(called: Run) -> Run:
    """Ask; return the status, the output and what is on stderr."""

    def ran(*arguments: str, files: str | Path = EXAMPLE) -> tuple[int, str, str]:
        return called("may-drain", *arguments, "--cluster-file", str(files))

    return ran


def many(count: int, *, claims: bool = False) -> list[Document]:
    """Build a node with the only replica of so many volumes."""
    names = {f"vol-{number}": f"data-{number}" * claims for number in range(count)}
    volumes = [[volume(name, claim), replica(volume=name)] for name, claim in names.items()]
    return [*node(), *(each for both in volumes for each in both)]


ROWS = rows_of("draining/command")


def test_the_first_line_is_the_answer_and_the_status_goes_with_it(run, golden):
    told = list[str]()
    for name, (expected, words) in ROWS.items():
        status, out, err = run(*words.split())

        assert (f"{status} {out}".startswith(expected), err) == (True, ""), name
        told.append(f"# {name}: {expected}\n{words}\n{out}")

    golden("draining/command", "\n".join(told))


MANY: dict[str, tuple[str, str, list[Document]]] = {
    "nodes-many": (f"--next {SIXTY}", "node-20 and 39 more",
        [*(each for name in SIXTY.split() for each in node(name)), *settings()]),
    "obstacles-many": ("node-1", "and 2 more: -o json shows them", [*many(12), *settings()]),
    "cautions-many": ("node-1", "vol-4 (default/data-4) and 2 more (-o json shows them)",
        [*many(7, claims=True), *AWAY]),
    # By Kubernetes' rules alone.
    "node-without-longhorn": ("bare", "default/web-1 has no controller", [*node(), host("bare"),
        pod("web-0", "bare"), pod("web-1", "bare", owner=None), *settings()]),
}  # fmt: skip


@pytest.mark.parametrize("name", MANY)
def test_many_alike_are_named_in_part(run, golden, tmp_path, name):
    words, fact, there = MANY[name]

    _, out, _ = run(*words.split(), files=write(tmp_path / "c.json", *there))

    assert fact in " ".join(out.split())
    golden(f"draining/{name}", out)


def test_programs_get_all_that_is_said_of_many(run, tmp_path):
    files = write(tmp_path / "c.json", *many(7), *AWAY)

    [found] = json.loads(run("node-1", "-o", "json", files=files)[1])["nodes"]

    assert len(found["cautions"]) == 7


@pytest.mark.parametrize(("_", "words"), ROWS.values(), ids=ROWS)
@pytest.mark.parametrize("width", [60, 80])
def test_lines_are_as_wide_as_the_output(run, monkeypatch, _, words, width):
    monkeypatch.setattr("cli.draining.command.output_width", lambda: width)

    _, out, _ = run(*words.split())

    assert max(map(len, out.splitlines())) <= width


def test_options_that_cannot_be_used_are_one_line_and_status_2(complaints):
    text = complaints("may-drain", questions("complaints/may-drain"))

    assert "there is no Kubernetes Node node-9; did you mean node-5?" in text


DOCUMENTS: list[Document] = [
    *yaml.load_all((EXAMPLE / "objects.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
]


def without(kind: str, name: str = "") -> list[Document]:
    return [
        each for each in DOCUMENTS if each["kind"] != kind or name not in each["metadata"]["name"]
    ]


LACKING = {
    "nodes": without("Node"),
    "instancemanagers.longhorn.io": without("InstanceManager"),
    "poddisruptionbudgets.policy": without("PodDisruptionBudget"),
    "settings.longhorn.io": without("Setting"),
    "volumes.longhorn.io": without("Volume"),
    "replicas.longhorn.io": without("Replica"),
    "volumeattachments.longhorn.io": without("VolumeAttachment"),
}


@pytest.mark.parametrize(
    ("kind", "there"),
    # Those of workloads alone are not enough.
    [*LACKING.items(),
     ("poddisruptionbudgets.policy", without("PodDisruptionBudget", "instance-manager"))],
)  # fmt: skip
def test_files_without_a_kind_are_refused_with_what_adds_it(run, tmp_path, kind, there):
    status, out, err = run("node-1", files=write(tmp_path / "c.json", *there))

    assert (status, out) == (2, "")
    assert f"no {kind}, without which no node can be judged" in err
    assert f"kubectl get --all-namespaces -o json {kind} > more.json" in err


BROKEN = volume("broken") | {"spec": "no spec"}
SHARDED = volume("ec", dataLayout={"type": "sharded", "dataChunks": 2, "parityChunks": 1})
NO_PODS = "no pods are known, so what kubectl refuses is not"
UNKNOWN: dict[str, tuple[int, str, str, list[Document]]] = {
    "pods": (2, "node-5: not known, ", NO_PODS, without("Pod")),
    "pods-and-an-obstacle": (1, "node-3: not yet, ", NO_PODS, without("Pod")),
    "object-unreadable": (2, "node-5: not known", "not known: Volume broken cannot be read",
        [*DOCUMENTS, BROKEN]),
    "shards": (2, "node-5: not known", "no Shards are known, though Volume ec is erasure-coded",
        [*DOCUMENTS, SHARDED]),
}  # fmt: skip


@pytest.mark.parametrize(("status", "first", "why", "there"), UNKNOWN.values(), ids=UNKNOWN)
def test_what_is_not_known_is_never_a_yes(run, tmp_path, status, first, why, there):
    files = write(tmp_path / "c.json", *there)

    found, out, err = run(first.partition(":")[0], files=files)

    assert (found, out.startswith(first)) == (status, True)
    assert why in " ".join(out.split())
    assert ("warning: " in err) is (BROKEN in there)


@pytest.mark.parametrize(("name", "status"), [("node-5", 2), ("node-3", 1)])
def test_a_support_bundle_is_never_a_yes(run, tmp_path, name, status):
    """It has the pods of some namespaces only."""
    folder = tmp_path / "bundle" / "yamls" / "namespaced"
    for each in DOCUMENTS:
        place = folder / each["metadata"].get("namespace", "none") / f"{each['kind']}s.yaml"
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("a", encoding="utf-8") as file:
            file.write(f"---\n{yaml.safe_dump(each)}")
    packed = shutil.make_archive(str(tmp_path / "packed"), "zip", tmp_path / "bundle")

    for files in (tmp_path / "bundle", packed):
        found, out, _ = run(name, files=files)

        assert found == status
        assert "of some namespaces only, here db, default, longhorn-system" in " ".join(out.split())


def test_with_next_what_is_not_known_is_no_answer(run, tmp_path):
    files = write(tmp_path / "c.json", *without("Pod"))

    assert run("--next", "node-3", "node-5", files=files)[0] == 2
    assert run("--next", "node-3", files=files)[0] == 1


@pytest.mark.parametrize("output", ["table", "json"])
def test_names_in_objects_cannot_change_a_terminal(run, tmp_path, output):
    there = [*node(), pod(HOSTILE, owner=None), volume("vol", HOSTILE), replica(), *settings()]

    status, out, err = run("node-1", "-o", output, files=write(tmp_path / "c.json", *there))

    assert (status, "\x1b" in out + err) == (1, False)


@pytest.mark.parametrize(
    ("words", "may", "following"),
    [
        ("node-1", "yes", None),
        ("node-3 node-4", "not_yet", None),
        ("--next node-2 node-5 node-1", "yes", "node-5"),
    ],
)
def test_programs_get_the_answer_and_the_next_node(run, words, may, following):
    found = json.loads(run(*words.split(), "-o", "json")[1])

    assert (found["may"], (found["next"] or {}).get("node")) == (may, following)


GOOD = [
    *(*node(), *node("node-2"), volume(claim="data"), replica(), replica("node-2")),
    *(pod(claims=["data"]), *settings(), attachment(csi_attacher="node-1")),
    budget("web", "default", labels={"app": "web"}, allowed=1),
]
VALUES = st.one_of(
    *(st.none(), st.booleans(), st.integers(), st.text(max_size=5)),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


def spots(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return where something stands in a document."""
    inner = [*value.items()] if isinstance(value, dict) else []
    inner += [*enumerate(value)] if isinstance(value, list) else []
    found = [path] if path else []
    for key, each in inner:
        found += spots(each, (*path, key))
    return found


@hypothesis.settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    spot=st.sampled_from([spot for spot in spots(GOOD) if len(spot) > 1]),
    value=VALUES,
    output=st.sampled_from(["table", "json"]),
)
def test_odd_values_anywhere_give_an_answer_or_an_error(run, tmp_path, spot, value, output):
    """No traceback; and what cannot be read is said, and is no yes."""
    *path, last = spot
    odd = deepcopy(GOOD)
    target: Any = odd
    for key in path:
        target = target[key]
    target[last] = value

    status, out, err = run("node-1", "-o", output, files=write(tmp_path / "c.json", *odd))

    assert status in (0, 1, 2)
    assert out or err.rpartition("error: ")[2]
    assert not ("cannot be read" in err and status == 0)


def test_the_objects_of_that_test_are_fine(run, tmp_path):
    assert run("node-1", files=write(tmp_path / "c.json", *GOOD))[0] == 0
