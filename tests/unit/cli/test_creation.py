"""Claims that never get their volumes, and pods that never start: what commands say of them.

The clusters are those of people who asked in public, and of an administrator, made as small as can
be.
"""

import json
from typing import Any

import pytest

from cli.largest import largest
from extender import Extender
from tests.builders import (
    GENEROUS,
    GIB,
    backing_image,
    core_document,
    disk,
    document,
    node,
    node_document,
    storage_class,
    view_of,
)
from tests.unit.cli.situations import (
    bound_claim,
    claim,
    csi_driver,
    host,
    pod,
    replica,
    scheduled,
    volume,
)
from tests.unit.cli.situations import storage_class as class_document

VERSION = document("Setting", "current-longhorn-version", value="v1.10.2")
GOLDEN = document("BackingImage", "golden", status={"virtualSize": 8 * GIB})
REFUSED: dict[str, tuple[dict[str, str], str, dict[str, Any], str]] = {
    "enc": ({"encrypted": "true"}, "12Mi", {}, "12 MiB, and its volume would be encrypted; ask for "
        "more than 16 MiB"),
    "xfs": ({"fsType": "xfs"}, "200Mi", {}, "200 MiB, and its file system would be XFS; ask for at "
        "least 300 MiB"),
    "img": ({"backingImage": "golden"}, "5Gi", {}, "5 GiB, and backing image golden has 8 GiB; ask "
        "for at least as much"),
    "clone": ({}, "50Gi", {"dataSource": {"kind": "PersistentVolumeClaim", "name": "src"}},
        "50 GiB and a copy of default/src, which has 20 GiB; ask for 20 GiB, and for more "
        "afterwards"),
    "rwx": ({"dataLocality": "strict-local"}, "5Gi", {"accessModes": ["ReadWriteMany"]},
        "ReadWriteMany, and its volume would be strict-local; use ReadWriteOnce, or a class of "
        "another locality"),
}  # fmt: skip
"""Of odd/uncreatable.json: the class, the size and what else a claim asks for, and what is said."""


def refused(name: str) -> list[dict[str, Any]]:
    """Build a pod with a claim that Longhorn refuses, and its class."""
    parameters, storage, spec, _ = REFUSED[name]
    resources = {"requests": {"storage": storage}}
    asked = {"storageClassName": name, "resources": resources, **spec}
    class_ = class_document(**parameters)
    return [
        core_document("PersistentVolumeClaim", name, metadata={"uid": f"uid-{name}"}, spec=asked),
        {**class_, "metadata": {"name": name}},
        pod(name),
    ]


def uncreatable() -> list[dict[str, Any]]:
    return [
        *(host(), node_document(), GOLDEN, volume("src", 20), replica("src", gib=20)),
        *bound_claim("src"),
        *(each for name in REFUSED for each in refused(name)),
    ]


BY_NODE_NAME = pod(spec={"nodeName": "node-1"})
CHOSEN = {"annotations": {"volume.kubernetes.io/selected-node": "node-1"}}
NODE_NAME = "the pod has its node by spec.nodeName, and not by kube-scheduler"
BY_SELECTOR = "-> Create the pod again without `nodeName`: with `nodeSelector` or node affinity."
TEXTS = [f"PersistentVolumeClaim default/{name} asks for {REFUSED[name][3]}" for name in REFUSED]


def grown(storage: str) -> list[dict[str, Any]]:
    """Build a pod with a volume of 2 GiB, of which its claim asks for more."""
    asked = bound_claim(resources={"requests": {"storage": storage}})
    return [host(), node_document(), volume("web", 2), replica("web", gib=2), pod(), *asked]


def chosen_for(binding: str, **metadata: Any) -> list[dict[str, Any]]:
    """Build a pod with a node by its spec, and its claim with or without a chosen node."""
    asked = claim()
    asked["metadata"] |= metadata
    return [host(), node_document(), BY_NODE_NAME, asked, class_document(binding)]


def tracking(*settings: dict[str, Any], tracks: bool = True) -> list[dict[str, Any]]:
    """Build a full node and an empty one, whose capacity kube-scheduler tracks or not."""
    full = node_document("node-1", disk_status=scheduled(95))
    there = [host("node-1"), full, node_document("node-2"), pod(), claim(), *settings]
    return [*there, csi_driver(tracks=tracks), class_document(dataLocality="disabled")]


def ephemeral(*owners: str) -> list[dict[str, Any]]:
    """Build a pod with an ephemeral volume, whose claim has these owners."""
    volume_ = {"name": "tmp", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}
    asked = claim("web-tmp")
    asked["metadata"]["ownerReferences"] = [
        {"kind": "Pod", "uid": owner, "controller": True} for owner in owners
    ]
    uses = pod()
    uses["spec"]["volumes"] = [volume_]
    return [host(), node_document(), uses, asked, class_document()]


