"""Pods that operators make for databases and virtual machines: injected, read, answered and held.

The pods and claims are those of `tests/data/operators/`, in a cluster of three nodes: node-1 has a
disk of 100 GiB, node-2 two of them, and node-3 one of 50 GiB.
"""

import json
from pathlib import Path

import pytest
import yaml
from msgspec import Struct

from app.serving.admission import decode_review, encode_answer, new_pod, patch_of
from app.serving.names import NodeNames
from app.serving.wire import decode_request
from cli.kube.view import build_view
from extender import Basis, ClusterView, Extender
from extender.demand import judge_claims, judge_pod
from extender.holds import Asked, Timeouts
from longhorn import NodeName
from tests.admission import RESOURCE, Object, admitted, review
from tests.builders import (
    GENEROUS,
    GIB,
    csi_node_document,
    node_document,
    objects_of,
    read,
    setting_documents,
)

FOLDER = Path(__file__).parents[3] / "data" / "operators"
SECOND = "longhorn-scheduler"
DISKS = {"node-1": [100], "node-2": [100, 100], "node-3": [50]}


class Shape(Struct, frozen=True):
    """A pod of an operator, and what the extender says about it."""

    file: str
    pod: str
    claims: str
    """In the order of the pod's volumes."""
    candidates: str
    accepted: str
    basis: Basis
    held: int
    """For how many volumes something is held."""


ALL = "node-1 node-2 node-3"
SHAPES = [
    Shape("kubevirt", "virt-launcher-vm-new-k9dlb", "vm-new-root vm-new-data",
        ALL, "node-2", Basis.PLACEMENT, 2),
    # kube-scheduler leaves out node-1, where the machine runs.
    Shape("kubevirt", "virt-launcher-vm-old-x7c2p", "vm-old-root",
        "node-2 node-3", "node-3", Basis.REPLICAS, 0),
    # A node without its data, where no other one is free.
    Shape("kubevirt", "virt-launcher-vm-old-x7c2p", "vm-old-root",
        "node-2", "node-2", Basis.PLACEMENT, 1),
    # It may go to the node of the machine alone.
    Shape("kubevirt", "hp-volume-7r4tq", "vm-old-extra", "node-1", "node-1", Basis.PLACEMENT, 1),
    Shape("harvester", "virt-launcher-vm-1-9zk4w", "vm-1-disk-0", ALL, ALL, Basis.NOTHING_LOCAL, 0),
    Shape("cloudnative-pg", "db-1-initdb-w2x5c", "db-1 db-1-wal db-1-tbs-archive",
        ALL, "node-1 node-2", Basis.PLACEMENT, 3),
    # The instance needs 10 GiB more than the Job: node-1 does not have them.
    Shape("cloudnative-pg", "db-1", "db-1 db-1-scratch-data db-1-wal db-1-tbs-archive",
        ALL, "node-2", Basis.PLACEMENT, 4),
    Shape("strimzi", "my-cluster-broker-0", "data-0-my-cluster-broker-0 data-1-my-cluster-broker-0",
        ALL, "node-2", Basis.PLACEMENT, 2),
    Shape("eck", "quickstart-es-default-0", "elasticsearch-data-quickstart-es-default-0",
        ALL, "node-1 node-2", Basis.PLACEMENT, 1),
]  # fmt: skip
each_shape = pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.pod)


def documents(file: str) -> list[Object]:
    return list(yaml.safe_load_all((FOLDER / f"{file}.yaml").read_text(encoding="utf-8")))


def found(shape: Shape) -> tuple[Object, ClusterView]:
    """Return the pod of a shape, and the cluster that it comes to."""
    there = documents(shape.file)
    pods = [each for each in there if each["kind"] == "Pod"]
    [pod] = [each for each in pods if each["metadata"]["name"] == shape.pod]
    cluster = [*setting_documents(), *map(longhorn_node, DISKS), *map(csi_node_document, DISKS)]
    objects = [each for each in there if each not in pods]
    return pod, build_view(objects_of(*map(read, [*cluster, *objects])))


def longhorn_node(name: str) -> Object:
    made = node_document(name)
    spec, status = made["spec"].pop("disks")["disk-1"], made["status"].pop("diskStatus")["disk-1"]
    made["spec"]["disks"], made["status"]["diskStatus"] = {}, {}
    for disk, size in zip("ab", DISKS[name], strict=False):
        room = {"storageMaximum": size * GIB, "storageAvailable": size * GIB}
        made["spec"]["disks"][disk] = spec
        made["status"]["diskStatus"][disk] = {**status, **room, "diskUUID": f"uuid-{name}-{disk}"}
    return made


def created(pod: Object, view: ClusterView) -> Object:
    """Return the pod as the webhook has the API server create it."""
    given = decode_review(json.dumps(review(pod)).encode())
    assert given.pod is not None
    new = new_pod(given.pod, given.namespace)
    injection = judge_pod(new, SECOND) or judge_claims(new, SECOND, view)
    return admitted(pod, json.loads(encode_answer(given, patch_of(given.pod, injection))))


@each_shape
def test_pod_gets_the_resource_once_and_the_second_scheduler(shape):
    pod, view = found(shape)
    before = pod["spec"]["containers"][0].get("resources", {})

    once = created(pod, view)

    containers = [*once["spec"].get("initContainers", []), *once["spec"]["containers"]]
    asking = [each["name"] for each in containers if RESOURCE in str(each.get("resources"))]
    assert asking == [pod["spec"]["containers"][0]["name"]]
    after = once["spec"]["containers"][0]["resources"]
    assert after == {
        kind: {**before.get(kind, {}), RESOURCE: "1"} for kind in ("limits", "requests")
    }
    assert once["spec"]["schedulerName"] == SECOND
    assert once["metadata"] == pod["metadata"]
    assert created(once, view) == once


@each_shape
def test_claims_of_a_pod_are_packed_together_and_held(shape):
    pod, view = found(shape)
    body = {"Pod": created(pod, view), "NodeNames": shape.candidates.split()}
    request = decode_request(json.dumps(body).encode(), NodeNames(lambda: [*map(NodeName, DISKS)]))
    extender = Extender(GENEROUS)

    answer = extender.filter(request.pod, request.candidates, view)
    timeouts = Timeouts(choosing_seconds=5.0, placing_seconds=60.0)
    extender.hold(answer, Asked(status=request.status), timeouts=timeouts, now=1.0)

    claims = [key.partition("/")[2] for key in request.pod.claims]
    asked = [*answer.request.volumes, *answer.request.remote]
    assert (" ".join(claims), len(claims)) == (shape.claims, len(asked))
    assert (answer.basis, " ".join(answer.accepted)) == (shape.basis, shape.accepted)
    held = extender.ledger.get(request.pod.uid)
    assert len(held.volumes if held else ()) == shape.held


def test_every_file_is_tried():
    files = [path.stem for path in FOLDER.iterdir()]
    pods = [
        (file, each["metadata"]["name"])
        for file in files
        for each in documents(file)
        if each["kind"] == "Pod"
    ]
    assert {*pods} == {(shape.file, shape.pod) for shape in SHAPES}
    assert {file for file, _ in pods} == {*files}
