"""Which verdicts follow at a glance; that they are right is a property (test_properties.py)."""

import pytest

from extender import ClusterView
from extender.demand.requests import resolve
from extender.verdicts.node_verdict import Glance, glance
from extender.verdicts.rejections import Rejection
from extender.verdicts.shortages import DiskTags, InsufficientStorage
from longhorn import Node, NodeName, Replica
from packing import Item
from tests.builders import (
    GIB,
    ask,
    bound,
    disk,
    node,
    nodes_of,
    pod,
    replica,
    replicas_of,
    setting,
    view_of,
    volume,
    volumes_of,
)
from tests.unit.extender.books import situation_in

NODE = NodeName("node-1")
ONE, [HALVES] = node(), nodes_of("1:50,50")


def seen(view: ClusterView, *claims: str, held_gib: int) -> Glance:
    """Glance at node-1, for a pod with claims, where so much is held."""
    situation = situation_in(view, resolve(pod(*claims), view))
    held = Item("held", held_gib * GIB, 0, frozenset(view.disk_kinds.values()))
    return glance(situation, [NODE], beside=[held], busy=())


@pytest.mark.parametrize(
    ("at", "volumes", "held_gib", "expected"),
    [
        pytest.param(ONE, "a:60 b:40", 0, None, id="disk-takes-all"),
        pytest.param(ONE, "a:60 b:30", 10, None, id="disk-takes-what-is-held-too"),
        pytest.param(ONE, "a:60 b:30", 11, "packed", id="disk-does-not-take-what-is-held"),
        pytest.param(HALVES, "a:30 b:40", 0, "packed", id="disks-may-take-all-together"),
        pytest.param(
            HALVES,
            "a:10 b:51",
            0,
            InsufficientStorage(size_bytes=51 * GIB),
            id="volume-largest-fits-nowhere",
        ),
        pytest.param(
            node("node-1", disk(tags=["hdd"])), "a:5", 0, DiskTags(selector=()), id="disk-unsuited"
        ),
        pytest.param(node(ready=False), "a:5", 0, "packed", id="node-takes-nothing"),
    ],
)
def test_verdict_without_packing(at, volumes, held_gib, expected):
    own, tagged = volumes_of(volumes), setting("allow-empty-disk-selector-volume", "false")
    found = seen(view_of(at, tagged, *bound(*own)), *(e.name for e in own), held_gib=held_gib)

    assert list(found.accepted) == ([NODE] if expected is None else [])
    assert list(found.rest) == ([NODE] if expected == "packed" else [])
    assert list(found.rejected.values()) == ([expected] if isinstance(expected, Rejection) else [])


def source(number: int) -> Replica:
    return replica(f"source-r-{number}", of="source", disk=f"disk-{number}")


def clone_sharing(with_replica: str | None) -> Replica:
    return replica("clone-r-1", of="clone", on="", healthy_once=False, source=with_replica)


def test_pending_replicas_are_packed_along():
    records = bound(*volumes_of("vol:60")), volumes_of("other"), replicas_of("other>1")
    view = view_of(node(), *(each for some in records for each in some))

    assert list(seen(view, held_gib=0).accepted) == [NODE]
    assert list(seen(view, held_gib=35).rest) == [NODE]


LARGE, SMALL = nodes_of("1:50,100 1:30,100")
CLONES: dict[str, tuple[Node, str, list[Replica], bool]] = {
    "clone-on-the-disk-with-its-source": (LARGE, "", [source(1)], True),
    "clone-beside-another-that-goes-elsewhere": (LARGE, "large:60", [source(1)], True),
    "clone-on-the-disk-that-another-needs": (LARGE, "large:70", [source(2)], False),
    "clone-gets-no-other-disk-of-the-node": (SMALL, "", [source(1)], False),
    "replica-of-a-clone-waits-for-a-settled-disk": (
        SMALL, "", [source(1), source(2), clone_sharing("source-r-1")], False),
    "replica-of-a-clone-goes-to-either-disk": (
        SMALL, "", [source(1), source(2), clone_sharing(None)], True),
}  # fmt: skip


@pytest.mark.parametrize("name", CLONES)
def test_linked_clone_gets_the_disk_with_its_source(name):
    at, others, replicas, is_accepted = CLONES[name]
    volumes = [volume("clone", size_bytes=40 * GIB, linked_to="source"), *volumes_of(others)]

    answer = ask(view_of(at, *replicas, *bound(*volumes)), *(each.name for each in volumes))

    assert list(answer.accepted) == ([NODE] if is_accepted else [])
