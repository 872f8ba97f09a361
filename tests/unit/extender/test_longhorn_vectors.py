"""Our checks of one disk against 1,018 decisions of Longhorn's own replica scheduler.

Taken are the recorded decisions about a volume's first replica. There anti-affinity decides
nothing and all nodes form one group, so Longhorn's candidates are just the disks that pass its
tests of node, tags, type, size and space. We are stricter on purpose in two points: a disk that
is not Ready, and a node whose eviction is requested, take nothing.
"""

import gzip
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cli.kube.view import build_view
from extender import ClusterView
from extender.demand.requests import PodRequest, WantedVolume
from extender.verdicts.node_verdict import judge
from longhorn import Need, NodeName, need_of
from tests.builders import document, objects_of, pod, read, volume
from tests.unit.extender.books import situation_in

VECTORS = Path(__file__).parents[2] / "data" / "longhorn-vectors" / "vectors.jsonl.gz"

Vector = Mapping[str, Any]


@pytest.fixture(scope="module")
def vectors() -> list[Vector]:
    """Read the decisions about a first replica."""
    with gzip.open(VECTORS, "rt", encoding="utf-8") as lines:
        decisions = [json.loads(line) for line in lines]
    return [decision for decision in decisions if not decision["replicas"]]


def test_we_find_longhorns_candidates_where_we_are_not_stricter(vectors, summarise):
    compared = 0

    for vector in vectors:
        relaxed = {**vector, "nodes": [ready_and_staying(node) for node in vector["nodes"]]}
        verdicts = dict(verdicts_on_disks(relaxed))
        compared += len(verdicts)

        found = sorted(uuid for uuid, fits in verdicts.items() if fits)

        assert found == vector["candidates"], f"seed {vector['seed']}"

    assert len(vectors) == 1_018
    assert compared > 10_000
    summarise(f"Longhorn's own decisions: {len(vectors)} lines, {compared} disks agree")


def test_we_only_refuse_more_where_the_disk_is_not_ready_or_the_node_is_evicted(vectors, summarise):
    refused = 0

    for vector in vectors:
        found = sorted(uuid for uuid, fits in verdicts_on_disks(vector) if fits)
        stricter = {uuid for node in vector["nodes"] for uuid in unready_or_leaving(node)}
        expected = [uuid for uuid in vector["candidates"] if uuid not in stricter]
        refused += len(vector["candidates"]) - len(expected)

        assert found == expected, f"seed {vector['seed']}"

    assert refused > 100
    summarise(f"Longhorn's own decisions: {refused} of Longhorn's candidates refused on purpose")


def verdicts_on_disks(vector: Vector) -> Iterator[tuple[str, bool]]:
    """Yield each disk's UUID, and whether the volume would fit on it alone."""
    view, need = records_of(vector)
    asked = WantedVolume(volume=volume(), need=need)
    request = PodRequest(pod=pod(), volumes=(asked,))
    situation = situation_in(view, request, steps=10)
    only_node = vector["scheduling"]["spec"]["hardNodeAffinity"]
    for name, space in view.spaces.items():
        usable = {bin_.id: bin_ for bin_ in space.bins}
        for disk in (each.disk for each in space.disks):
            may_try = disk.name in usable and only_node in ("", name)
            bins = (usable[disk.name],) if may_try else ()
            alone = msgspec.structs.replace(space, bins=bins, roomiest=bins)
            yield str(disk.id), judge(situation, alone, step_limit=10).rejection is None


def records_of(vector: Vector) -> tuple[ClusterView, Need]:
    """Read a vector's objects; its volume and image are no part of the view's accounting."""
    nodes = [read(document("Node") | node) for node in vector["nodes"]]
    settings = [document("Setting", n, value=v) for n, v in vector["settings"].items()]
    view = build_view(objects_of(*nodes, *map(read, settings)))
    assert set(view.spaces) == {NodeName(node["metadata"]["name"]) for node in vector["nodes"]}
    volume = read(document("Volume") | vector["volume"])
    image = (
        read(document("BackingImage") | vector["backingImage"])
        if "backingImage" in vector
        else None
    )
    return view, need_of(volume, image)  # type: ignore[arg-type]  # read by kind, just above


def ready_and_staying(node: Vector) -> Vector:
    """Return the node with every disk Ready and no eviction requested, else as it is."""
    copied: dict[str, Any] = json.loads(json.dumps(node))
    copied["spec"]["evictionRequested"] = False
    for status in copied["status"]["diskStatus"].values():
        for condition in status["conditions"]:
            if condition["type"] == "Ready":
                condition["status"] = "True"
    return copied


def unready_or_leaving(node: Vector) -> Iterator[str]:
    """Yield the UUIDs of disks that we refuse and Longhorn does not."""
    for status in node["status"]["diskStatus"].values():
        ready = {"type": "Ready", "status": "True"} in status["conditions"]
        if node["spec"]["evictionRequested"] or not ready:
            yield status["diskUUID"]
