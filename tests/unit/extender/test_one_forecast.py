"""The forecast of what comes is worked out once for a pod, whatever is asked about it after."""

import pytest
from msgspec import structs

from extender import Extender, UnresolvableClaimError, ViewBuilder
from extender.explaining import shortfalls, spreads
from extender.holds import Asked, Timeouts
from extender.upcoming.book import Book
from longhorn import Locality, NodeName
from tests.builders import (
    GENEROUS,
    GIB,
    bound,
    claim,
    node,
    pod,
    setting,
    storage_class,
    view_of,
    volume,
)
from tests.calls import calls_of

NODES = [NodeName("node-1"), NodeName("node-2")]
TIMEOUTS = Timeouts(choosing_seconds=5.0, placing_seconds=5.0)


def test_filter_scores_hold_and_reports_take_one():
    due = volume("due", size_bytes=20 * GIB, locality=Locality.DISABLED)
    own = volume("own", size_bytes=20 * GIB, replicas=3)
    view = view_of(*map(node, NODES), setting("default-replica-count", "3"), due, *bound(own))
    extender = Extender(GENEROUS)

    with calls_of(Book.ask) as forecasts:
        answer = extender.filter(pod("own"), NODES, view)
        extender.score(answer)
        extender.prioritize(pod("own"), answer.accepted, view)
        shortfalls(answer)
        spreads(answer, answer.accepted[0])
        extender.hold(answer, Asked(), timeouts=TIMEOUTS, now=0.0)

    assert answer.accepted
    assert forecasts.count == 1


def test_a_pod_without_volumes_takes_none():
    with calls_of(Book.ask) as forecasts:
        Extender(GENEROUS).filter(
            structs.replace(pod(), claims=()), NODES, view_of(*map(node, NODES))
        )

    assert forecasts.count == 0


def test_a_claim_that_is_gone_since_filter_is_missed_by_scores():
    builder, extender = ViewBuilder(), Extender(GENEROUS)
    new = claim("own")
    for each in (*map(node, NODES), storage_class(), new):
        builder.apply(None, each)
    builder.settle()
    answer = extender.filter(pod("own"), NODES, builder.view)
    assert extender.prioritize_answered(pod("own"), answer.accepted, builder.view)

    builder.apply(new, None)
    builder.settle()

    with pytest.raises(UnresolvableClaimError):
        extender.prioritize_answered(pod("own"), answer.accepted, builder.view)
