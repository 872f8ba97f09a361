"""What `survey` finds: a row for each rule, and what it leaves alone."""

import re
from typing import Any

import pytest
from click import unstyle
from msgspec.structs import replace

from app.kube.resource import AnyRecord
from cli.catalogue import Severity
from cli.findings import finding_lines
from cli.kube.pods import Pod
from cli.survey.survey import Survey, survey
from extender import Extender
from extender.kubernetes import PodStatus
from longhorn import Condition, Locality, NodeName, Unreadable, Volume, VolumeName
from planner.records import Wishes
from tests.builders import (
    GENEROUS,
    GIB,
    backing_image,
    bare_class,
    bound,
    claim,
    disk,
    node,
    persistent_volume,
    pod,
    replica,
    setting,
    shard,
    storage_class,
    view_of,
    volume,
)
from tests.unit.cli.plans import ROOT

NODES = [node(f"node-{n}", disk(f"d{n}"), zone=zone) for n, zone in enumerate("aab", start=1)]


DOWN = replace(node("node-4", disk("d4")), ready=Condition("False", "KubernetesNodeNotReady"))


def found(*records: AnyRecord | Unreadable, claims: dict[str, str] | None = None) -> Survey:
    names = {VolumeName(name): claim for name, claim in (claims or {}).items()}
    pods = [each for each in records if isinstance(each, Pod)]
    others = [each for each in records if not isinstance(each, Pod)]
    return survey(view_of(*others), Extender(GENEROUS), names, pods=pods)


def copies(*on: int, **how: Any) -> list[AnyRecord]:
    return [replica(f"vol-r-{n}", on=f"node-{n}", disk=f"d{n}", **how) for n in on]


def erasure_coded() -> Volume:
    of = volume(locality=Locality.DISABLED, disk_type="block", replicas=3, soft=False)
    return replace(of, data_chunks=2, shard_bytes=5 * GIB)


def shards(*on: int) -> list[AnyRecord]:
    return [shard(f"vol-{n}", on=f"node-{n}", disk=f"d{n}") for n in on]


def user(name: str, on: str | None, claim_name: str = "vol", **more: Any) -> Pod:
    node_name = None if on is None else NodeName(on)
    status = PodStatus(node=node_name, ended=more.pop("ended", False))
    return Pod(ref=pod(claim_name, name=name), status=status, wishes=Wishes(**more))


def used(*pods: Pod, instead: AnyRecord | None = None) -> list[Any]:
    """Build a volume with these pods; one of its records may be another one."""
    kept = [each for each in bound(volume()) if type(each) is not type(instead)]
    return [*NODES, *kept, *([instead] if instead else []), *pods]


def of_disk(**fields: Any) -> list[Any]:
    return [node("node-1", disk(**fields))]


def of_class(**parameters: str) -> list[Any]:
    """Build a class for which the only disk, of tag ssd, has no room."""
    full = disk("disk-1", tags=("ssd",), scheduled_bytes=100 * GIB)
    return [node("node-1", full, tags=("storage", "fast")), storage_class(**parameters)]


