"""The example of a support bundle is one, and what is in it goes together."""

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.files import load_cluster
from cli.kube.cluster_objects import ClusterObjects
from cli.kube.pods import Pod
from cli.kube.resources import PLANNED
from extender.kubernetes import Claim, PersistentVolume
from longhorn import Node, Replica, Volume
from planner.records import KubernetesNode
from tests.builders import GIB
from tests.unit.examples.test_objects import validator

BUNDLE = Path(__file__).parents[3] / "examples" / "bundle"
LONGHORN = {"Node", "Replica", "Setting", "Volume"}


@cache
def cluster() -> ClusterObjects:
    found, problems = load_cluster(BUNDLE, kinds=PLANNED)
    assert problems == []
    return found


def test_it_has_six_nodes_in_three_zones():
    assert len(cluster().of(KubernetesNode)) == len(cluster().of(Node)) == 6
    assert Counter(node.zone for node in cluster().of(Node).values()) == {
        "eu-1a": 2, "eu-1b": 2, "eu-1c": 2,
    }  # fmt: skip


def test_its_volumes_have_their_replicas_in_three_zones():
    replicas = cluster().of(Replica).values()
    zones = {node.name: node.zone for node in cluster().of(Node).values()}

    for volume in cluster().of(Volume).values():
        own = [each for each in replicas if each.volume == volume.name]
        assert len(own) == volume.wanted_replicas
        assert len({zones[each.node] for each in own if each.node}) == len(own)
        assert {each.size_bytes for each in own} == {volume.size_bytes}
    wanted = Counter(volume.wanted_replicas for volume in cluster().of(Volume).values())
    assert wanted == {3: 8, 1: 1}


def test_its_disks_count_the_replicas_that_are_on_them():
    replicas = cluster().of(Replica)

    for node in cluster().of(Node).values():
        for disk in node.disks:
            assert disk.scheduled_bytes == sum(disk.listed.values())
            for name, size_bytes in disk.listed.items():
                replica = replicas[name]
                assert (replica.node, replica.disk) == (node.name, disk.id)
                assert replica.size_bytes == size_bytes
    listed = [name for n in cluster().of(Node).values() for d in n.disks for name in d.listed]
    assert sorted(listed) == sorted(replicas)


def test_all_claims_but_those_of_a_namespace_that_bundles_leave_out_are_there():
    claims = {claim.persistent_volume for claim in cluster().of(Claim).values()}

    assert len(cluster().of(PersistentVolume)) == len(claims) + 1
    assert claims < {*cluster().of(PersistentVolume)}
    used = {claim for pod in cluster().of(Pod).values() for claim in pod.ref.claims}
    assert used == {*cluster().of(Claim)}


def documents() -> list[tuple[str, dict[str, Any]]]:
    return [
        (path.relative_to(BUNDLE).as_posix(), item)
        for path in sorted(BUNDLE.rglob("*.yaml"))
        for item in yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)["items"]
    ]


def test_it_prints_numbers_and_nothing_as_the_kit_does():
    text = "".join(path.read_text(encoding="utf-8") for path in BUNDLE.rglob("*.yaml"))

    assert "storageMaximum: 2.147483648e+11\n" in text
    assert 'diskDriver: "null"\n' in text
    assert ": ''" not in text


def as_written(value: Any) -> Any:
    """Return what was in the API server before the kit printed it."""
    match value:
        case dict():
            return {key: as_written(each) for key, each in value.items()}
        case list():
            return [as_written(each) for each in value]
        case "null":
            return ""
        case float():
            return int(value)
        case str() if "e+" in value and value.replace("e+", "").isdigit():
            return int(float(value))  # YAML 1.1 reads 5e+09 as a text
    return value


@pytest.mark.parametrize("kind", sorted(LONGHORN))
def test_its_objects_satisfy_the_schema_of_longhorn(kind):
    found = [
        as_written(item)
        for path, item in documents()
        if item["kind"] == kind and "longhorn.io" in item["apiVersion"]
    ]

    problems = [
        f"{item['metadata']['name']}: {error.json_path}: {error.message}"
        for item in found
        for error in validator(kind).iter_errors(item)
    ]
    assert problems == []
    assert len(found) >= 6


def test_its_names_are_unique_and_its_sizes_whole():
    uids = [item["metadata"]["uid"] for _, item in documents()]

    assert len({*uids}) == len(uids)
    assert all(volume.size_bytes % GIB == 0 for volume in cluster().of(Volume).values())
