"""The picture of a live service: its nodes, holds and waiting pods; it gives way to others."""

import asyncio
import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from app.instance.debug import RoleState
from app.instance.live_settings import NOBODY_LEADS
from app.instance.picture import Sources, draw, of_instance
from app.kube.resource import AnyRecord
from extender import Hold, Ledger
from extender.verdicts.rejections import NodeNotReady
from extender.waiting import WaitingPods
from longhorn import NodeName
from planner.picture import (
    DiskReport,
    Event,
    Kind,
    NodeReport,
    Picture,
    PlannedVolume,
    Reason,
    ReplicaReport,
)
from tests.builders import (
    GIB,
    bound,
    disk,
    hold,
    node,
    nodes_of,
    pod,
    replica,
    view_of,
    volume,
    waiting_pod,
    wants,
)

LEADER = RoleState(role="leader", unavailable="", unready="", identity="extender-0_1", holder="")
STANDBY = RoleState(
    role="standby",
    unavailable="this instance of the extender is not the leader",
    unready="",
    identity="extender-1_1",
    holder="extender-0_1",
)
UTC_NOW = datetime(2026, 1, 1, 12, 30, tzinfo=UTC)
NAME = "vol-r-1"


def sources(
    *records: AnyRecord, holds: Iterable[Hold] = (), waiting: Iterable[str] = ()
) -> Sources:
    """Build what is known: pods wait since second 0 for node-1, which is not ready."""
    view, ledger, pods = view_of(*records), Ledger(), WaitingPods()
    why, one = NodeNotReady(), NodeName("node-1")
    nodes = pods.nodes.of([one], [one])
    for each in holds:
        ledger.put(each)
    for name in waiting:
        pods.add(waiting_pod(pod(name=name), wants(), nodes, 0.0, why))
    return Sources(current_view=lambda: view, ledger=ledger, waiting=pods)


async def text_of(known: Sources, role: RoleState = LEADER) -> str:
    """Draw a picture at second 12."""
    pieces = draw(known, of_instance(role, UTC_NOW), now=12.0)
    return "".join([piece async for piece in pieces])


async def report_of(known: Sources, role: RoleState = LEADER) -> Picture:
    """Read from a picture what it is drawn from, with the nodes that came in pieces."""
    blocks = re.findall(
        r'<script type="application/json"[^>]*>(.*?)</script>', await text_of(known, role), re.S
    )
    first, *others = (json.loads(each) for each in blocks)
    nodes: list[Any] = [each for block in others for each in block]
    [now] = first["steps"]
    now["nodes"] = nodes
    return msgspec.convert(first, Picture)


async def shown_nodes(known: Sources) -> tuple[NodeReport, ...]:
    return (await report_of(known)).steps[0].nodes


async def test_nodes_and_disks_are_shown_with_what_is_on_them():
    sizes: dict[str, Any] = {
        "maximum_bytes": 100 * GIB,
        "reserved_bytes": 10 * GIB,
        "available_bytes": 70 * GIB,
    }
    counted = disk(listed={NAME: 20 * GIB}, **sizes)
    records = [*bound(volume("vol", size_bytes=20 * GIB)), replica(NAME, size_bytes=20 * GIB)]

    [shown] = await shown_nodes(sources(*records, node("node-1", counted, zone="east")))

    disk_ = DiskReport(
        name="disk-1",
        limit_bytes=90 * GIB,
        scheduled_bytes=20 * GIB,
        replicas=(ReplicaReport(volume="default/vol", size_bytes=20 * GIB),),
        **sizes,
    )
    assert shown == NodeReport(name="node-1", zone="east", disks=(disk_,))


async def test_replica_that_its_disk_does_not_count_yet_is_shown():
    [shown] = await shown_nodes(sources(replica(NAME, failed=True), node("node-1")))

    failed = ReplicaReport(volume="vol", size_bytes=10 * GIB, is_failed=True)
    assert shown.disks[0].replicas == (failed,)
    assert shown.disks[0].scheduled_bytes == 10 * GIB


async def test_reasons_why_nodes_and_disks_take_nothing_are_shown():
    closed = node("node-1", disk(allow_scheduling=False), allow_scheduling=False)

    [shown] = await shown_nodes(sources(closed))

    assert shown.problem == "scheduling is disabled on the Longhorn node"
    assert shown.disks[0].problem == "scheduling is disabled"


