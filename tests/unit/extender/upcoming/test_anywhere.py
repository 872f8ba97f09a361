"""What will be placed anywhere: for held volumes without room, and in place of failed replicas."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from app.kube.resource import AnyRecord
from extender import Answer, Extender
from extender.holds import Asked, Timeouts
from extender.kubernetes import PodStatus
from extender.view import ClusterView
from longhorn import Node, NodeName, Unreadable
from tests.builders import (
    GENEROUS,
    bound,
    claim,
    disk,
    hold,
    node,
    nodes_of,
    pod,
    replicas_of,
    setting,
    storage_class,
    view_of,
    volume,
    volumes_of,
    wanted,
)
from tests.unit.extender.books import anywhere_in

TIMEOUTS = Timeouts(choosing_seconds=5.0, placing_seconds=5.0)
NODES = [NodeName(f"node-{number}") for number in (1, 2, 3)]
EVERY_BYTE = setting("storage-minimal-available-percentage", "0")


def view(replicas: str = "") -> ClusterView:
    """Build three nodes of 100 GiB, and volumes of 100 GiB that pods use."""
    volumes = bound(*volumes_of("a:100 b:100 c:100"))
    return view_of(*nodes_of("1 2 3"), EVERY_BYTE, *volumes, *replicas_of(replicas))


def ask(extender: Extender, name: str, seen: ClusterView) -> Answer:
    return extender.filter(pod(name, name=name), NODES, seen)


def choose(extender: Extender, name: str, on: NodeName) -> None:
    """Ask about a pod, which then gets a node."""
    found = ask(extender, name, view())
    assert on in found.accepted
    extender.hold(found, Asked(), timeouts=TIMEOUTS, now=0.0)
    status = PodStatus(version=2, node=on)
    assert not extender.ledger.see_pod(f"uid-{name}", status, view().claims, 0.0).ended


def test_volume_whose_room_was_taken_counts_elsewhere():
    extender = Extender(GENEROUS)
    choose(extender, "a", NODES[0])

    before = ask(extender, "b", view("other:100@1"))
    after = ask(extender, "b", view("other:100@1 a:100@2"))

    # It goes to one of the other two nodes, and until then nobody knows to which.
    assert before.forecast == {"sure": 1, "open": 0, "nowhere": 0}
    assert before.accepted == []
    assert after.accepted == [NODES[2]]


def test_volume_that_has_its_room_does_not_count_elsewhere():
    extender = Extender(GENEROUS)
    choose(extender, "a", NODES[0])
    choose(extender, "b", NODES[1])

    assert ask(extender, "c", view()).accepted == [NODES[2]]


def test_hold_whose_nodes_cannot_be_read_is_in_no_pods_way():
    lost = [Unreadable(kind="Node", name=name, why="it is broken", nodes=(name,)) for name in NODES]
    asked = [claim("d", storage_class="local"), storage_class("local", dataLocality="disabled")]
    extender, seen = Extender(GENEROUS), view_of(*lost, *asked, *bound(*volumes_of("a:100")))
    extender.hold(ask(extender, "d", seen), Asked(), timeouts=TIMEOUTS, now=0.0)

    answer = ask(extender, "a", seen)

    held = extender.ledger.get("uid-d")
    assert held is not None
    assert not held.nodes
    assert answer.candidates == NODES


FAILED_AT = datetime(2026, 8, 20, 12, 0, tzinfo=UTC)
WAIT_OVER = FAILED_AT + timedelta(seconds=600)
NOT_YET = WAIT_OVER - timedelta(seconds=1)
AT_LAST = datetime.max.replace(tzinfo=UTC)


def degraded(volume: str = "shop*2~", at: str = "node-1") -> list[AnyRecord]:
    """Build a volume of which a replica failed, used by a pod."""
    [of] = volumes_of(volume, node=at, attached_to=at, degraded=True)
    return bound(replace(of, degraded_at=FAILED_AT))


def hosts(second: Node) -> list[Node]:
    """Build three nodes, the second of which is given."""
    return [node("node-1"), second, node("node-3")]


def waiting(seconds: int) -> AnyRecord:
    return setting("replica-replenishment-wait-interval", str(seconds))


DOWN = hosts(node("node-2", ready=None, schedulable=None))
"""The second does not answer."""
REPLACED = {
    # What there is besides a volume with a failed replica on node-2, the time, and whether it is
    # replaced.
    "wait-begins": (DOWN, FAILED_AT, False),
    "wait-not-over": (DOWN, NOT_YET, False),
    "wait-over": (DOWN, WAIT_OVER, True),
    "wait-unknown-without-a-clock": (DOWN, None, False),
    "setting-none": ([*DOWN, waiting(0)], FAILED_AT, True),
    "setting-endless": ([*DOWN, waiting(2**62)], AT_LAST, False),
    "disk-where-it-can-be-rebuilt": (hosts(node("node-2")), WAIT_OVER, False),
    "disk-not-ready": (hosts(node("node-2", disk(ready=False))), WAIT_OVER, True),
    "disk-closed": (hosts(node("node-2", disk(allow_scheduling=False))), WAIT_OVER, True),
}


@pytest.mark.parametrize("with_hold", [False, True], ids=["shown", "held-too"])
@pytest.mark.parametrize(("records", "at", "is_replaced"), REPLACED.values(), ids=REPLACED)
def test_failed_replica_is_replaced_after_the_wait(records, at, is_replaced, with_hold):
    """The new one stays away from the healthy one alone: it may go to the failed one's node."""
    seen = view_of(*records, *degraded(), *replicas_of("shop@1 shop@2/failed"))
    own = replace(hold(volumes=[]), remote=(wanted(volume("shop")),))

    found = anywhere_in(seen, [own] if with_hold else [], at)

    away_from = [(each.count, each.is_sure, [r.name for r in each.replicas]) for each in found]
    assert away_from == ([(1, True, ["shop-r-1"])] if is_replaced else [])


