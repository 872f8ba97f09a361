"""What `survey` finds: a row for each rule, and what it leaves alone."""

import re
from typing import Any

import pytest
from msgspec.structs import replace

from app.kube.resource import AnyRecord
from cli.catalogue import Severity
from cli.kube.pods import Pod
from cli.survey.survey import Survey, survey
from extender import Extender
from extender.kubernetes import PodStatus
from longhorn import Condition, Locality, NodeName, Unreadable, Volume, VolumeName
from planner.records import Wishes
from tests.builders import (
    GENEROUS,
    GIB,
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
from tests.unit.cli.plans import ROOT, Run

NODES = [node(f"node-{n}", disk(f"d{n}"), zone=zone) for n, zone in enumerate("aab", start=1)]


DOWN = replace(node("node-4", disk("d4")), ready=Condition("False", "KubernetesNodeNotReady"))


def found(*records: AnyRecord | Unreadable, claims: dict[str, str] | None = None) -> Survey:
    names = {VolumeName(name): claim for name, claim in (claims or {}).items()}
    return survey(view_of(*records), Extender(GENEROUS), names)


def rules(*records: AnyRecord | Unreadable) -> dict[str, tuple[str, ...]]:
    return {each.code: tuple(each.objects) for each in found(*records).findings}


def copies(*on: int, **how: Any) -> list[AnyRecord]:
    return [replica(f"vol-r-{n}", on=f"node-{n}", disk=f"d{n}", **how) for n in on]


def erasure_coded() -> Volume:
    of = volume(locality=Locality.DISABLED, disk_type="block", replicas=3, soft=False)
    return replace(of, data_chunks=2, shard_bytes=5 * GIB)


def shards(*on: int) -> list[AnyRecord]:
    return [shard(f"vol-{n}", on=f"node-{n}", disk=f"d{n}") for n in on]


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        pytest.param([volume(replicas=2), *copies(1, 3)], {}, id="all-is-well"),
        pytest.param([volume(replicas=2)], {}, id="never-written-to"),
        pytest.param([volume(replicas=2), *copies(1, 3, failed=True)], {"volume-faulted": ("vol",)},
            id="all-failed"),
        pytest.param([volume(), replica(on="node-9")], {"volume-lost": ("vol",)}, id="lost"),
        pytest.param([volume(), replica(on="node-1", disk="another")], {"volume-lost": ("vol",)},
            id="swapped"),
        pytest.param([volume(replicas=2), *copies(1), replica("vol-r-9", on="node-9")],
            {"volume-degraded": ("vol (1 of 2)",), "node-has-last-replica": ("vol",)},
            id="one-on-a-node-that-is-gone"),
        pytest.param([DOWN, volume(), replica(on="node-4", disk="d4")],
            {"volume-unreadable": ("vol (before node node-4 is back)",),
            "node-has-last-replica": ("vol",), "node-unusable": ("node-4",)},
            id="where-nothing-can-read-it"),
        pytest.param([volume(replicas=2), *copies(1)], {"volume-degraded": ("vol (1 of 2)",),
            "node-has-last-replica": ("vol",)}, id="degraded"),
        pytest.param([volume(), *copies(1)], {"single-replica": ("vol",),
            "node-has-last-replica": ("vol",)}, id="one-replica"),
        pytest.param([volume(replicas=2), *copies(1, 2)], {"one-zone": ("vol",)},
            id="both-in-one-zone"),
        pytest.param([volume(replicas=2, deleting=True), *copies(1)], {}, id="deleting"),
        pytest.param([erasure_coded(), *(shard(f"vol-{n}", on=f"node-{n}", disk=f"d{n}")
            for n in (1, 2, 3))], {}, id="a-shard-may-be-lost"),
        pytest.param([erasure_coded(), *shards(1, 3)], {"volume-degraded": ("vol (2 of 3)",),
            "node-has-last-replica": ("vol",)}, id="no-other-shard-may-be-lost"),
    ],
)  # fmt: skip
def test_volumes_and_the_nodes_that_they_hang_on(
    records: list[AnyRecord], expected: dict[str, tuple[str, ...]]
) -> None:
    assert rules(*NODES, *records) == expected


def test_which_nodes_may_be_lost() -> None:
    shown = found(*NODES, volume(), *copies(1), volume("b", replicas=2))

    assert shown.nodes_that_may_be_lost == ("node-2", "node-3")


def user(name: str, on: str | None, claim_name: str = "vol", **more: Any) -> Pod:
    node_name = None if on is None else NodeName(on)
    status = PodStatus(node=node_name, ended=more.pop("ended", False))
    return Pod(ref=pod(claim_name, name=name), status=status, wishes=Wishes(**more))


MANY = replace(claim("vol", persistent_volume="pv-vol"), read_write_many=True)
READERS = replace(MANY, read_write_many=False, read_only_many=True)
EBS = persistent_volume("pv-vol", driver="ebs.csi.aws.com")
ON_BOTH = [user("web-a", "node-1"), user("web-b", "node-2")]


