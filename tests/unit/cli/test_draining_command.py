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


@pytest.mark.parametrize(
    ("arguments", "status", "first"),
    [
        (("node-1",), 0, "node-1: yes, it may be drained now"),
        (("node/node-1",), 0, "node-1: yes, it may be drained now"),
        (("node-2",), 1, "node-2: not yet, 1 thing is in the way"),
        (("node-3",), 1, "node-3: not yet, 1 thing is in the way"),
        (("node-4",), 1, "node-4: not yet, 2 things are in the way"),
        (("node-4", "--delete-emptydir-data"), 0, "node-4: yes, it may be drained now"),
        (("node-1", "node-5"), 0, "all of them at once: yes (may be drained: node-1, node-5)"),
        (
            ("node-1", "node-3"),
            1,
            "all of them at once: not yet (may be drained: node-1; not yet: ",
        ),
        (("--next", "node-2", "node-3"), 1, "none of them may go now"),
        (("--next", "node-2", "node-5", "node-1"), 0, "node-5 may go next"),
    ],
)
def test_the_first_line_is_the_answer_and_the_status_goes_with_it(
    run: Run, arguments: tuple[str, ...], status: int, first: str
) -> None:
    found, out, err = run(*arguments)

    assert (found, out.splitlines()[0][: len(first)], err) == (status, first, "")


def test_which_node_is_next_comes_with_a_line_for_each_node_and_wide_with_all_of_it(
    run: Run,
) -> None:
    _, short, _ = run("--next", *ALL_NODES)
    _, wide, _ = run("--next", *ALL_NODES, "-o", "wide")
    _, alone, _ = run("node-4")

    assert [line.split()[:4] for line in short.splitlines()[-7:-1]] == [
        ["node", "may", "go", "in"],
        ["node-1", "yes", "0"],
        ["node-2", "not", "yet", "1"],
        ["node-3", "not", "yet", "1"],
        ["node-4", "not", "yet", "2"],
        ["node-5", "yes", "0"],
    ]
    assert alone in wide
    assert "2  Pod default/web-5c-k7 has an emptyDir" in short


def test_of_many_nodes_that_may_go_some_are_named_and_each_has_its_line(
    run: Run, tmp_path: Path
) -> None:
    names = [f"node-{number}" for number in range(60)]
    files = file_with(tmp_path, *(each for name in names for each in node(name)))

    _, out, _ = run("--next", *names, files=files)

    assert "node-19, node-20 and 39 more" in " ".join(out.split())
    assert len(out.splitlines()) < 60 + 12


def test_what_is_in_the_way_has_its_reason_longhorns_words_and_its_remedy(run: Run) -> None:
    _, out, _ = run("node-3")

    flat = " ".join(out.split())
    assert (
        "1. Replica pvc-2c39-r-0 of volume pvc-2c39 (default/build-cache): no healthy replica on "
        "another node is protected (it has no other replica) Longhorn logs: replica pvc-2c39-r-0 "
        "has no pdb on another node -> Have a healthy replica on another node"
    ) in flat


def test_of_many_alike_ten_are_shown(run: Run, tmp_path: Path) -> None:
    many = [each for number in range(12)
            for each in (volume(f"vol-{number}"), replica(volume=f"vol-{number}"))]  # fmt: skip

    _, out, _ = run("node-1", files=file_with(tmp_path, *node(), *many))

    assert out.count("Replica vol-") == 10
    assert "   and 2 more: -o json shows them" in out
    assert out.count("-> ") == 1


def test_what_is_said_of_many_volumes_is_said_once_and_five_are_named(
    run: Run, tmp_path: Path
) -> None:
    many = [each for number in range(7)
            for each in (volume(f"vol-{number}", f"data-{number}"), replica(volume=f"vol-{number}"))
    ]  # fmt: skip
    policy = drained.settings(node_drain_policy="always-allow")
    files = write(tmp_path / "cluster.json", *node(), *many, *policy)

    _, out, _ = run("node-1", files=files)
    _, answer, _ = run("node-1", "-o", "json", files=files)

    cautions = " ".join(out.split()).partition("caution: ")[2]
    named = ", ".join(f"vol-{number} (default/data-{number})" for number in range(5))
    assert cautions.startswith(
        "each of 7 Volumes has no healthy replica elsewhere: it cannot be used while the node is "
        f"away {named} and 2 more (-o json shows them)"
    )
    assert out.count("caution: ") == 1
    assert len(json.loads(answer)["nodes"][0]["cautions"]) == 7


