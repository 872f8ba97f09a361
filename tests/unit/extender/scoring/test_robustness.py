"""Whether Longhorn's own choice of disks places all volumes of a pod on a node."""

import msgspec
import pytest

from extender.demand.items import demand_of
from extender.scoring.robustness import MOST_STEPS, Robustness, robustness
from longhorn import Condition, NodeName, need_of
from tests.builders import GIB, disk, node, view_of, volume

SOME, EVERY, STALE = Robustness


def found(disks_gib: list[int], sizes_gib: list[int], **of_last_disk: Condition) -> Robustness:
    disks = [
        disk(f"disk-{number}", maximum_bytes=gib * GIB) for number, gib in enumerate(disks_gib)
    ]
    disks[-1] = msgspec.structs.replace(disks[-1], **of_last_disk)
    view = view_of(node("node-1", *disks))
    needs = [need_of(volume(size_bytes=gib * GIB), None) for gib in sizes_gib]
    demand = demand_of(((str(n), need) for n, need in enumerate(needs)), view)
    return robustness(demand.items, view.spaces[NodeName("node-1")], view.disk_kinds)


@pytest.mark.parametrize(
    ("disks_gib", "sizes_gib", "expected"),
    [
        pytest.param([100], [60], STALE, id="one"),
        pytest.param([100], [40, 60], STALE, id="all-on-one-disk"),
        pytest.param([100, 60], [60, 100], SOME, id="the-small-one-takes-the-large-disk"),
        pytest.param([100, 100], [60, 60], EVERY, id="both-would-take-the-same-disk"),
        pytest.param([200, 100], [60, 60], STALE, id="both-find-room-on-the-larger"),
        pytest.param([100, 100, 100], [60, 60, 60], EVERY, id="three"),
        pytest.param([300, 300, 300, 300], [100] * 12, EVERY, id="exactly-full"),
    ],
)
def test_in_which_orders_all_find_room(
    disks_gib: list[int], sizes_gib: list[int], expected: Robustness
) -> None:
    assert found(disks_gib, sizes_gib) is expected


def test_too_many_orders_are_not_tried() -> None:
    """Then no more is said than that some order works."""
    sizes = [*range(10, 26)]

    assert len(sizes) ** 4 > MOST_STEPS
    assert found([200] * 12, sizes) is SOME


def test_a_disk_that_longhorn_may_choose_and_that_is_not_ready_makes_nothing_sure() -> None:
    not_ready = {"ready": Condition("False")}

    assert found([200, 300], [60], **not_ready) is SOME
    assert found([200, 50], [60], **not_ready) is STALE