LEFT_OUT, UPGRADE = "kube-scheduler leaves out node-1", "Upgrade Longhorn to v1.11.2"
NOT_THE_PODS = ["claim default/web-tmp has the name", "PVC was not created for pod"]
GATED = pod(spec={"schedulingGates": [{"name": "example.com/quota"}]})
ROWS: dict[str, tuple[int, list[str], list[dict[str, Any]], str]] = {
    "refused-claims-and-pods": (3, ["5 pods wait for a node; 0 of them can get one", *TEXTS],
        uncreatable(), "filter"),
    "refused-claims-surveyed": (1, ["5 errors", *TEXTS], uncreatable(), "survey"),
    **{f"refused-claim-{name}": (1, [text], uncreatable(), f"filter pvc/{name}")
        for name, text in zip(REFUSED, TEXTS, strict=True)},
    # 17: a claim that was enlarged by mistake.
    "enlarged-claim-and-pod": (0, ["1 of 1 nodes fit: node-1"], grown("10000Gi"), "filter web"),
    "enlarged-claim": (0, ["-> Lower the request of the claim", "it has 2.0 GiB and asks for "
        "10000.0 GiB, which has no room on node-1/disk-1"], grown("10000Gi"), "filter pvc/web"),
    "growing-claim": (0, ["!asks for"], grown("20Gi"), "filter pvc/web"),
    # 44: kube-scheduler never sees the pod, so nobody chooses a node for its claim.
    "node-name-and-pod": (1, [f"{NODE_NAME}: claim default/web gets no volume", BY_SELECTOR],
        chosen_for("WaitForFirstConsumer"), "filter web"),
    "node-name-and-claim": (1, [f"not created yet: {NODE_NAME}, so it never will be", BY_SELECTOR],
        chosen_for("WaitForFirstConsumer"), "filter pvc/web"),
    "node-name-and-claim-with-a-node": (1, [f"!{NODE_NAME}"],
        chosen_for("WaitForFirstConsumer", **CHOSEN), "filter pvc/web"),
    "node-name-and-claim-at-once":
        (1, [f"!{NODE_NAME}"], chosen_for("Immediate"), "filter pvc/web"),
    "node-name-and-claim-at-once-with-a-node":
        (1, [f"!{NODE_NAME}"], chosen_for("Immediate", **CHOSEN), "filter pvc/web"),
    # 11b: Longhorn from v1.10.0 to v1.11.1 tracks capacity before there is a setting.
    "capacity-tracked-without-a-setting":
        (1, [LEFT_OUT, UPGRADE, "!Turn the setting off"], tracking(VERSION), "filter web"),
    "capacity-tracked":
        (1, [LEFT_OUT, f"!{UPGRADE}", "Turn the setting off"], tracking(), "filter web"),
    "capacity-not-tracked": (0, [f"!{LEFT_OUT}", f"!{UPGRADE}", "!Turn the setting off"],
        tracking(VERSION, tracks=False), "filter web"),
    "scheduling-gates": (1, ["the pod has schedulingGates; 1 of 1 nodes would fit",
        "while it has schedulingGates, and it has example.com/quota",
        "-> Nothing: whoever set a gate takes it away."],
        [host(), node_document(), GATED, claim(), class_document()], "filter web"),
    "ephemeral-claim":
        (0, [f"!{each}" for each in NOT_THE_PODS], ephemeral("uid-web"), "filter web"),
    "ephemeral-claim-of-another-pod": (1, NOT_THE_PODS, ephemeral("uid-other"), "filter web"),
    "ephemeral-claim-of-no-pod": (1, NOT_THE_PODS, ephemeral(), "filter web"),
}  # fmt: skip
"""The exit status, what is said or is not (`!`), the cluster, and the question."""


@pytest.mark.parametrize("name", ROWS)
def test_a_claim_is_told_what_keeps_it_from_its_volume(shown, name):
    status, facts, documents, question = ROWS[name]

    found, text = shown(f"creation/{name}", documents, *question.split())

    assert found == status
    for fact in facts:
        assert (fact.removeprefix("!") in text) is not fact.startswith("!"), fact


def test_a_plan_does_not_place_what_longhorn_refuses(shown, tmp_path):
    (tmp_path / "pod.json").write_text(json.dumps(refused("enc")[2]))
    cluster = [host(), node_document(), *refused("enc")[:2]]

    status, text = shown("creation/plan", cluster, "plan", "place", "pod.json")

    assert status == 1
    assert "asks for 12 MiB, and its volume would be encrypted" in text


@pytest.mark.parametrize(
    ("room_gib", "largest_gib", "problem"),
    [(50, 50, ""), (5, 0, "and backing image golden has 8 GiB"), (8, 8, "")],
)
def test_the_largest_volume_is_no_smaller_than_its_image(room_gib, largest_gib, problem):
    image = backing_image("golden", virtual_bytes=8 * GIB)
    class_ = storage_class(backingImage="golden")
    full = disk(maximum_bytes=100 * GIB, scheduled_bytes=(100 - room_gib) * GIB)

    found = largest(class_, view_of(node("node-1", full), class_, image), Extender(GENEROUS))

    assert found.largest_bytes == largest_gib * GIB
    assert problem in found.problem