@pytest.mark.parametrize(
    "arguments",
    [
        ("node-4",),
        ("--next", *ALL_NODES),
        ("--next", *ALL_NODES, "-o", "wide"),
        ("node-1", "node-4"),
    ],
)
@pytest.mark.parametrize("width", [60, 80])
def test_lines_are_as_wide_as_the_output(
    run: Run, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], width: int
) -> None:
    monkeypatch.setattr("cli.draining.command.output_width", lambda: width)

    _, out, _ = run(*arguments)

    assert max(map(len, out.splitlines())) <= width


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("node-9",), "there is no Kubernetes Node node-9; did you mean node-5?"),
        (("zebra",), "there is no Kubernetes Node zebra; there are node-1, node-2, node-3"),
        (("pod/web",), "pod/web is a pod; give a node"),
        (("node/",), "a node without a name is given; give NODE"),
        (("",), "a node without a name is given; give NODE"),
        (("node-1", "node/node-1"), "a node is named twice; name it once"),
        (("node-1", "--interval", "5"), "--interval and --timeout mean nothing without --watch"),
        (("node-1", "--timeout", "5"), "--interval and --timeout mean nothing without --watch"),
        (("node-1", "--watch"), "--watch waits for a live cluster to change; files do not"),
        (("node-1", "--watch", "--interval", "0"), "Invalid value for '--interval'"),
        (("node-1", "--watch", "--interval", "nan"), "Invalid value for '--interval'"),
        (("node-1", "--watch", "--timeout", "-1"), "Invalid value for '--timeout'"),
        (("node-1", "-o", "xml"), "Invalid value for '--output'"),
        (("node-1", "--kubeconfig", "config"), "--cluster-file names another cluster than"),
        ((), "Missing argument 'NODE...'"),
    ],
)
def test_what_cannot_be_used_is_one_line_and_status_2(
    run: Run, arguments: tuple[str, ...], text: str
) -> None:
    status, out, err = run(*arguments)

    assert (status, out) == (2, "")
    assert err.startswith("error: ")
    assert text in err
    assert err.count("\n") == 1


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
def test_files_without_a_kind_are_refused_with_what_adds_it(
    run: Run, tmp_path: Path, kind: str, named: str
) -> None:
    status, out, err = run("node-1", files=write(tmp_path / "c.json", *without(kind)))

    assert (status, out) == (2, "")
    assert f"no {named}, without which no node can be judged" in err
    assert f"kubectl get --all-namespaces -o json {named} > more.json" in err


def test_files_with_budgets_of_workloads_alone_lack_those_of_longhorn(
    run: Run, tmp_path: Path
) -> None:
    rest = without("PodDisruptionBudget", "instance-manager")

    status, _, err = run("node-1", files=write(tmp_path / "c.json", *rest))

    assert (status, "no poddisruptionbudgets.policy" in err) == (2, True)


@pytest.mark.parametrize(
    ("name", "status", "answer"), [("node-5", 2, "not known"), ("node-3", 1, "not yet")]
)
def test_without_pods_nothing_is_a_yes(
    run: Run, tmp_path: Path, name: str, status: int, answer: str
) -> None:
    found, out, _ = run(name, files=write(tmp_path / "c.json", *without("Pod")))

    assert (found, out.startswith(f"{name}: {answer}, ")) == (status, True)
    assert "no pods are known, so what kubectl refuses is not" in " ".join(out.split())


@pytest.mark.parametrize(("name", "status"), [("node-5", 2), ("node-3", 1)])
def test_a_support_bundle_is_never_a_yes(run: Run, tmp_path: Path, name: str, status: int) -> None:
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


def test_what_cannot_be_read_is_never_a_yes(run: Run, tmp_path: Path) -> None:
    broken = volume("broken")
    broken["spec"] = "no spec"

    status, out, err = run("node-5", files=write(tmp_path / "c.json", *documents(), broken))

    assert status == 2
    assert out.startswith("node-5: not known")
    assert "not known: Volume broken cannot be read" in out
    assert "warning: " in err


def test_shards_that_are_missing_are_said_to_be(run: Run, tmp_path: Path) -> None:
    sharded = volume("ec", dataLayout={"type": "sharded", "dataChunks": 2, "parityChunks": 1})

    status, out, _ = run("node-5", files=write(tmp_path / "c.json", *documents(), sharded))

    assert status == 2
    assert "no Shards are known, though Volume ec is erasure-coded" in " ".join(out.split())


def test_with_next_what_is_not_known_is_no_answer(run: Run, tmp_path: Path) -> None:
    files = write(tmp_path / "c.json", *without("Pod"))

    assert run("--next", "node-3", "node-5", files=files)[0] == 2
    assert run("--next", "node-3", files=files)[0] == 1


@pytest.mark.parametrize("output", ["table", "json"])
def test_names_in_objects_cannot_change_a_terminal(run: Run, tmp_path: Path, output: str) -> None:
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
def test_programs_get_the_answer_and_the_next_node(
    run: Run, arguments: tuple[str, ...], may: str, following: str | None
) -> None:
    found = json.loads(run(*arguments, "-o", "json")[1])

    assert (found["may"], (found["next"] or {}).get("node")) == (may, following)


def test_a_node_without_longhorn_is_drained_by_kubernetes_rules_alone(
    run: Run, tmp_path: Path
) -> None:
    there = [*node(), host("bare"), pod("web-0", "bare"), pod("web-1", "bare", owner=None)]

    status, out, _ = run("bare", files=file_with(tmp_path, *there))

    assert status == 1
    assert "1. Pod default/web-1 has no controller" in out
