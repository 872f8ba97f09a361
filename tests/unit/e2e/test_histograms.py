"""Histograms as the service's metrics have them."""

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client import Histogram as Measured

from tests.e2e.histograms import PREFIX, read_histogram


def metrics(*seconds: float) -> str:
    """Return what a service says that measured some durations, under two labels in turn."""
    registry = CollectorRegistry()
    measured = Measured(f"{PREFIX}wait", "any", ["end"], buckets=(0.1, 1, 10), registry=registry)
    for number, each in enumerate(seconds):
        measured.labels("even" if number % 2 == 0 else "odd").observe(each)
    measured.labels("never")
    return generate_latest(registry).decode()


def test_labels_are_taken_together() -> None:
    found = read_histogram(metrics(0.05, 0.5, 0.05, 5.0), "wait")

    assert found.counts == ((0.1, 2), (1.0, 3), (10.0, 4), (float("inf"), 4))
    assert (found.count, found.bound(0.5), found.bound(1.0)) == (4, 0.1, 10.0)
    assert str(found) == "4, half of them <= 100 ms, all <= 10000 ms"


def test_nothing_was_measured() -> None:
    assert str(read_histogram(metrics(), "wait")) == "none"