async def test_held_room_is_shown_on_the_disk_if_there_is_only_one_to_choose():
    shut = node("node-1", disk("disk-1"), disk("disk-2", allow_scheduling=False))

    one, two = await shown_nodes(sources(shut, *nodes_of("2:100,100"), holds=[hold()]))

    assert (one.held_bytes, [each.held_bytes for each in one.disks]) == (0, [10 * GIB, 0])
    assert (two.held_bytes, [each.held_bytes for each in two.disks]) == (10 * GIB, [0, 0])


async def test_holds_are_told():
    holds = [hold("open"), hold("chosen", nodes=("node-1",), only_candidate=True)]

    report = await report_of(sources(*bound(volume("vol")), holds=holds))

    held = PlannedVolume(name="default/vol", size_bytes=10 * GIB, locality="best-effort")
    told = [
        ("default/open", None, "it may go to any of 2 nodes"),
        ("default/chosen", "node-1", "its node is chosen"),
    ]
    assert report.steps[0].events == tuple(
        Event(kind=Kind.HELD, object=pod, node=node, text=text, volumes=(held,))
        for pod, node, text in told
    )
    assert report.origin == "instance extender-0_1, leader; 2 holds, 0 pods wait"
    assert report.steps[0].title == "now, 2026-01-01 12:30:00 UTC"


async def test_pods_that_wait_are_told_with_their_reasons():
    report = await report_of(sources(waiting=["db-0"]))

    why = Reason(code="node_not_ready", text=str(NodeNotReady()), nodes=("node-1",))
    assert report.steps[0].events == (
        Event(kind=Kind.PENDING, object="default/db-0", text="waits for 12 s", reasons=(why,)),
    )


async def test_events_that_are_left_out_are_told():
    holds = [hold(f"pod-{number}") for number in range(60)]

    report = await report_of(sources(holds=holds, waiting=[f"pod-{n}" for n in range(51)]))

    assert len(report.steps[0].events) == 100
    text = "are listed, those of the longest time first; /debug/state has all"
    assert [(each.code, each.text) for each in report.steps[0].warnings] == [
        ("held_left_out", f"only 50 of 60 {text}"),
        ("waiting_left_out", f"only 50 of 51 {text}"),
    ]


BEGINS = "this instance of the extender has just begun to lead; ask again"
IDLE = replace(STANDBY, holder="", unavailable="", idle=NOBODY_LEADS)
UNREADY = replace(LEADER, unavailable=BEGINS, unready="nodes.longhorn.io: not listed yet")
ROLES: dict[str, tuple[RoleState, list[str]]] = {
    "leader": (LEADER, []),
    "standby": (STANDBY, [
        "this instance is a standby, and knows neither holds nor waiting pods; "
        "the instance that does is extender-0_1"]),
    "standby-where-a-setting-says-that-none-leads": (IDLE, [NOBODY_LEADS]),
    "leader-that-does-not-answer": (UNREADY, [BEGINS, "nodes.longhorn.io: not listed yet"]),
}  # fmt: skip


@pytest.mark.parametrize(("role", "texts"), ROLES.values(), ids=ROLES)
async def test_instance_says_why_it_does_not_answer(role, texts):
    report = await report_of(sources(), role)

    warnings = report.steps[0].warnings
    assert [each.text for each in warnings] == texts
    if role is STANDBY:
        assert [(each.code, each.object) for each in warnings] == [("standby", "extender-1_1")]


async def test_others_get_a_turn_between_any_two_nodes():
    drawing = asyncio.create_task(text_of(sources(*nodes_of(" ".join(map(str, range(30)))))))
    taken = 0

    while not drawing.done():
        taken += 1
        await asyncio.sleep(0)

    assert taken >= 30


async def test_node_that_goes_meanwhile_is_left_out():
    before, after = view_of(*nodes_of("1 2")), view_of(*nodes_of("1"))
    views = iter([before, before])

    known = replace(sources(), current_view=lambda: next(views, after))

    assert [each.name for each in await shown_nodes(known)] == ["node-1"]