def test_replica_counts_once_if_a_pods_hold_keeps_its_room():
    """The only replica failed; its pod goes to node-1, where Longhorn makes the next one."""
    failed = replicas_of("shop@2/failed")
    seen = view_of(*DOWN, *degraded("shop", at="node-2"), *failed)
    its_own = hold(volumes=["shop"], nodes=["node-1"], replicas=failed, only_candidate=True)

    found = [anywhere_in(seen, holds, WAIT_OVER) for holds in ((), (its_own,))]

    assert [sum(each.count for each in comings) for comings in found] == [1, 0]


def test_room_of_a_replica_that_is_replaced_is_no_other_pods():
    """30 GiB that are due on the only free node, and a pod that needs 80 of its 100."""
    closed = node("node-1", disk(allow_scheduling=False))
    shop = [*degraded("shop:30*2~"), *replicas_of("shop:30@1 shop:30@2/failed")]
    seen = view_of(closed, *DOWN[1:], EVERY_BYTE, *shop, *bound(*volumes_of("big:80")))

    before, after = (
        Extender(GENEROUS).filter(pod("big"), NODES, seen, utc=at) for at in (FAILED_AT, WAIT_OVER)
    )

    assert (before.accepted, after.accepted) == ([NODES[2]], [])
    assert after.forecast == {"sure": 1, "open": 0, "nowhere": 0}


def test_held_volume_counts_with_the_size_that_it_has_once_it_exists():
    """One that is restored from a backup is as large as that, whatever its claim asks for."""
    seen = view_of(*nodes_of("1 2"), *volumes_of("restored:60*2"), *bound(*volumes_of("vol:50")))
    asked = volumes_of("restored*2")
    held = hold("other", volumes=[], nodes=["node-1"], only_candidate=True)
    extender = Extender(GENEROUS)
    extender.ledger.put(replace(held, volumes=tuple(map(wanted, asked))))

    found = extender.filter(pod(), NODES[:2], seen)

    assert (found.accepted, found.forecast) == ([], {"sure": 1, "open": 0, "nowhere": 0})
