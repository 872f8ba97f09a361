"""Durations that the service has measured, as Prometheus sees them: in buckets. Pure."""

import msgspec
from prometheus_client.parser import text_string_to_metric_families

PREFIX = "longhorn_scheduler_extender_"


class Histogram(msgspec.Struct, frozen=True):
    """How many durations were at most so long."""

    counts: tuple[tuple[float, int], ...]
    """For each bound in seconds, in rising order, infinity at last."""

    @property
    def count(self) -> int:
        return self.counts[-1][1]

    def bound(self, share: float) -> float:
        """Return the least bound that so large a share of the durations keeps to."""
        return next(bound for bound, count in self.counts if count >= share * self.count)

    def __str__(self) -> str:
        if not self.count:
            return "none"
        half, all_ = (f"{1000 * self.bound(share):g} ms" for share in (0.5, 1.0))
        return f"{self.count}, half of them <= {half}, all <= {all_}"


def read_histogram(metrics: str, name: str) -> Histogram:
    """Read a histogram out of an instance's metrics, all its labels taken together."""
    counts: dict[float, int] = {}
    for family in text_string_to_metric_families(metrics):
        if family.name == PREFIX + name:
            for sample in family.samples:
                if sample.name.endswith("_bucket"):
                    bound = float(sample.labels["le"])
                    counts[bound] = counts.get(bound, 0) + int(sample.value)
    assert counts, f"there is no histogram {name}"
    return Histogram(tuple(sorted(counts.items())))
