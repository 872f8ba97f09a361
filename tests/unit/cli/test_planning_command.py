"""The command `plan` as a whole: what it prints, and with which status it ends.

At the end: each step is a command with options of its own.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.builders import core_document, node_document, setting_documents
from tests.unit.cli.plans import BUNDLE, EXAMPLES, ROOT, WIKI, Run, rows_of, write

HOSTILE = "a\x1b[31m\nb"
STORAGE = {"apiVersion": "storage.k8s.io/v1"}
LOCAL = core_document("StorageClass", "longhorn-local", provisioner="driver.longhorn.io") | STORAGE
OTHERS = core_document("StorageClass", "fast", provisioner="disk.example") | STORAGE
NODES = [node_document("node-1"), core_document("Node", "node-1"), *setting_documents()]
DOCUMENTS: dict[str, list[dict[str, Any]]] = {
    "bare.json": [core_document("Pod", "bare", spec={"containers": [{"name": "a"}]})],
    "no-pods.json": NODES,
    "no-longhorn.json": [core_document("Node", "node-1"), LOCAL],
    "others.json": [*NODES, OTHERS],
    "hostile.json": [*(node_document("node-1", status={"zone": HOSTILE}), *NODES[1:]),
        core_document("Pod", HOSTILE, spec={"nodeName": "node-1", "containers": []})],
}  # fmt: skip
FILES = {
    "wiki.yaml": Path(WIKI).read_text(),
    "gone.yaml": Path(WIKI).read_text().replace("longhorn-local", "gone"),
    "running.yaml": (EXAMPLES / "plans" / "running.yaml").read_text(),
    "goal.yaml": (ROOT / "examples" / "goal2" / "cluster.yaml").read_text(),
    "fill.yaml": "steps: [{fill: wiki.yaml}]",
    "scale.yaml": "steps: [{scale: {workload: sts/queue, replicas: 2}}]",
    "both.yaml": "steps: [{place: wiki.yaml}, {scale: {workload: db, replicas: 2}}]",
    "more.yaml": "steps: [{place: {file: wiki.yaml, replicas: 5}}, "
    "{addDisk: {node: node-3, disk: new, size: 1Ti}}]",
}
ALSO = "--also running.yaml"
TOPICS = ("place", "capacity", "drain", "change", "scale", "scenario")
PLANS = {topic: rows_of(f"plans/{topic}") for topic in TOPICS}


@pytest.fixture
def plan(called: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Plan in a folder that has the files."""
    for file, documents in DOCUMENTS.items():
        write(tmp_path / file, *documents)
    for file, text in FILES.items():
        (tmp_path / file).write_text(text)
    monkeypatch.chdir(tmp_path)

    def ran(words: str, *more: str) -> tuple[int, str, str]:
        cluster = () if "--cluster-file" in words else ("--cluster-file", BUNDLE)
        return called("plan", *words.split(), *cluster, *more)

    return ran


@pytest.mark.parametrize("topic", TOPICS)
def test_plan_is_told(plan, golden, topic):
    """Rows are the exit status and a fact, the words of the command, and its output."""
    told = list[str]()
    for name, (expected, words) in PLANS[topic].items():
        found, out, err = plan(words.partition("  # ")[0])

        status, fact = expected.split(" ", 1)
        assert (found, fact in " ".join((out + err).split())) == (int(status), True), name
        text = out or f"{err.splitlines()[-1]}\n"
        told.append(f"# {name}: {expected}\n{words}\n{text}")

    golden(f"plans/{topic}", "\n".join(told))


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("default/db", "default/db"),
        ("StatefulSets/default/db", "StatefulSet default/db"),
        ("default/statefulset/db", "StatefulSet default/db"),
    ],
)
@pytest.mark.parametrize("namespace", ["default", "shop"])
def test_workload_is_named_as_for_kubectl(plan, name, title, namespace):
    status, out, _ = plan(f"scale {name} 4 -n {namespace} {ALSO}")

    assert (status, out.splitlines()[0]) == (0, "all of it works: 1 pod placed")
    assert f"1. scale {title} to 4" in out


@pytest.mark.parametrize("output", ["table", "json"])
def test_names_in_objects_cannot_change_a_terminal(plan, output):
    _, out, err = plan(f"drain node-1 --output {output} --cluster-file hostile.json")

    assert not [c for c in out + err if not c.isprintable() and c != "\n"]


@pytest.mark.parametrize(
    ("topic", "name", "works"),
    [
        ("place", "place", True),
        ("drain", "drain-in-part", False),
        ("place", "place-until-full", None),
    ],
)
def test_programs_and_the_page_get_the_answer_and_the_caveats(plan, topic, name, works):
    expected, words = PLANS[topic][name]
    summary = expected.split(" ", 1)[1]

    _, out, err = plan(words, "-o", "json", "--html", "plan.html")

    report, page = json.loads(out), Path("plan.html").read_text()
    embedded = json.loads(page.partition('id="report">')[2].partition("</script>")[0])
    assert (report["works"], report["summary"]) == (works, summary)
    assert err == "".join(f"warning: {each}\n" for each in report["notes"])
    assert "namespace" in err
    assert (embedded["works"], embedded["summary"]) == (works, summary)
    assert embedded["notes"] == [*report["unplanned"], *report["notes"]]
    assert embedded["steps"] == report["steps"]


COMMON = {
    "--cluster-file", "--also", "--kubeconfig", "--context", "--policy", "--seed", "--runs",
    "--namespace", "--ignore-waiting", "--in-flight", "--output", "--all", "--html", "--quiet",
    "--help",
}  # fmt: skip
OWN: dict[str, set[str]] = {
    "place": {"--replicas", "--until-full", "--most"},
    "capacity": {"--size", "--class", "--volume-replicas", "--most"},
    "drain": {"--force", "--delete-emptydir-data"},
    "lose": set(),
    "cordon": set(),
    "uncordon": set(),
    "add-node": {"--like"},
    "add-disk": {"--reserved", "--tag"},
    "remove-disk": set(),
    "rebalance": {"--below", "--moves"},
    "resize": set(),
    "scale": set(),
    "set": set(),
    "run": set(),
}


def test_the_help_names_each_step(called):
    listed = called("plan", "--help")[1].partition("Commands:\n")[2]

    assert [line.split()[0] for line in listed.splitlines()] == [*OWN]


@pytest.mark.parametrize("name", OWN)
def test_the_help_of_a_step_has_its_options_and_no_others(called, name):
    status, text, _ = called("plan", name, "--help")

    assert status == 0

    listed = re.findall(r"^  (?:-\w, )?(--[\w-]+)", text, flags=re.MULTILINE)
    assert {*listed} == COMMON | OWN[name]
    assert "Exit status: 0 " in text


ORDERS = {
    "--delete-emptydir-data drain node-2": "drain node-2 --delete-emptydir-data",
    "--replicas 1 place wiki.yaml": "place wiki.yaml --replicas 1",
    "--runs=2 place --replicas=1 wiki.yaml": "place wiki.yaml --replicas=1 --runs=2",
    "-qo json -- cordon node-1": "cordon node-1 -q -o json",
    "--tag a add-disk node-1/x --tag b 1Ti": "add-disk node-1/x 1Ti --tag a --tag b",
}


@pytest.mark.parametrize(("front", "behind"), ORDERS.items())
def test_options_may_stand_before_the_step(called, plan, front, behind):
    """Calls of before go on working."""
    expected = plan(behind)

    assert expected[0] == 0
    assert called("plan", "--cluster-file", BUNDLE, *front.split()) == expected
