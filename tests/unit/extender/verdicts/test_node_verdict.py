"""Which verdicts follow at a glance; that they are right is a property (test_properties.py)."""

import pytest

from extender.demand.requests import resolve
from extender.verdicts.node_verdict import glance
from extender.verdicts.rejections import Rejection
from extender.verdicts.shortages import DiskTags, InsufficientStorage
from longhorn import Node, NodeName, Volume
from packing import Item
from tests.builders import (
    GIB,
    ask,
    bound,
    disk,
    node,
    pending,
    pod,
    replica,
    setting,
    view_of,
    volume,
)
from tests.unit.extender.books import situation_in

NODE = NodeName("node-1")
HALVES = node("node-1", *(disk(name, maximum_bytes=50 * GIB) for name in ("disk-1", "disk-2")))


@pytest.mark.parametrize(
    ("at", "sizes_gib", "beside_gib", "expected"),
    [
        pytest.param(node(), [60, 40], 0, None, id="one-disk-takes-all"),
        pytest.param(node(), [60, 30], 10, None, id="and-what-is-held"),
        pytest.param(node(), [60, 30], 11, "packed", id="but-not-what-is-held"),
        pytest.param(HALVES, [30, 40], 0, "packed", id="two-disks-may-take-all"),
        pytest.param(
            HALVES, [10, 51], 0, InsufficientStorage(size_bytes=51 * GIB), id="largest-fits-nowhere"
        ),
        pytest.param(
            node("node-1", disk(tags=["hdd"])), [5], 0, DiskTags(selector=()), id="no-disk-suits"
        ),
        pytest.param(node(ready=False), [5], 0, "packed", id="node-takes-nothing"),
    ],
)
def test_verdict_without_packing(
    at: Node, sizes_gib: list[int], beside_gib: int, expected: Rejection | str | None
) -> None:
    names = [f"vol-{n}" for n in range(len(sizes_gib))]
    volumes = [volume(n, size_bytes=s * GIB) for n, s in zip(names, sizes_gib, strict=True)]
    tagged = setting("allow-empty-disk-selector-volume", "false")
    view = view_of(at, tagged, *bound(*volumes))
    request = resolve(pod(*names), view)
    situation = situation_in(view, request)
    kinds = frozenset(view.disk_kinds.values())

    seen = glance(situation, [NODE], beside=[Item("held", beside_gib * GIB, 0, kinds)], busy=())

    assert list(seen.accepted) == ([NODE] if expected is None else [])
    assert list(seen.rest) == ([NODE] if expected == "packed" else [])
    assert list(seen.rejected.values()) == ([expected] if isinstance(expected, Rejection) else [])


TWO_DISKS = node("node-1", disk("disk-1", maximum_bytes=50 * GIB), disk("disk-2"))


@pytest.mark.parametrize(
    ("on", "others", "accepted"),
    [
        pytest.param("disk-1", [], True, id="fits-there"),
        pytest.param("disk-1", [volume("large", size_bytes=60 * GIB)], True, id="others-elsewhere"),
        pytest.param("disk-2", [volume("large", size_bytes=70 * GIB)], False, id="disk-is-needed"),
    ],
)
def test_a_linked_clone_gets_the_disk_with_what_it_shares(
    on: str, others: list[Volume], *, accepted: bool
) -> None:
    clone = volume("clone", size_bytes=40 * GIB, linked_to="source")
    shared = replica("source-r-1", of="source", disk=on)
    view = view_of(TWO_DISKS, shared, *bound(clone, *others))

    answer = ask(view, "clone", *(each.name for each in others))

    assert list(answer.accepted) == ([NODE] if accepted else [])


def test_a_linked_clone_does_not_get_another_disk_of_the_node() -> None:
    full = disk("disk-1", maximum_bytes=30 * GIB)
    clone = volume("clone", size_bytes=40 * GIB, linked_to="source")
    shared = replica("source-r-1", of="source", disk="disk-1")
    view = view_of(node("node-1", full, disk("disk-2")), shared, *bound(clone))

    assert not ask(view, "clone").accepted


@pytest.mark.parametrize(("shares_with", "accepted"), [("source-r-1", False), (None, True)])
def test_a_replica_of_a_linked_clone_waits_for_the_disk_that_is_settled(
    shares_with: str | None, *, accepted: bool
) -> None:
    full = disk("disk-1", maximum_bytes=30 * GIB)
    clone = volume("clone", size_bytes=40 * GIB, linked_to="source")
    shared = [replica(f"source-r-{n}", of="source", disk=f"disk-{n}") for n in (1, 2)]
    waits = replica("clone-r-1", of="clone", on="", healthy_once=False, source=shares_with)
    view = view_of(node("node-1", full, disk("disk-2")), *shared, waits, *bound(clone))

    assert bool(ask(view, "clone").accepted) is accepted


def test_pending_replicas_are_packed_along() -> None:
    view = view_of(node(), *bound(volume(size_bytes=60 * GIB)), volume("other"), pending())
    request = resolve(pod(), view)
    situation = situation_in(view, request)

    assert list(glance(situation, [NODE], beside=(), busy=()).accepted) == [NODE]
    held = Item("held", 35 * GIB, 0, frozenset(view.disk_kinds.values()))
    assert list(glance(situation, [NODE], beside=[held], busy=()).rest) == [NODE]
