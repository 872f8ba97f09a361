"""What is worked out in pieces comes to the same as if there were none."""

from msgspec.structs import replace

from app.kube.resource import AnyRecord
from extender import ClusterView, Extender, ViewBuilder
from extender.demand.requests import NOBODY
from longhorn import Locality, Node
from tests.builders import GENEROUS, GIB, disk, node, volume


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


def work_out(extender: Extender, view: ClusterView) -> int:
    """Let it catch up piece by piece; return in how many pieces."""
    for number in range(1, 1_000):
        if extender.catch_up(view):
            return number
    raise AssertionError("it never ends")


def test_volumes_without_room_each_have_their_turn_although_no_piece_gets_through_all():
    builder, extender = ViewBuilder(), Extender(GENEROUS)
    before, after = hosts(3, 50), hosts(3, 100)
    for each in (*before, *new(600, 200), *new(1, 60, prefix="the-last")):
        builder.apply(None, each)
    builder.settle()
    work_out(extender, builder.view)
    assert "the-last-0" in extender.situation(NOBODY, builder.view).book.forecast.nowhere

    for old, grown in zip(before, after, strict=True):
        builder.apply(old, grown)
        builder.settle()
        work_out(extender, builder.view)
    assert "the-last-0" not in extender.situation(NOBODY, builder.view).book.forecast.nowhere


def test_replica_that_comes_back_to_a_node_has_an_id_of_its_own():
    builder, extender = ViewBuilder(), Extender(GENEROUS)
    [roomy, small] = [hosts(1, size)[0] for size in (100, 65)]
    other = replace(hosts(2, 65)[1], zone=roomy.zone)
    of_five = volume(size_bytes=30 * GIB, locality=Locality.DISABLED, replicas=5, soft=True)
    for each in (roomy, other, of_five):
        builder.apply(None, each)

    found = []
    for before, after in ((None, None), (roomy, small), (small, roomy)):
        if before is not None:
            builder.apply(before, after)
        builder.settle()
        forecast = extender.situation(NOBODY, builder.view).book.forecast
        found.append([len({each.item.id for each in there}) for there in forecast.on.values()])

    assert [sum(each) for each in found] == [5, 4, 5]


def test_replica_stays_where_it_is_forecast_though_another_node_has_more_room_since():
    builder, extender = ViewBuilder(), Extender(GENEROUS)
    [small], [_, other] = hosts(1, 100), hosts(2, 90)
    due = volume(size_bytes=30 * GIB, locality=Locality.DISABLED)
    changes: list[tuple[AnyRecord | None, AnyRecord]] = [
        (None, small),
        (None, other),
        (None, due),
        (other, hosts(2, 200)[1]),
        (due, replace(due, actual_bytes=GIB)),
    ]

    found = []
    for before, after in changes:
        builder.apply(before, after)
        builder.settle()
        found.append([*extender.situation(NOBODY, builder.view).book.forecast.on])

    assert found == [[], [], *([small.name] for _ in range(3))]
