"""Why is my pod Pending? Situations that users report, each asked of the command as a whole.

The output must name the cause, the object and the remedy. The rows stand in
`golden/situations/`: the exit status and a fact, what there is, as `objects_of` reads it,
and the output. Those with a number are from the issues of Longhorn, TopoLVM and OpenEBS; the
comment has what they are about. `waiting.txt` is of all pods that wait for a node, each in a line.
"""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from cli.schema import schema
from tests.builders import GIB, document, node_document
from tests.unit.cli.plans import ROOT, objects_of, rows_of, write
from tests.unit.cli.situations import (
    bound_claim,
    claim,
    csi_driver,
    host,
    labels,
    new,
    node,
    old,
    pod,
    replica,
    schedule,
    scheduled,
    storage_class,
    volume,
)

Document = dict[str, Any]
BOTH = [*node(), *node("node-2")]


def condition(kind: str, reason: str, message: str = "") -> dict[str, str]:
    return {"type": kind, "status": "False", "reason": reason, "message": message}


def changed(built: Document, part: str, **fields: Any) -> Document:
    """Return a document with other fields in one part of it."""
    return {**built, part: {**built[part], **fields}}


def two_disks(gib: int) -> Document:
    """Build a node of two disks, each with so much scheduled."""
    built = node_document(disk_status=scheduled(gib))
    for disks in (built["spec"]["disks"], built["status"]["diskStatus"]):
        disks["disk-2"] = dict(disks["disk-1"])
    built["status"]["diskStatus"]["disk-2"]["diskUUID"] = "uuid-disk-2"
    return built


def only_on(name: str) -> Document:
    """Build a node selector that one node meets, by the label that every kubelet sets."""
    expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": [name]}
    return {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}


