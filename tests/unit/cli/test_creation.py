"""Claims that never get their volumes, and pods that never start: what commands say of them.

The clusters are those of people who asked in public, and of an administrator, made as small as can
be.
"""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from app.config import RESOURCE
from cli.largest import largest
from cli.survey.survey import survey
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
from tests.builders import claim as claim_record
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
    ("tracks", "settings"), [(True, [VERSION]), (True, []), (False, [VERSION])]
)
def test_capacity_is_tracked_before_there_is_a_setting(ask, *, tracks, settings):
    """11b: Longhorn from v1.10.0 to v1.11.1."""
    full = node_document("node-1", disk_status=scheduled(95))
    there = [host("node-1"), full, node_document("node-2"), pod(), claim(), *settings]

    status, shown = ask(*there, csi_driver(tracks=tracks), class_document(dataLocality="disabled"))

    assert status == (1 if tracks else 0)
    assert ("kube-scheduler leaves out node-1" in shown) is tracks
    assert ("Upgrade Longhorn to v1.11.2" in shown) is (tracks and bool(settings))
    assert ("Turn the setting off" in shown) is (tracks and not settings)


def test_a_pod_with_scheduling_gates_is_not_scheduled(ask):
    gated = pod(spec={"schedulingGates": [{"name": "example.com/quota"}]})

    status, shown = ask(host(), node_document(), gated, claim(), class_document())

    assert status == 1
    assert "the pod has schedulingGates; 1 of 1 nodes would fit" in shown
    assert "while it has schedulingGates, and it has example.com/quota" in shown
    assert "-> Nothing: whoever set a gate takes it away." in shown


@pytest.mark.parametrize(
    ("owner", "is_own"),
    [("uid-web", True), ("uid-other", False), (None, False)],
)
def test_the_claim_of_an_ephemeral_volume_must_be_the_pods(ask, owner, *, is_own):
    ephemeral = {"name": "tmp", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}
    asked = claim("web-tmp")
    owners = [{"kind": "Pod", "uid": owner, "controller": True}] if owner else []
    asked["metadata"]["ownerReferences"] = owners
    container = {"name": "main", "resources": {"limits": {RESOURCE: "1"}}}
    uses = pod(spec={"volumes": [ephemeral], "containers": [container]})

    status, shown = ask(host(), node_document(), uses, asked, class_document())

    assert status == (0 if is_own else 1)
    assert ("claim default/web-tmp has the name" in shown) is not is_own
    assert ("PVC was not created for pod" in shown) is not is_own


def test_claims_of_a_class_that_is_told_are_not_told_again():
    class_ = storage_class(numberOfReplicas="x")
    found = survey(view_of(node(), class_, claim_record("a")), Extender(GENEROUS), {})

    assert [each.code for each in found.findings] == ["class-unusable"]


def test_each_claim_of_longhorns_that_never_gets_a_volume_is_told():
    going = [replace(claim_record(name), read_only_many=True) for name in ("a", "b")]
    of_other = claim_record("c", storage_class="nfs")
    view = view_of(
        node(), storage_class(), storage_class("nfs", provisioner="nfs"), *going, of_other
    )

    found = survey(view, Extender(GENEROUS), {})

    assert [(each.code, each.objects) for each in found.findings] == [
        ("claim-unusable", ("default/a",)),
        ("claim-unusable", ("default/b",)),
    ]


@pytest.mark.parametrize(
    ("known", "expected"),
    [([], []), ([backing_image("other")], ["class-unusable"])],
    ids=["no-image-was-read", "others-were"],
)
def test_a_backing_image_is_missing_if_others_are_there(known, expected):
    view = view_of(node(), storage_class(backingImage="golden"), *known)

    assert [each.code for each in survey(view, Extender(GENEROUS), {}).findings] == expected


def test_a_class_is_judged_whatever_size_its_backing_image_has():
    image = backing_image("golden", virtual_bytes=8 * GIB)
    view = view_of(node(), storage_class(backingImage="golden"), image)

    assert survey(view, Extender(GENEROUS), {}).findings == ()


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
