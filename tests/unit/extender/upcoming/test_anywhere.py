"""What will be placed anywhere: for held volumes without room, and in place of failed replicas."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from app.kube.resource import AnyRecord
from extender import Extender
from extender.holds import Asked, Ended, Timeouts
from extender.kubernetes import PodStatus
from extender.view import ClusterView
from longhorn import Locality, NodeName, Replica, Unreadable
from tests.builders import (
    GENEROUS,
    GIB,
    bound,
    claim,
    disk,
    hold,
    node,
    pod,
    replica,
    setting,
    storage_class,
    view_of,
    volume,
    wanted,
)
from tests.unit.extender.books import anywhere_in

TIMEOUTS = Timeouts(choosing_seconds=5.0, placing_seconds=5.0)
NODES = [NodeName(f"node-{number}") for number in (1, 2, 3)]
VOLUMES = [volume(name, size_bytes=100 * GIB) for name in "abc"]


def view(*more: object) -> ClusterView:
    """Build three nodes of 100 GiB, and volumes of 100 GiB that pods use."""
    every_byte = setting("storage-minimal-available-percentage", "0")
    return view_of(*map(node, NODES), every_byte, *bound(*VOLUMES), *more)  # type: ignore[arg-type]


def choose(extender: Extender, name: str, on: NodeName, seen: ClusterView) -> None:
    """Ask about a pod, which then gets a node."""
    asked = pod(name, name=name)
    found = extender.filter(asked, NODES, seen)
    assert on in found.accepted
    extender.hold(found, Asked(), timeouts=TIMEOUTS, now=0.0)
    ended: tuple[Ended, ...] = extender.ledger.see_pod(
        asked.uid, PodStatus(version=2, node=on), seen.claims, 0.0
    ).ended
    assert not ended


def test_volume_whose_room_was_taken_counts_elsewhere():
    extender = Extender(GENEROUS)
    choose(extender, "a", NODES[0], view())
    other = replica("other", of="other", on="node-1", size_bytes=100 * GIB)
    elsewhere = replica("a", of="a", on="node-2", size_bytes=100 * GIB)

    before = extender.filter(pod("b", name="b"), NODES, view(other))
    after = extender.filter(pod("b", name="b"), NODES, view(other, elsewhere))

    # It goes to one of the other two nodes, and until then nobody knows to which.
    assert before.forecast == {"sure": 1, "open": 0, "nowhere": 0}
    assert before.accepted == []
    assert after.accepted == [NODES[2]]


def test_hold_whose_nodes_cannot_be_read_is_in_no_pods_way():
    lost = [Unreadable(kind="Node", name=name, why="it is broken", nodes=(name,)) for name in NODES]
    asked = [claim("d", storage_class="local"), storage_class("local", dataLocality="disabled")]
    extender, seen = Extender(GENEROUS), view_of(*lost, *asked, *bound(VOLUMES[0]))
    found = extender.filter(pod("d", name="d"), NODES, seen)
    extender.hold(found, Asked(), timeouts=TIMEOUTS, now=0.0)

    answer = extender.filter(pod("a", name="a"), NODES, seen)

    held = extender.ledger.get(pod("d", name="d").uid)
    assert held is not None
    assert not held.nodes
    assert answer.candidates == NODES


def test_volume_that_has_its_room_does_not_count_elsewhere():
    extender = Extender(GENEROUS)
    choose(extender, "a", NODES[0], view())
    choose(extender, "b", NODES[1], view())

    assert extender.filter(pod("c", name="c"), NODES, view()).accepted == [NODES[2]]


FAILED_AT = datetime(2026, 8, 20, 12, 0, tzinfo=UTC)
WAIT_OVER = FAILED_AT + timedelta(seconds=600)
OUTAGE: dict[str, Any] = {"ready": None, "schedulable": None}
"""What a node is like that does not answer."""


def degraded(**how: Any) -> list[AnyRecord]:
    """Build a volume on node-1 and node-2 whose replica on node-2 failed, used by a pod."""
    of = volume(
        "shop",
        locality=Locality.DISABLED,
        replicas=2,
        node="node-1",
        attached_to="node-1",
        degraded=True,
        **how,
    )
    return [
        *bound(replace(of, degraded_at=FAILED_AT)),
        replica("shop-r-1", of="shop", on="node-1"),
        replica("shop-r-2", of="shop", on="node-2", failed=True),
    ]


def replaced(
    records: Iterable[AnyRecord], at: datetime | None, *, with_hold: bool = False
) -> list[tuple[Replica, ...]]:
    """Return for each replica that comes from which others of its volume it stays away."""
    seen = view_of(*records)
    own = replace(hold(volumes=[]), remote=(wanted(volume("shop")),))
    found = anywhere_in(seen, [own] if with_hold else [], at)
    assert [(each.count, each.is_sure) for each in found] == [(1, True)] * len(found)
    return [(*each.replicas,) for each in found]


@pytest.mark.parametrize("with_hold", [False, True], ids=["shown", "held-too"])
@pytest.mark.parametrize(
    ("after", "expected"),
    [
        pytest.param(timedelta(0), 0, id="at-once"),
        pytest.param(timedelta(seconds=599), 0, id="before"),
        pytest.param(timedelta(seconds=600), 1, id="after"),
    ],
)
def test_failed_replica_is_replaced_after_the_wait(after, expected, with_hold):
    records = [node("node-1"), node("node-2", **OUTAGE), node("node-3"), *degraded()]

    assert len(replaced(records, FAILED_AT + after, with_hold=with_hold)) == expected
    assert len(replaced(records, None, with_hold=with_hold)) == 0


def test_replica_that_replaces_a_failed_one_may_go_to_its_node():
    records = [node("node-1"), node("node-2", **OUTAGE), node("node-3"), *degraded()]

    assert [[each.name for each in there] for there in replaced(records, WAIT_OVER)] == [
        ["shop-r-1"]
    ]


@pytest.mark.parametrize(
    ("broken", "expected"),
    [
        pytest.param(disk(), 0, id="usable"),
        pytest.param(disk(ready=False), 1, id="not-ready"),
        pytest.param(disk(allow_scheduling=False), 1, id="closed"),
    ],
)
def test_failed_replica_is_not_replaced_where_it_can_be_rebuilt(broken, expected):
    records = [node("node-1"), node("node-2", broken), node("node-3"), *degraded()]

    assert len(replaced(records, WAIT_OVER)) == expected


def test_wait_is_a_setting_of_longhorns():
    records = [node("node-1"), node("node-2", **OUTAGE), *degraded()]
    at_once = setting("replica-replenishment-wait-interval", "0")
    endless = setting("replica-replenishment-wait-interval", str(2**62))

    assert len(replaced([*records, at_once], FAILED_AT)) == 1
    assert len(replaced([*records, endless], datetime.max.replace(tzinfo=UTC))) == 0


def test_replica_counts_once_if_a_pods_hold_keeps_its_room():
    """The only replica failed; its pod goes to node-1, where Longhorn makes the next one."""
    of = volume("shop", node="node-2", attached_to="node-2", degraded=True)
    failed = replica("shop-r-1", of="shop", on="node-2", failed=True)
    seen = view_of(
        node("node-1"),
        node("node-2", **OUTAGE),
        node("node-3"),
        *bound(replace(of, degraded_at=FAILED_AT)),
        failed,
    )
    its_own = hold(volumes=["shop"], nodes=["node-1"], replicas=[failed], only_candidate=True)

    found = [anywhere_in(seen, holds, WAIT_OVER) for holds in ((), (its_own,))]

    assert [sum(each.count for each in comings) for comings in found] == [1, 0]


def test_room_of_a_replica_that_is_replaced_is_no_other_pods():
    """30 GiB that are due on the only free node, and a pod that needs 80 of its 100."""
    shop = [
        replace(each, size_bytes=30 * GIB) if isinstance(each, Replica) else each
        for each in degraded(size_bytes=30 * GIB)
    ]
    seen = view_of(
        node("node-1", disk(allow_scheduling=False)),
        node("node-2", **OUTAGE),
        node("node-3"),
        setting("storage-minimal-available-percentage", "0"),
        *shop,
        *bound(volume("big", size_bytes=80 * GIB)),
    )

    before = Extender(GENEROUS).filter(pod("big"), NODES, seen, utc=FAILED_AT)
    after = Extender(GENEROUS).filter(pod("big"), NODES, seen, utc=WAIT_OVER)

    assert before.accepted == [NODES[2]]
    assert after.accepted == []
    assert after.forecast == {"sure": 1, "open": 0, "nowhere": 0}


def test_held_volume_counts_with_the_size_that_it_has_once_it_exists():
    """One that is restored from a backup is as large as that, whatever its claim asks for."""
    asked = wanted(volume("restored", replicas=2))
    restored = volume("restored", size_bytes=60 * GIB, replicas=2)
    seen = view_of(node("node-1"), node("node-2"), restored, *bound(volume(size_bytes=50 * GIB)))
    extender = Extender(GENEROUS)
    extender.ledger.put(
        replace(hold("other", nodes=["node-1"], only_candidate=True), volumes=(asked,))
    )

    found = extender.filter(pod(), NODES[:2], seen)

    assert (found.accepted, found.forecast) == ([], {"sure": 1, "open": 0, "nowhere": 0})
