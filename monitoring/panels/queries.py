"""The forms that queries have."""

from monitoring.panels.panel import Query
from monitoring.series import PREFIX

NAMESPACE = "$namespace"
INTERVAL = "$__rate_interval"
"""Grafana's: long enough for four scrapes, and no shorter than a pixel."""
OURS = f'namespace="{NAMESPACE}"'
_LONG = "1h"
"""For shares of what happens a few times a minute, which jump over less."""


def series(metric: str, selector: str = "") -> str:
    """Select a metric of ours, in the namespace that is shown."""
    return f"{PREFIX}{metric}{{{OURS}{',' + selector if selector else ''}}}"


def rate(metric: str, by: str, selector: str = "") -> Query:
    """Ask for events a second, by a label."""
    return Query(f"sum by ({by}) (rate({series(metric, selector)}[{INTERVAL}]))", "{{" + by + "}}")


def events(metric: str, *by: str, selector: str = "") -> Query:
    """Ask for the number of events that are rare, by labels."""
    return Query(
        f"sum by ({', '.join(by)}) (increase({series(metric, selector)}[{INTERVAL}]))",
        " ".join("{{" + each + "}}" for each in by),
    )


def largest(metric: str, *by: str) -> Query:
    """Ask for a gauge, by labels; only the leader's is not 0 where only the leader does it."""
    return Query(
        f"max by ({', '.join(by)}) ({series(metric)})",
        " ".join("{{" + each + "}}" for each in by),
    )


def of_leader(metric: str, by: str) -> Query:
    """Ask for a gauge that keeps its last value when the instance leads no more."""
    leads = f"{series('heartbeat')} == 1"
    return Query(
        f"max by ({by}) ({series(metric)} and on (namespace, pod) ({leads}))", "{{" + by + "}}"
    )


def share(metric: str, selector: str, *, of: str, legend: str) -> Query:
    """Ask which share of all events within an hour are those of *selector*; *of* counts all."""
    part = f"sum(increase({series(metric, selector)}[{_LONG}]))"
    return Query(f"{part} / sum(increase({series(of)}[{_LONG}]))", legend)


def quantiles(metric: str, *shares: float, what: str = "") -> tuple[Query, ...]:
    """Ask for quantiles of a histogram; the text of *what* goes before their names."""
    return tuple(
        Query(
            f"histogram_quantile({each:g}, "
            f"sum by (le) (rate({series(metric + '_bucket')}[{INTERVAL}])))",
            f"{what}p{each * 100:g}",
        )
        for each in shares
    )


def quantile_by(metric: str, label: str, quantile: float = 0.95) -> Query:
    """Ask for one quantile of a histogram, by a label."""
    return Query(
        f"histogram_quantile({quantile:g}, "
        f"sum by (le, {label}) (rate({series(metric + '_bucket')}[{INTERVAL}])))",
        f"p{quantile * 100:g} {label} {{{{{label}}}}}",
    )


def process(expr: str) -> str:
    """Keep of a metric that every process has what is of our processes, whatever scrapes them."""
    return f"{expr} and on (namespace, pod) {series('build_info')}"