CLAIM, PERSISTENT_VOLUME = bound_claim()
REQUIRED = {"requiredDuringSchedulingIgnoredDuringExecution": only_on("node-4")}
IS_DEFAULT = {"storageclass.kubernetes.io/is-default-class": "true"}
WORDS: dict[str, object] = {
    "HAS_50_GIB": {"storageAvailable": 50 * GIB},
    "RESERVES_30_GIB": {"storageReserved": 30 * GIB},
    "PRESSED": {"storageAvailable": 20 * GIB, "conditions": [{"type": "Ready", "status": "True"},
        condition("Schedulable", "DiskPressure", "disk-1 has 20.0 GiB available")]},
    "REPLACED": {"conditions": [
        condition("Ready", "DiskFilesystemChanged", "record diskUUID doesn't match the disk's"),
        condition("Schedulable", "DiskNotReady")]},
    "FULL_OF_IMAGES":
        {"storageScheduled": 95 * GIB, "scheduledBackingImage": {"ubuntu": 95 * GIB}},
    "TAINTS": [{"key": "k3s-controlplane", "value": "true", "effect": "NoExecute"}],
    "ON_NODE_1": {"nodeName": "node-1"},
    "ON_NODE_4": {"affinity": {"nodeAffinity": REQUIRED}},
}  # fmt: skip
BUILDERS: dict[str, Any] = {
    each.__name__: each
    for each in (bound_claim, claim, document, host, new, node, node_document, old, pod, replica,
                 schedule, storage_class, two_disks, volume)
} | {
    "full": node(taken_gib=95),
    "cordoned": [host(unschedulable=True), node_document()],
    "db": bound_claim("db"),
    "tracking": document("Setting", "csi-storage-capacity-tracking", value="true"),
    "replica_never_healthy": changed(replica(), "spec", healthyAt=""),
    "volume_of_8_gib_that_holds_37":
        volume(gib=8) | {"status": {"actualSize": str(376 * GIB // 10)}},
    "claim_limited_to_node_9":
        [CLAIM, changed(PERSISTENT_VOLUME, "spec", nodeAffinity={"required": only_on("node-9")})],
    "claim_without_class": changed(claim(gib=50), "spec", storageClassName=None),
    "claim_of_no_class": changed(claim(), "spec", storageClassName=""),
    "default_class": changed(storage_class(), "metadata", annotations=IS_DEFAULT),
}  # fmt: skip
ASKED = {"asked": ("filter", "pod/web"), "waiting": ("filter",)}
ROWS = {topic: rows_of(f"situations/{topic}") for topic in ASKED}


def there(text: str) -> list[Document]:
    return objects_of(text, BUILDERS, WORDS)


@pytest.mark.parametrize("topic", ROWS)
def test_pod_is_told_why_it_is_pending(called, golden, tmp_path, monkeypatch, topic):
    monkeypatch.chdir(tmp_path)
    told = list[str]()
    for name, (expected, text) in ROWS[topic].items():
        file = write(Path("cluster.json"), *there(text))

        status, out, _ = called(*ASKED[topic], "--cluster-file", file)

        given, fact = expected.split(" ", 1)
        assert (status, fact in " ".join(out.split())) == (int(given), True), name
        told.append(f"# {name}: {expected}\n{text}\n{out}")

    golden(f"situations/{topic}", "\n".join(told))


def test_strict_local_volume_keeps_the_pod_on_its_node(shown):
    documents = [*BOTH, *old(dataLocality="strict-local"), replica()]
    words = ("filter", "pod/web", "--nodes", "node-2")

    status, text = shown("situations/strict-local-elsewhere", documents, *words)

    assert status == 1
    assert "note: web is strict-local, and its replica is on node-1" in text


def test_excluded_node_is_no_rejected_one(ask):
    report = json.loads(
        ask(
            *there(ROWS["asked"]["cordoned-node-with-the-only-replica"][1]), options=("-o", "json")
        )[1]
    )

    assert (report["excluded"].keys(), report["nodes"].keys()) == ({"node-1"}, {"node-2"})


def test_hold_has_its_pod_and_volumes(ask):
    report = json.loads(
        ask(*there(ROWS["asked"]["room-held-for-another-pod"][1]), options=("-o", "json"))[1]
    )

    assert report["nodes"]["node-1"]["holds"] == [
        {"pod": "default/other", "state": "chosen", "volume_bytes": {"vol-other": 80 * GIB}}
    ]


def told(gib: int | None, name: str, **fields: Any) -> dict[str, Any]:
    """Build the CSIStorageCapacity of a node; of all nodes, if there is no name."""
    return {
        **{"apiVersion": "storage.k8s.io/v1", "kind": "CSIStorageCapacity"},
        "metadata": {"name": f"csisc-{name}", "namespace": "longhorn-system"},
        "storageClassName": "fast",
        "maximumVolumeSize": None if gib is None else f"{gib}Gi",
        "nodeTopology": {"matchLabels": labels(name)["labels"]} if name else None,
        **fields,
    }


ROOMY = told(50, "node-1")
CAPACITIES: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "small": ("node-2", [ROOMY, told(5, "node-2")]),
    "both": ("node-1, node-2", [told(5, "node-1"), told(5, "node-2")]),
    "not-told": ("node-2", [ROOMY]),
    "null": ("node-2", [ROOMY, told(None, "node-2")]),
    "another-class": ("node-2", [ROOMY, told(50, "node-2", storageClassName="x")]),
    "capacity-alone": ("", [ROOMY, told(None, "node-2", capacity="50Gi")]),
    "enough": ("", [ROOMY, told(50, "node-2"), told(90, "")]),
    "not-tracked": ("", [told(5, "node-1")]),
    "none-known": ("", []),
}


@pytest.mark.parametrize("name", CAPACITIES)
def test_room_that_kubernetes_is_told_of_leaves_nodes_out(ask, name):
    left_out, capacities = CAPACITIES[name]
    driver = csi_driver(tracks=name != "not-tracked")

    status, text = ask(*BOTH, driver, *capacities, *new())

    is_refused = left_out == "node-1, node-2"
    assert status == (1 if is_refused else 0)
    assert ("kube-scheduler refuses the pod; 2 of 2 nodes would fit" in text) is is_refused
    told_of = f"kube-scheduler leaves out {left_out}: claim default/web is larger than what"
    assert (told_of in text) is bool(left_out)


def test_json_obeys_its_schema_and_says_what_each_pod_alone_would_be_told(called):
    rich = ("--cluster-file", str(ROOT / "examples" / "rich"), "-o", "json")
    found = json.loads(called("filter", *rich)[1])
    alone = json.loads(called("filter", "default/pair", *rich)[1])

    jsonschema.validate(found, schema("filter-pending"))
    [told] = [each for each in found["pods"] if each["pod"] == "default/pair"]
    assert told == {"pod": "default/pair", "fits": True, "answer": alone["answer"], "error": ""}
