"""The figures for days to come are worked out by the leader, in pieces, and shown as they are."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest
from prometheus_client import CollectorRegistry

from app.instance.ahead import (
    MOST_CLASSES,
    MOST_STORAGE_CLASSES,
    PERIOD_SECONDS,
    LookingAhead,
    bounded,
)
from app.instance.figures import show_ahead
from app.kube.resource import AnyRecord
from extender import ClusterView, Extender, Mode
from extender.ahead.room import Left, NodeClass
from tests.builders import GENEROUS, GIB, disk, hold, node, setting, storage_class, view_of

pytestmark = pytest.mark.looptime

PREFIX = "longhorn_scheduler_extender_"
PHYSICAL = setting("storage-minimal-available-percentage", "0")
UTC_NOW = datetime(2026, 1, 1, tzinfo=UTC)
CLUSTER: list[AnyRecord] = [
    PHYSICAL,
    storage_class(),
    storage_class("other", provisioner="example.org/other"),
    storage_class("tagged", diskSelector="nvme"),
    node("node-1", zone="a"),
    node("node-2", disk(maximum_bytes=50 * GIB), zone="b"),
]


class Bench:
    """A cluster whose figures are worked out."""

    def __init__(self, records: Iterable[AnyRecord], mode: Mode) -> None:
        self.view: ClusterView = view_of(*records)
        self.extender = Extender(GENEROUS, mode)
        self.leads = True
        self.looks = LookingAhead(
            self.extender,
            lambda: self.view,
            is_leading=lambda: self.leads,
            clock=asyncio.get_running_loop().time,
            wall_clock=lambda: UTC_NOW,
        )
        self._registry = CollectorRegistry()
        show_ahead(self._registry, lambda: self.looks.figures)

    def shown(self, name: str) -> dict[tuple[str, ...], float]:
        """Return the series of a metric by their labels."""
        return {
            tuple(sample.labels.values()): sample.value
            for family in self._registry.collect()
            for sample in family.samples
            if sample.name == PREFIX + name
        }


@asynccontextmanager
async def looking(
    records: Iterable[AnyRecord] = CLUSTER, mode: Mode = Mode.CAPACITY
) -> AsyncIterator[Bench]:
    bench = Bench(records, mode)
    task = asyncio.create_task(bench.looks.run())
    try:
        yield bench
    finally:
        task.cancel()


async def test_nothing_is_shown_before_anything_is_worked_out() -> None:
    async with looking() as bench:
        assert bench.shown("nodes_may_be_lost") == {}


async def test_what_is_worked_out_is_shown() -> None:
    async with looking() as bench:
        await asyncio.sleep(PERIOD_SECONDS + 5)

        assert bench.shown("largest_volume_bytes") == {("local",): 100 * GIB, ("tagged",): 0}
        assert bench.shown("class_headroom_bytes") == {
            ("a", "", "filesystem", ""): 100 * GIB,
            ("b", "", "filesystem", ""): 50 * GIB,
        }
        assert bench.shown("class_limit_bytes") == bench.shown("class_headroom_bytes")
        assert bench.shown("class_physical_headroom_bytes")["b", "", "filesystem", ""] < 50 * GIB
        assert bench.shown("nodes_may_be_lost") == {("data",): 2, ("room",): 2}


async def test_a_new_leader_does_not_wait_for_the_next_round() -> None:
    async with looking() as bench:
        bench.looks.begin()
        await asyncio.sleep(PERIOD_SECONDS / 2)

        assert bench.shown("largest_volume_bytes")


async def test_a_standby_shows_nothing() -> None:
    async with looking() as bench:
        bench.leads = False
        await asyncio.sleep(2 * PERIOD_SECONDS)
        assert bench.shown("largest_volume_bytes") == {}

        bench.leads = True
        await asyncio.sleep(2 * PERIOD_SECONDS)
        assert bench.shown("largest_volume_bytes")

        bench.looks.forget()
        assert bench.shown("largest_volume_bytes") == {}


async def test_the_figures_follow_the_cluster_and_the_holds() -> None:
    async with looking() as bench:
        await asyncio.sleep(PERIOD_SECONDS + 5)
        bench.extender.ledger.put(hold("pod", volumes=["vol"], nodes=["node-1"]))
        await asyncio.sleep(PERIOD_SECONDS + 5)
        assert bench.shown("largest_volume_bytes")["local",] == 90 * GIB

        bench.view = view_of(*CLUSTER[:-2])
        await asyncio.sleep(PERIOD_SECONDS + 5)
        assert bench.shown("largest_volume_bytes")["local",] == 0
        assert bench.shown("nodes_may_be_lost") == {}


async def test_in_mode_node_a_pod_on_its_way_does_not_make_classes_full() -> None:
    async with looking(mode=Mode.NODE) as bench:
        await asyncio.sleep(PERIOD_SECONDS + 5)
        bench.extender.ledger.put(hold("pod", volumes=["vol"]))
        await asyncio.sleep(PERIOD_SECONDS + 5)

        assert bench.shown("largest_volume_bytes")["local",] == 100 * GIB


async def test_there_are_so_many_storage_classes_at_most() -> None:
    many = [storage_class(f"class-{n:02}") for n in range(MOST_STORAGE_CLASSES + 5)]
    async with looking([PHYSICAL, node(), *many]) as bench:
        await asyncio.sleep(PERIOD_SECONDS + 10)

        shown = bench.shown("largest_volume_bytes")
        assert [*shown] == [(each.name,) for each in many[:MOST_STORAGE_CLASSES]]


def test_there_are_so_many_classes_at_most() -> None:
    many = {NodeClass(f"zone-{n}", "", "filesystem", ""): Left(n, 1, 1) for n in range(150)}

    found = bounded(many)

    assert len(found) == MOST_CLASSES
    assert found[NodeClass("zone-149", "", "filesystem", "")] == Left(149, 1, 1)
    assert found[NodeClass(*["other"] * 4)] == Left(sum(range(51)), 51, 51)
