"""What is worked out in pieces comes to the same as if there were none."""

from app.kube.resource import AnyRecord
from extender import ClusterView, Ledger, ViewBuilder
from extender.upcoming.outlook import Outlook
from extender.work import Work
from longhorn import Locality, Node
from tests.builders import GIB, disk, node, volume

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
