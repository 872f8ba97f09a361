"""Whether Longhorn's own choice of disks places all volumes of a pod on a node."""

import pytest

from extender.verdicts.robustness import MOST_STEPS, Disks, Robustness
from longhorn import NodeName, Settings, need_of
from tests.builders import GIB, disk, node, view_of, volume

SOME, EVERY, STALE = Robustness


def robustness(disks_gib: list[int], sizes_gib: list[int], **of_disk: bool) -> Robustness:
    disks = [
        disk(f"disk-{number}", maximum_bytes=gib * GIB, **of_disk)  # type: ignore[arg-type]
        for number, gib in enumerate(disks_gib)
    ]
    view = view_of(node("node-1", *disks))
    assert isinstance(view.settings, Settings)
    spaces = view.spaces[NodeName("node-1")].disks
    needs = [need_of(volume(size_bytes=gib * GIB), None) for gib in sizes_gib]
    return Disks(NodeName("node-1"), spaces, view.settings).robustness(needs)


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
    assert robustness(disks_gib, sizes_gib) is expected


def test_too_many_orders_are_not_tried() -> None:
    """Then no more is said than that some order works."""
    sizes = [*range(10, 26)]

    assert len(sizes) ** 4 > MOST_STEPS
    assert robustness([200] * 12, sizes) is SOME
