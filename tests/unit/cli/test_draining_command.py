"""The command `may-drain` on files: what it prints, and with which status it ends."""

import json
import shutil
from pathlib import Path

import pytest
import yaml

from tests.unit.cli import drained
from tests.unit.cli.drained import Document, host, node, pod, replica, volume
from tests.unit.cli.plans import ROOT, Run, write

EXAMPLE = ROOT / "examples" / "may-drain"
HOSTILE = "a\x1b[31m\nb"
ALL_NODES = tuple(f"node-{number}" for number in range(1, 6))


@pytest.fixture
def run(called: Run) -> Run:
    """Ask; return the status, the output and what is on stderr."""

    def ran(*arguments: str, files: str | Path = EXAMPLE) -> tuple[int, str, str]:
        return called("may-drain", *arguments, "--cluster-file", str(files))

    return ran


def file_with(folder: Path, *documents: Document) -> str:
    return write(folder / "cluster.json", *documents, *drained.settings())


def many(count: int, *, claims: bool = False) -> list[Document]:
    """Build a node with the only replica of so many volumes."""
    names = {f"vol-{number}": f"data-{number}" * claims for number in range(count)}
    volumes = [[volume(name, claim), replica(volume=name)] for name, claim in names.items()]
    return [*node(), *(each for both in volumes for each in both)]


EXAMPLE_ROWS: dict[str, tuple[int, str, tuple[str, ...]]] = {
    "node-free": (0, "node-1: yes, it may be drained now", ("node-1",)),
    "node-with-its-kind": (0, "node-1: yes, it may be drained now", ("node/node-1",)),
    "node-with-an-engine": (1, "node-2: not yet, 1 thing is in the way", ("node-2",)),
    "node-with-the-last-replica": (1, "node-3: not yet, 1 thing is in the way", ("node-3",)),
    "node-with-local-data": (1, "node-4: not yet, 2 things are in the way", ("node-4",)),
    "node-and-local-data-given-up":
        (0, "node-4: yes, it may be drained now", ("node-4", "--delete-emptydir-data")),
    "nodes-free": (0, "all of them at once: yes (may be drained: node-1, node-5)",
        ("node-1", "node-5")),
    "nodes-of-which-one-is-free": (1, "all of them at once: not yet (may be drained: node-1; not "
        "yet: ", ("node-1", "node-3")),
    "next-of-none": (1, "none of them may go now", ("--next", "node-2", "node-3")),
    "next-of-three": (0, "node-5 may go next", ("--next", "node-2", "node-5", "node-1")),
    "next-of-all": (0, "node-1 may go next", ("--next", *ALL_NODES)),
    "next-of-all-wide": (0, "node-1 may go next", ("--next", *ALL_NODES, "-o", "wide")),
}  # fmt: skip


@pytest.mark.parametrize("name", EXAMPLE_ROWS)
def test_the_first_line_is_the_answer_and_the_status_goes_with_it(run, golden, name):
    status, first, arguments = EXAMPLE_ROWS[name]

    found, out, err = run(*arguments)

    assert (found, out.splitlines()[0][: len(first)], err) == (status, first, "")
    golden(f"draining/{name}", out)


@pytest.mark.parametrize(
    ("name", "documents", "policy", "arguments", "fact"),
    [
        ("nodes-many", [each for number in range(60) for each in node(f"node-{number}")], None,
            ("--next", *(f"node-{number}" for number in range(60))), "node-20 and 39 more"),
        ("obstacles-many", many(12), None, ("node-1",), "and 2 more: -o json shows them"),
        ("cautions-many", many(7, claims=True), "always-allow", ("node-1",),
            "vol-4 (default/data-4) and 2 more (-o json shows them)"),
        # By Kubernetes' rules alone.
        ("node-without-longhorn", [*node(), host("bare"), pod("web-0", "bare"),
            pod("web-1", "bare", owner=None)], None, ("bare",), "default/web-1 has no controller"),
    ],
)  # fmt: skip
def test_many_alike_are_named_in_part(
    run, golden, tmp_path, name, documents,
    policy, arguments, fact
):  # fmt: skip
    of_policy = drained.settings(**{"node_drain_policy": policy} if policy else {})

    _, out, _ = run(*arguments, files=write(tmp_path / "c.json", *documents, *of_policy))

    assert fact in " ".join(out.split())
    golden(f"draining/{name}", out)


def test_programs_get_all_that_is_said_of_many(run, tmp_path):
    policy = drained.settings(node_drain_policy="always-allow")
    files = write(tmp_path / "cluster.json", *many(7), *policy)

    [found] = json.loads(run("node-1", "-o", "json", files=files)[1])["nodes"]

    assert len(found["cautions"]) == 7


@pytest.mark.parametrize("name", EXAMPLE_ROWS)
@pytest.mark.parametrize("width", [60, 80])
def test_lines_are_as_wide_as_the_output(run, monkeypatch, name, width):
    monkeypatch.setattr("cli.draining.command.output_width", lambda: width)

    _, out, _ = run(*EXAMPLE_ROWS[name][2])

    assert max(map(len, out.splitlines())) <= width


COMPLAINTS = """
node-9
zebra
pod/web
node/
""
node-1 node/node-1
node-1 --interval 5
node-1 --timeout 5
node-1 --watch
node-1 --watch --interval 0
node-1 --watch --interval nan
node-1 --watch --timeout -1
node-1 -o xml
node-1 --kubeconfig config
--next
"""


