"""What is worked out in pieces comes to the same as if there were none."""

from collections.abc import Sequence

import pytest

from app.kube.resources import AnyRecord
from extender import ClusterView, Ledger, ViewBuilder
from extender.forecast.outlook import Outlook
from extender.work import Work
from longhorn import Locality, Node
from tests.builders import GIB, disk, node, view_of, volume
from tests.unit.extender.outlooks import outlook as at_once

PIECE = 2_000
"""As many steps as a piece has in the service."""


def hosts(count: int, *sizes_gib: int) -> list[Node]:
    """Build nodes in three zones."""
    return [
        node(
            f"node-{number}",
            *(
                disk(f"disk-{n}", uuid=f"{number}-{n}", maximum_bytes=size * GIB)
                for n, size in enumerate(sizes_gib)
            ),
            zone="abc"[number % 3],
        )
        for number in range(count)
    ]


def new(count: int, *sizes_gib: int, prefix: str = "new") -> list[AnyRecord]:
    """Build volumes of three replicas of which none is placed."""
    return [
        volume(
            f"{prefix}-{number}",
            size_bytes=sizes_gib[number % len(sizes_gib)] * GIB,
            locality=Locality.DISABLED,
            replicas=3,
        )
        for number in range(count)
    ]


def work_out(outlook: Outlook, view: ClusterView, ledger: Ledger) -> int:
    """Let it catch up piece by piece; return in how many pieces."""
    for number in range(1, 1_000):
        outlook.catch_up(view, ledger, now=0.0, utc=None, work=Work(PIECE))
        if not outlook.is_behind:
            return number
    raise AssertionError("it never ends")


@pytest.mark.parametrize(
    ("nodes", "volumes"),
    [
        pytest.param(hosts(60, 100), new(66, 40, 60, 90), id="one-disk-each"),
        pytest.param(hosts(30, 100, 50, 70), new(66, 40, 60, 90), id="three-disks-each"),
        pytest.param(hosts(60, 100), new(60, 60, 61, 62), id="none-beside-another"),
    ],
)
def test_few_replicas_without_room_for_all_find_as_much_of_it_in_pieces(
    nodes: Sequence[Node], volumes: Sequence[AnyRecord]
) -> None:
    view, outlook, ledger = view_of(*nodes, *volumes), Outlook(10_000), Ledger()
    pieces = work_out(outlook, view, ledger)
    whole = at_once(view, step_limit=10_000).forecast

    assert pieces > 1
    assert outlook.forecast.nowhere == whole.nowhere


def test_of_many_without_room_each_has_its_turn_although_no_piece_gets_through_all() -> None:
    builder, outlook, ledger = ViewBuilder(), Outlook(10_000), Ledger()
    before, after = hosts(3, 50), hosts(3, 100)
    for each in (*before, *new(600, 200), *new(1, 60, prefix="the-last")):
        builder.apply(None, each)
    builder.settle()
    work_out(outlook, builder.view, ledger)
    assert "the-last-0" in outlook.forecast.nowhere

    for old, grown in zip(before, after, strict=True):
        builder.apply(old, grown)
        builder.settle()
        work_out(outlook, builder.view, ledger)
    assert "the-last-0" not in outlook.forecast.nowhere
