"""The metrics of the controller of DiskSchedules."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from app.metrics import NAMESPACE, ProcessMetrics
from longhorn import Decision, Happened, Refusal

_PREFIX = f"{NAMESPACE}_disk_schedule"
PASS_OUTCOMES = ("written", "unchanged", "conflict", "failed")


class DiskFigures(NamedTuple):
    """A disk as its DiskSchedule shows it."""

    node: str
    disk: str
    """Its UUID."""
    held_bytes: int
    limit_bytes: int | None
    """None if the disk or the percentage of over-provisioning is not known."""
    refused: int
    """How many requirements are refused now."""


class ControllerMetrics(ProcessMetrics):
    """The metrics of the controller of DiskSchedules."""

    def __init__(self, registry: CollectorRegistry, *, version: str) -> None:
        super().__init__(registry, _PREFIX, version=version)
        counter = partial(Counter, namespace=_PREFIX, registry=registry)
        gauge = partial(Gauge, namespace=_PREFIX, registry=registry)
        self.passes_total = counter(
            "passes_total",
            "Passes over a DiskSchedule, by outcome; conflicts and failures are tried again.",
            ["outcome"],
        )
        self.changes_total = counter(
            "changes_total", "What became of replicas and backing images in passes.", ["change"]
        )
        self.refusals_total = counter(
            "refusals_total", "What was refused anew in passes, by reason.", ["reason"]
        )
        self.last_pass_age_seconds = gauge(
            "last_pass_age_seconds",
            "Time since this instance last ended a pass; NaN before it ever did.",
        )
        self.rivals = gauge(
            "rivals",
            "DiskSchedules that Longhorn itself has written; while there are any, none is written.",
        )
        self._passes = {each: self.passes_total.labels(each) for each in PASS_OUTCOMES}
        self._changes = {
            each: self.changes_total.labels(each)
            for each in Happened
            if each is not Happened.REFUSED
        }
        self._refusals = {each: self.refusals_total.labels(each) for each in Refusal}

    def show_disks(self, figures: Callable[[], Iterable[DiskFigures]]) -> None:
        """Show the disks that *figures* returns when metrics are read."""
        self.registry.register(_Disks(figures))

    def count_decision(self, decision: Decision) -> None:
        """Count a pass that was made to its end, and what it changed."""
        is_written = decision.changes_spec or decision.changes_status
        self.count_pass("written" if is_written else "unchanged")
        for change in decision.changes:
            if change.happened is Happened.REFUSED:
                self._refusals[decision.refused[change.owner]].inc()
            else:
                self._changes[change.happened].inc()

    def count_pass(self, outcome: str) -> None:
        """Count a pass: one of `PASS_OUTCOMES`."""
        self._passes[outcome].inc()


class _Disks(Collector):
    """One series for each disk there is at the moment of the scrape."""

    def __init__(self, figures: Callable[[], Iterable[DiskFigures]]) -> None:
        self._figures = figures

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Return the families."""
        labels = ["node", "disk"]
        held = GaugeMetricFamily(
            f"{_PREFIX}_held_bytes", "Bytes that a disk holds, by its entries.", labels=labels
        )
        limit = GaugeMetricFamily(
            f"{_PREFIX}_limit_bytes",
            "The most that is granted on a disk; missing while it is not known.",
            labels=labels,
        )
        refused = GaugeMetricFamily(
            f"{_PREFIX}_refused", "Requirements that are refused now.", labels=labels
        )
        for each in self._figures():
            names = [each.node, each.disk]
            held.add_metric(names, each.held_bytes)
            if each.limit_bytes is not None:
                limit.add_metric(names, each.limit_bytes)
            refused.add_metric(names, each.refused)
        yield from (held, limit, refused)
