"""The command `plan` as a whole: what it prints, and with which status it ends."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders import core_document, node_document, setting_documents
from tests.unit.cli.plans import BUNDLE, EXAMPLES, ROOT, WIKI, Run, write

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
    "scale.yaml": "steps: [{scale: {workload: sts/queue, replicas: 2}}]",
    "both.yaml": "steps: [{place: wiki.yaml}, {scale: {workload: db, replicas: 2}}]",
    "more.yaml": "steps: [{place: {file: wiki.yaml, replicas: 5}}, "
    "{addDisk: {node: node-3, disk: new, size: 1Ti}}]",
}
ALSO = "--also running.yaml"
UNKNOWN = "not known: which pods are on the nodes, as no pod is known\n"
SIZED = "capacity --class longhorn-local --cluster-file goal.yaml --size"

PLANS = {
    "place": (0, "all of it works: 3 pods placed", "place wiki.yaml"),
    "place-none": (0, "all of it works: nothing moves", "place wiki.yaml --replicas 0"),
    "place-too-many": (1, "not all of it works: ", "place wiki.yaml --replicas 7"),
    "place-until-full":
        (0, "4 more pods fit; the next one does not", "place wiki.yaml --until-full"),
    "place-bare-pod": (0, "  placed   default/bare on node-", "place bare.json"),
    "place-in-a-namespace": (0, "1. place StatefulSet shop/wiki", "place wiki.yaml -n shop"),
    # Reasons about claims count no nodes.
    "class-gone": (1, "\n           StorageClass gone is not in the cluster", "place gone.yaml"),
    "capacity": (0, "2 more pods fit; more were not tried (--most)", "capacity wiki.yaml --most 2"),
    "capacity-of-5-runs": (0, "3 more pods fit, 3 to 4 in 5 runs; ", "capacity wiki.yaml --runs 5"),
    "capacity-in-a-namespace": (0, "shop/wiki", "capacity wiki.yaml -n shop"),
    # Ten disks of 100 GiB, on four nodes: two replicas of a volume are on two of them.
    "capacity-of-a-size": (0, "10 more pods fit; the next one does not", f"{SIZED} 100Gi"),
    "capacity-of-two": (0, "5 more pods fit; the next ", f"{SIZED} 100Gi --volume-replicas 2"),
    "capacity-none": (0, "0 more pods fit; the next one does not", f"{SIZED} 1Pi"),
    "drain-refused": (1, "not all of it works: 2 refusals", "drain node-2"),
    "drain": (0, "all of it works: 3 pods moved", "drain node-2 --delete-emptydir-data"),
    "drain-in-part": (1, "not all of it works: 1 refusal; 1 pod moved", "drain node-4"),
    "lose": (1, "not all of it works: 1 volume lost; ", "lose node-4"),
    "remove-disk": (0, "all of it works: 2 replicas rebuilt, ", "remove-disk node-4/ssd"),
    "rebalance": (0, "all of it works: 2 replicas to move", "rebalance --below 75 --moves 5"),
    "rebalance-in-part": (1, "not all of it works: 2 refusals; ", "rebalance --below 60"),
    "add-node": (0, "all of it works: nothing moves", "add-node node-7 --like node-6"),
    "add-disk": (0, "all of it works: nothing moves", "add-disk node-1/ssd 1Ti --tag ssd"),
    "cordon": (0, "all of it works: nothing moves", "cordon node-1"),
    "uncordon": (0, "all of it works: nothing moves", "uncordon node-1"),
    "resize": (0, "all of it works: 1 change made", "resize data-db-0 45Gi"),
    "resize-refused": (1, "not all of it works: 1 refusal", "resize default/data-db-1 80Gi"),
    "resize-unknown": (2, "PersistentVolumeClaim shop/data-db-0", "resize data-db-0 45Gi -n shop"),
    "set": (0, "all of it works: 5 new ", "set storage-over-provisioning-percentage=50"),
    "scale": (0, "1. scale default/db to 4", f"scale db 4 {ALSO}"),
    "scale-by-kind": (0, "scale StatefulSet default/db to 4", f"scale sts/db 4 {ALSO}"),
    "scale-unknown": (2, "StatefulSet or Deployment shop/db", f"scale db 4 -n shop {ALSO}"),
    "scale-unknown-by-kind": (2, "no StatefulSet shop/db", f"scale sts/db 4 -n shop {ALSO}"),
    "scenario-scales": (0, "default/queue-2 is deleted", f"run scale.yaml {ALSO}"),
    # A pod that a later step places is not pending at the end.
    "scenario-adds": (1, "not all of it works: 1 volume degraded; 5 pods placed", "run more.yaml"),
    "scenario-in-a-namespace": (2, "shop/db", f"run both.yaml --namespace shop {ALSO}"),
    "no-pod-known": (0, UNKNOWN, "drain node-1 --cluster-file no-pods.json"),
    "no-pod-on-a-lost-node": (0, UNKNOWN, "lose node-1 --cluster-file no-pods.json"),
    "no-pod-read": (0, "no pods, though every", "cordon node-1 --cluster-file no-pods.json"),
    "no-longhorn-known": (1, "not planned: volumes of Longhorn (none of its Nodes is known",
        "place wiki.yaml --replicas 1 --cluster-file no-longhorn.json"),
    "no-capacity-known": (2, "none of Longhorn's Nodes is known, so it is not known what fits",
        "capacity wiki.yaml --cluster-file no-longhorn.json"),
    "class-of-others": (2, "error: StorageClass fast is of disk.example, and where that has room "
        "is not", "capacity --size 1Gi --class fast --cluster-file others.json"),
}  # fmt: skip


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


@pytest.mark.parametrize("name", PLANS)
def test_plan_is_told(plan, golden, name):
    status, fact, words = PLANS[name]

    found, out, err = plan(words)

    assert found == status
    assert fact in out + err
    golden(f"plans/{name}", out or f"{err.splitlines()[-1]}\n")


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
    ("name", "works"), [("place", True), ("drain-in-part", False), ("place-until-full", None)]
)
def test_programs_and_the_page_get_the_answer_and_the_caveats(plan, name, works):
    _, summary, words = PLANS[name]

    _, out, err = plan(words, "-o", "json", "--html", "plan.html")

    report, page = json.loads(out), Path("plan.html").read_text()
    embedded = json.loads(page.partition('id="report">')[2].partition("</script>")[0])
    assert (report["works"], report["summary"]) == (works, summary)
    assert err == "".join(f"warning: {each}\n" for each in report["notes"])
    assert "namespace" in err
    assert (embedded["works"], embedded["summary"]) == (works, summary)
    assert embedded["notes"] == [*report["unplanned"], *report["notes"]]
    assert embedded["steps"] == report["steps"]