FULL = "class-without-room local, disk-near-limit node-1/disk-1"
MANY = replace(claim("vol", persistent_volume="pv-vol"), read_write_many=True)
READERS = replace(MANY, read_write_many=False, read_only_many=True)
EBS = persistent_volume("pv-vol", driver="ebs.csi.aws.com")
READ_ONLY = [replace(claim(name), read_only_many=True) for name in ("a", "b")]
GOLDEN = {"backingImage": "golden"}
A, B = user("web-a", "node-1"), user("web-b", "node-2")
ODD = Unreadable(kind="Volume", name="odd", why="size: x")
ROWS: dict[str, tuple[str, list[Any]]] = {
    "volume-well": ("", [*NODES, volume(replicas=2), *copies(1, 3)]),
    "volume-never-written-to": ("", [*NODES, volume(replicas=2)]),
    "volume-faulted": ("volume-faulted vol",
        [*NODES, volume(replicas=2), *copies(1, 3, failed=True)]),
    "volume-lost-with-a-node": ("volume-lost vol", [*NODES, volume(), replica(on="node-9")]),
    "volume-lost-with-a-disk":
        ("volume-lost vol", [*NODES, volume(), replica(on="node-1", disk="another")]),
    "volume-with-one-replica-on-a-node-that-is-gone":
        ("volume-degraded vol (1 of 2), node-has-last-replica vol",
        [*NODES, volume(replicas=2), *copies(1), replica("vol-r-9", on="node-9")]),
    "volume-that-nothing-can-read": ("volume-unreadable vol (before node node-4 is back), "
        "node-has-last-replica vol, node-unusable node-4",
        [*NODES, DOWN, volume(), replica(on="node-4", disk="d4")]),
    "volume-degraded": ("volume-degraded vol (1 of 2), node-has-last-replica vol",
        [*NODES, volume(replicas=2), *copies(1)]),
    "volume-of-one-replica":
        ("single-replica vol, node-has-last-replica vol", [*NODES, volume(), *copies(1)]),
    "volume-in-one-zone": ("one-zone vol", [*NODES, volume(replicas=2), *copies(1, 2)]),
    "volume-being-deleted": ("", [*NODES, volume(replicas=2, deleting=True), *copies(1)]),
    "shard-to-spare": ("", [*NODES, erasure_coded(), *shards(1, 2, 3)]),
    "shard-missing": ("volume-degraded vol (2 of 3), node-has-last-replica vol, "
        "node-has-last-replica vol",
        [*NODES, erasure_coded(), *shards(1, 3)]),
    "claim-on-two-nodes":
        ("claim-shared default/vol (default/web-a on node-1, default/web-b on node-2)", used(A, B)),
    "claim-on-four-nodes": ("claim-shared default/vol (default/web-a on node-1, default/web-b on "
        "node-2, default/web-c on node-3 and 1 more)",
        used(A, B, user("web-c", "node-3"), user("web-d", "node-4"))),
    "claim-of-one-pod": ("", used(A)),
    "claim-on-one-node": ("", used(A, user("web-b", "node-1"))),
    "claim-and-a-pod-without-node": ("", used(A, user("web-b", None))),
    "claim-and-a-pod-that-ended": ("", used(A, user("web-b", "node-2", ended=True))),
    "claim-and-a-pod-that-ends": ("", used(A, user("web-b", "node-2", deleting=True))),
    "claims-of-their-own": ("", used(A, user("web-b", "node-2", "other"))),
    "claim-for-many-writers": ("", used(A, B, instead=MANY)),
    "claim-for-many-readers": ("", used(A, B, instead=READERS)),
    "claim-of-other-storage": ("", used(A, B, instead=EBS)),
    "disk-over-its-limit": ("disk-over-limit node-1/disk-1", of_disk(scheduled_bytes=101 * GIB)),
    "disk-near-its-limit": ("disk-near-limit node-1/disk-1", of_disk(scheduled_bytes=90 * GIB)),
    "disk-below-its-limit": ("", of_disk(scheduled_bytes=89 * GIB)),
    "disk-full": ("disk-full node-1/disk-1", of_disk(available_bytes=20 * GIB)),
    "disk-full-soon": ("disk-full-soon node-1/disk-1", of_disk(available_bytes=30 * GIB)),
    "disk-with-room": ("", of_disk(available_bytes=60 * GIB)),
    "disk-closed": ("disk-unusable node-1/disk-1", of_disk(allow_scheduling=False)),
    "disk-not-ready":
        ("disk-unusable node-1/disk-1", of_disk(ready=False, scheduled_bytes=200 * GIB)),
    # It is told once, and not of its disk, too.
    "node-not-ready":
        ("node-unusable node-1", [node("node-1", disk(allow_scheduling=False), ready=False)]),
    "class": ("", [node(), storage_class()]),
    "class-not-local":
        ("class-never-local local", [node(), storage_class(dataLocality="disabled")]),
    "class-immediate":
        ("class-immediate local", [node(), replace(storage_class(), is_immediate=True)]),
    "class-unusable": ("class-unusable local", [node(), storage_class(numberOfReplicas="x")]),
    "class-unusable-and-its-claim":
        ("class-unusable local", [node(), storage_class(numberOfReplicas="x"), claim("a")]),
    # An image is missing if others are there, and a class is judged whatever size it has.
    "class-with-an-image-where-none-was-read": ("", [node(), storage_class(**GOLDEN)]),
    "class-with-an-image-that-is-missing":
        ("class-unusable local", [node(), storage_class(**GOLDEN), backing_image("other")]),
    "class-with-an-image": ("",
        [node(), storage_class(**GOLDEN), backing_image("golden", virtual_bytes=8 * GIB)]),
    "claims-that-never-get-a-volume": ("claim-unusable default/a, claim-unusable default/b",
        [node(), storage_class(), *READ_ONLY, claim("c", storage_class="nfs"),
         storage_class("nfs", provisioner="nfs")]),
    "class-of-block-disks": ("class-without-room local", [node(), storage_class(dataEngine="v2")]),
    "class-of-other-storage":
        ("", [node(), bare_class(provisioner="ebs.csi.aws.com", parameters={})]),
    "class-without-room": (FULL, of_class()),
    "class-without-room-on-disks-with-a-tag": (FULL, of_class(diskSelector="ssd")),
    "class-without-room-on-nodes-with-tags":
        (FULL, of_class(diskSelector="ssd", nodeSelector="storage,fast")),
    "class-without-room-on-block-disks": (FULL, of_class(dataEngine="v2")),
    "class-without-room-on-disks-without-tags": (FULL,
        [*of_disk(scheduled_bytes=100 * GIB), storage_class(),
         setting("allow-empty-disk-selector-volume", "false")]),
    "setting-volume-and-shards-unknown": ("",
        [*NODES, erasure_coded(), setting("storage-over-provisioning-percentage", "?"), ODD]),
}  # fmt: skip
"""Each rule with what it is about, and the records."""


