"""The figures of the worked example are those of its cluster; its output is run with the others."""

from pathlib import Path
from typing import Any

import yaml

from cli.files import load_cluster
from cli.kube.view import build_view
from extender import why_unusable
from longhorn import DiskSpace, NodeName
from tests.docs.pages import DOCS, ROOT, blocks, tables

PAGE = DOCS / "how-it-decides.md"
CLUSTER = ROOT / "examples" / "rich"
GIB = 2**30


def in_gib(*sizes_bytes: int) -> list[str]:
    return [f"{size / GIB:.1f}" for size in sizes_bytes]


def documents(path: Path) -> list[Any]:
    return list(yaml.safe_load_all(path.read_text(encoding="utf-8")))


def row_of(node: str, space: DiskSpace) -> list[str]:
    disk = space.disk
    listed_bytes = disk.scheduled_bytes
    figures = in_gib(
        *(disk.maximum_bytes, disk.reserved_bytes, disk.available_bytes, listed_bytes),
        space.scheduled_bytes - listed_bytes,
        *(space.limit_bytes, space.scheduled_bytes, space.logical_headroom_bytes),
        space.physical_headroom_bytes,
    )
    return [node, disk.name, disk.type, *figures]


def test_the_table_has_all_usable_disks_with_their_figures() -> None:
    [rows] = tables(PAGE, "the-cluster")
    view = build_view(load_cluster(CLUSTER)[0])

    expected = [
        row_of(name, space)
        for name in ("node-a1", "node-b1", "node-c1")
        for space in view.spaces[NodeName(name)].disks
        if why_unusable(space.disk) is None
    ]

    assert sorted(rows) == sorted(expected)


def test_the_settings_are_those_of_the_cluster() -> None:
    settings = {
        each["metadata"]["name"]: each["value"]
        for each in documents(CLUSTER / "cluster.yaml")
        if each["kind"] == "Setting"
    }
    text = " ".join(PAGE.read_text(encoding="utf-8").split())

    for name in ("storage-over-provisioning-percentage", "storage-minimal-available-percentage"):
        assert f"`{name}` {settings[name]}" in text


def test_the_pod_and_its_class_are_those_of_the_cluster() -> None:
    [block] = [each for each in blocks(PAGE) if each.language == "yaml"]
    pod, storage_class = yaml.safe_load_all(block.text)
    everything = [*documents(CLUSTER / "cluster.yaml"), *documents(CLUSTER / "pods.yaml")]
    by_name = {(each["kind"], each["metadata"]["name"]): each for each in everything}

    real = by_name["Pod", pod["metadata"]["name"]]
    assert pod["spec"]["volumes"] == real["spec"]["volumes"]
    real = by_name["StorageClass", storage_class["metadata"]["name"]]
    assert {name: real[name] for name in storage_class if name != "metadata"} == {
        name: value for name, value in storage_class.items() if name != "metadata"
    }
    for volume in pod["spec"]["volumes"]:
        claim = by_name["PersistentVolumeClaim", volume["persistentVolumeClaim"]["claimName"]]
        assert claim["spec"]["resources"]["requests"]["storage"] == "300Gi"