def test_options_that_cannot_be_used_are_one_line_and_status_2(complaints):
    rows = [f"may-drain {each} --cluster-file may-drain" for each in COMPLAINTS.split("\n")[1:-1]]

    text = complaints("may-drain", rows)

    assert "there is no Kubernetes Node node-9; did you mean node-5?" in text


def documents() -> list[Document]:
    text = (EXAMPLE / "objects.yaml").read_text(encoding="utf-8")
    return [*yaml.load_all(text, yaml.CSafeLoader)]


def without(kind: str, name: str = "") -> list[Document]:
    return [
        each for each in documents() if each["kind"] != kind or name not in each["metadata"]["name"]
    ]


@pytest.mark.parametrize(
    ("kind", "named"),
    [
        ("Node", "nodes"),
        ("InstanceManager", "instancemanagers.longhorn.io"),
        ("PodDisruptionBudget", "poddisruptionbudgets.policy"),
        ("Setting", "settings.longhorn.io"),
        ("Volume", "volumes.longhorn.io"),
        ("Replica", "replicas.longhorn.io"),
        ("VolumeAttachment", "volumeattachments.longhorn.io"),
    ],
)
def test_files_without_a_kind_are_refused_with_what_adds_it(run, tmp_path, kind, named):
    status, out, err = run("node-1", files=write(tmp_path / "c.json", *without(kind)))

    assert (status, out) == (2, "")
    assert f"no {named}, without which no node can be judged" in err
    assert f"kubectl get --all-namespaces -o json {named} > more.json" in err


def test_files_with_budgets_of_workloads_alone_lack_those_of_longhorn(run, tmp_path):
    rest = without("PodDisruptionBudget", "instance-manager")

    status, _, err = run("node-1", files=write(tmp_path / "c.json", *rest))

    assert (status, "no poddisruptionbudgets.policy" in err) == (2, True)


@pytest.mark.parametrize(
    ("name", "status", "answer"), [("node-5", 2, "not known"), ("node-3", 1, "not yet")]
)
def test_without_pods_nothing_is_a_yes(run, tmp_path, name, status, answer):
    found, out, _ = run(name, files=write(tmp_path / "c.json", *without("Pod")))

    assert (found, out.startswith(f"{name}: {answer}, ")) == (status, True)
    assert "no pods are known, so what kubectl refuses is not" in " ".join(out.split())


@pytest.mark.parametrize(("name", "status"), [("node-5", 2), ("node-3", 1)])
def test_a_support_bundle_is_never_a_yes(run, tmp_path, name, status):
    """It has the pods of some namespaces only."""
    folder = tmp_path / "bundle" / "yamls" / "namespaced"
    for each in documents():
        place = folder / each["metadata"].get("namespace", "none") / f"{each['kind']}s.yaml"
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("a", encoding="utf-8") as file:
            file.write(f"---\n{yaml.safe_dump(each)}")
    packed = shutil.make_archive(str(tmp_path / "packed"), "zip", tmp_path / "bundle")

    for files in (tmp_path / "bundle", packed):
        found, out, _ = run(name, files=files)

        assert found == status
        assert "of some namespaces only, here db, default, longhorn-system" in " ".join(out.split())


def test_what_cannot_be_read_is_never_a_yes(run, tmp_path):
    broken = volume("broken")
    broken["spec"] = "no spec"

    status, out, err = run("node-5", files=write(tmp_path / "c.json", *documents(), broken))

    assert status == 2
    assert out.startswith("node-5: not known")
    assert "not known: Volume broken cannot be read" in out
    assert "warning: " in err


def test_shards_that_are_missing_are_said_to_be(run, tmp_path):
    sharded = volume("ec", dataLayout={"type": "sharded", "dataChunks": 2, "parityChunks": 1})

    status, out, _ = run("node-5", files=write(tmp_path / "c.json", *documents(), sharded))

    assert status == 2
    assert "no Shards are known, though Volume ec is erasure-coded" in " ".join(out.split())


def test_with_next_what_is_not_known_is_no_answer(run, tmp_path):
    files = write(tmp_path / "c.json", *without("Pod"))

    assert run("--next", "node-3", "node-5", files=files)[0] == 2
    assert run("--next", "node-3", files=files)[0] == 1


@pytest.mark.parametrize("output", ["table", "json"])
def test_names_in_objects_cannot_change_a_terminal(run, tmp_path, output):
    there = [*node(), pod(HOSTILE, owner=None), volume("vol", HOSTILE), replica()]

    status, out, err = run("node-1", "-o", output, files=file_with(tmp_path, *there))

    assert status == 1
    assert "\x1b" not in out + err


@pytest.mark.parametrize(
    ("arguments", "may", "following"),
    [
        (("node-1",), "yes", None),
        (("node-3", "node-4"), "not_yet", None),
        (("--next", "node-2", "node-5", "node-1"), "yes", "node-5"),
    ],
)
def test_programs_get_the_answer_and_the_next_node(run, arguments, may, following):
    found = json.loads(run(*arguments, "-o", "json")[1])

    assert (found["may"], (found["next"] or {}).get("node")) == (may, following)