@pytest.mark.parametrize(
    ("pods", "instead", "expected"),
    [
        pytest.param(ON_BOTH, None, ["default/vol (default/web-a on node-1, "
            "default/web-b on node-2)"], id="on-two-nodes"),
        pytest.param([*ON_BOTH, user("web-c", "node-3"), user("web-d", "node-4")], None,
            ["default/vol (default/web-a on node-1, default/web-b on node-2, default/web-c on "
            "node-3 and 1 more)"], id="on-four-nodes"),
        pytest.param(ON_BOTH[:1], None, [], id="one-pod"),
        pytest.param([ON_BOTH[0], user("web-b", "node-1")], None, [], id="on-one-node"),
        pytest.param([ON_BOTH[0], user("web-b", None)], None, [], id="without-a-node"),
        pytest.param([ON_BOTH[0], user("web-b", "node-2", ended=True)], None, [], id="ended"),
        pytest.param([ON_BOTH[0], user("web-b", "node-2", deleting=True)], None, [], id="ending"),
        pytest.param([ON_BOTH[0], user("web-b", "node-2", "other")], None, [], id="of-its-own"),
        pytest.param(ON_BOTH, MANY, [], id="read-write-many"),
        pytest.param(ON_BOTH, READERS, [], id="read-only-many"),
        pytest.param(ON_BOTH, EBS, [], id="other-storage"),
    ],
)  # fmt: skip
def test_a_claim_for_one_node_with_pods_on_several(
    pods: list[Pod], instead: AnyRecord | None, expected: list[str]
) -> None:
    records = [each for each in bound(volume()) if type(each) is not type(instead)]
    view = view_of(*NODES, *records, *([instead] if instead else []))

    shown = survey(view, Extender(GENEROUS), {}, pods=pods).findings

    assert [each.code for each in shown] == ["claim-shared"] * len(expected)
    assert [about for each in shown for about in each.objects] == expected
    assert all("strategy.type: Recreate" in each.remedies[0] for each in shown)


@pytest.mark.parametrize(
    ("of", "rule"),
    [
        (disk(scheduled_bytes=101 * GIB), "disk-over-limit"),
        (disk(scheduled_bytes=90 * GIB), "disk-near-limit"),
        (disk(scheduled_bytes=89 * GIB), None),
        (disk(available_bytes=20 * GIB), "disk-full"),
        (disk(available_bytes=30 * GIB), "disk-full-soon"),
        (disk(available_bytes=60 * GIB), None),
        (disk(allow_scheduling=False), "disk-unusable"),
        (disk(ready=False, scheduled_bytes=200 * GIB), "disk-unusable"),
    ],
)
def test_disks(of: Any, rule: str | None) -> None:
    assert [*rules(node("node-1", of))] == ([] if rule is None else [rule])


def test_a_node_that_takes_nothing_is_told_once() -> None:
    assert rules(node("node-1", disk(allow_scheduling=False), ready=False)) == {
        "node-unusable": ("node-1",)
    }


@pytest.mark.parametrize(
    ("class_", "expected"),
    [
        (storage_class(), []),
        (storage_class(dataLocality="disabled"), ["class-never-local"]),
        (replace(storage_class(), is_immediate=True), ["class-immediate"]),
        (storage_class(numberOfReplicas="x"), ["class-unusable"]),
        (storage_class(dataEngine="v2"), ["class-without-room"]),
        (bare_class(provisioner="ebs.csi.aws.com", parameters={}), []),
    ],
    ids=["fine", "not-local", "immediate", "unusable", "no-block-disk", "other-storage"],
)
def test_classes(class_: AnyRecord, expected: list[str]) -> None:
    assert [*rules(node("node-1"), class_)] == expected


@pytest.mark.parametrize(
    ("class_", "remedy"),
    [
        ({}, "add a disk, or free one"),
        ({"diskSelector": "ssd"}, "add a disk with the tags ssd, give such tags to another, or"),
        ({"diskSelector": "ssd", "nodeSelector": "storage,fast"}, "add a disk with the tags ssd on "
            "a node with the tags storage,fast, give such tags to another, or free one"),
        ({"dataEngine": "v2"}, "add a block disk, or free one"),
    ],
    ids=["without-tags", "disk-tags", "node-tags", "v2"],
)  # fmt: skip
def test_the_remedy_for_a_class_without_room_names_what_it_asks_for(
    class_: dict[str, str], remedy: str
) -> None:
    full = disk("disk-1", tags=("ssd",), scheduled_bytes=100 * GIB)

    shown = found(node("node-1", full, tags=("storage", "fast")), storage_class(**class_))

    [finding] = [each for each in shown.findings if each.code == "class-without-room"]
    assert finding.remedies[0].startswith(remedy)


def test_where_no_selector_means_no_tags_the_remedy_says_so() -> None:
    full = disk("disk-1", scheduled_bytes=100 * GIB)
    strict = setting("allow-empty-disk-selector-volume", "false")

    shown = found(node("node-1", full), strict, storage_class())

    [finding] = [each for each in shown.findings if each.code == "class-without-room"]
    assert finding.remedies[0].startswith("add a disk without tags, or free one")


def test_what_is_not_known_is_told() -> None:
    broken = Unreadable(kind="Volume", name="odd", why="size: x")

    shown = found(
        *NODES,
        erasure_coded(),
        setting("storage-over-provisioning-percentage", "?"),
        broken,
    )

    assert [note.partition(":")[0] for note in shown.notes] == [
        "Longhorn's setting storage-over-provisioning-percentage cannot be read",
        "Volume odd cannot be read, and is left out",
        "where the shards of volume vol are is not known",
    ]


def test_the_worst_comes_first_and_volumes_are_named_by_their_claims() -> None:
    records = [
        node("node-1", disk("d1", scheduled_bytes=101 * GIB)),
        volume(),
        *copies(1, size_bytes=GIB),
    ]

    shown = found(*records, claims={"vol": "default/data"}).findings

    assert [each.severity for each in shown] == [Severity.ERROR, *[Severity.WARNING] * 2]
    assert shown[1].objects == ("default/data",)


def test_all_names_every_object(called: Run) -> None:
    rich = ("survey", "--cluster-file", str(ROOT / "examples" / "rich"))

    _, some, _ = called(*rich)
    _, every, _ = called(*rich, "--all")

    assert re.search(r"and \d+ more", some)
    assert not re.search(r"and \d+ more", every)
    assert max(map(len, some.splitlines())) <= 98