@pytest.mark.parametrize(("expected", "records"), ROWS.values(), ids=ROWS)
def test_rules_and_what_they_are_about(expected, records):
    told = [f"{each.code} {', '.join(each.objects)}" for each in found(*records).findings]

    assert ", ".join(told) == expected


def test_findings_and_notes_in_full(golden):
    text = list[str]()
    for name, (_, records) in ROWS.items():
        shown = found(*records)
        text += [f"# {name}", *finding_lines(shown.findings, 98, show_all=True)]
        text += [f"note: {note}" for note in shown.notes]

    golden("survey", unstyle("".join(f"{line}\n" for line in text)))


def test_which_nodes_may_be_lost():
    shown = found(*NODES, volume(), *copies(1), volume("b", replicas=2))

    assert shown.nodes_that_may_be_lost == ("node-2", "node-3")


def test_the_worst_comes_first_and_volumes_are_named_by_their_claims():
    records = [
        node("node-1", disk("d1", scheduled_bytes=101 * GIB)),
        volume(),
        *copies(1, size_bytes=GIB),
    ]

    shown = found(*records, claims={"vol": "default/data"}).findings

    assert [each.severity for each in shown] == [Severity.ERROR, *[Severity.WARNING] * 2]
    assert shown[1].objects == ("default/data",)


def test_all_names_every_object(called):
    rich = ("survey", "--cluster-file", str(ROOT / "examples" / "rich"))

    _, some, _ = called(*rich)
    _, every, _ = called(*rich, "--all")

    assert re.search(r"and \d+ more", some)
    assert not re.search(r"and \d+ more", every)
    assert max(map(len, some.splitlines())) <= 98
