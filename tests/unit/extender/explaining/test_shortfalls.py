"""By how little one disk of a node must grow to let a pod in."""

import pytest

from extender.explaining import Headroom, Shortfall, shortfalls
from extender.explaining.disks import Trials, least_growth
from longhorn import DiskName, Locality, NodeName
from packing import Bin, Item, pack
from tests.builders import GIB, ask, bound, disk, node, pending, view_of, volume

NODE = NodeName("node-1")
ONE, TWO = DiskName("disk-1"), DiskName("disk-2")
KIND = frozenset({0})
STEPS = 100_000
LOGICAL, PHYSICAL, BOTH = Headroom


def item(name: str, logical: int, physical: int = 0) -> Item:
    return Item(name, logical, physical, KIND)


def test_the_fuller_disk_is_not_the_nearest():
    disks = disk("disk-1", scheduled_bytes=80 * GIB), disk("disk-2", scheduled_bytes=60 * GIB)
    view = view_of(node("node-1", *disks), *bound(volume(size_bytes=50 * GIB)))

    assert shortfalls(ask(view)) == {NODE: (Shortfall(TWO, 10 * GIB, LOGICAL),)}


def test_every_disk_that_could_help_is_named_if_asked_for():
    disks = (
        disk("disk-1", scheduled_bytes=80 * GIB),
        disk("disk-2", scheduled_bytes=60 * GIB),
        disk("disk-3", type_="block"),
    )
    view = view_of(node("node-1", *disks), *bound(volume(size_bytes=50 * GIB)))

    found = shortfalls(ask(view), every_disk=True)

    assert found == {NODE: (Shortfall(TWO, 10 * GIB, LOGICAL), Shortfall(ONE, 30 * GIB, LOGICAL))}


def test_a_volume_that_holds_much_is_short_of_what_is_available():
    full = disk(available_bytes=30 * GIB)
    view = view_of(node("node-1", full), *bound(volume(size_bytes=GIB, actual_bytes=15 * GIB)))

    [[found]] = shortfalls(ask(view)).values()

    # 25 GiB must stay free, and Longhorn's comparison is strict.
    assert found == Shortfall(ONE, 10 * GIB + 1, PHYSICAL)


def test_volumes_that_do_not_fit_together_are_short_together():
    wanted = bound(volume("a", size_bytes=60 * GIB), volume("b", size_bytes=60 * GIB))
    view = view_of(node(), *wanted)

    found = shortfalls(ask(view, "a", "b"))

    assert found == {NODE: (Shortfall(ONE, 20 * GIB, LOGICAL),)}


def test_what_longhorn_is_about_to_place_counts():
    other = volume("other", size_bytes=70 * GIB)
    view = view_of(node(), *bound(volume(size_bytes=50 * GIB)), other, pending(size_bytes=70 * GIB))

    assert shortfalls(ask(view)) == {NODE: (Shortfall(ONE, 20 * GIB, LOGICAL),)}


def test_a_replica_that_finds_room_nowhere_is_short_where_it_could_go():
    remote = volume(size_bytes=110 * GIB, locality=Locality.DISABLED)
    closed = node("node-2", allow_scheduling=False)
    view = view_of(node(), closed, *bound(remote))

    assert shortfalls(ask(view)) == {NODE: (Shortfall(ONE, 10 * GIB, LOGICAL),)}


def test_nodes_rejected_for_other_reasons_are_short_of_nothing():
    view = view_of(node(ready=False), *bound(volume(size_bytes=500 * GIB)))

    assert shortfalls(ask(view)) == {}


@pytest.mark.parametrize(
    ("items", "bins", "expected"),
    [
        ([item("a", 10)], [Bin("disk-1", 0, 4, 0)], Shortfall(ONE, 6, LOGICAL)),
        ([item("a", 1, 9)], [Bin("disk-1", 0, 4, 2)], Shortfall(ONE, 7, PHYSICAL)),
        ([item("a", 1)], [Bin("disk-1", 0, -5, -3)], Shortfall(ONE, 6, BOTH)),
        (
            [item("a", 10)],
            [Bin("disk-1", 1, 4, 0), Bin("disk-2", 0, 1, 0)],
            Shortfall(TWO, 9, LOGICAL),
        ),
        ([item("a", 10)], [Bin("disk-1", 1, 4, 0)], None),
        ([item("a", 10)], [], None),
    ],
    ids=["logical", "physical", "over-full", "other-kind", "wrong-kind-alone", "no-disk"],
)
def test_the_least_growth_is_exact(items, bins, expected):
    assert least_growth(items, bins, Trials(STEPS)) == expected


def test_what_is_not_decided_within_the_limit_of_all_trials_does_not_fit():
    items = [item(str(number), size) for number, size in enumerate((8, 6, 7, 8, 2))]
    bins = [Bin("disk-1", 0, 19, 0), Bin("disk-2", 0, 13, 0)]
    steps = pack(items, bins, step_limit=STEPS).steps
    trials = Trials(steps)

    assert steps > 0
    assert trials.fit(items, bins)
    assert not trials.fit(items, bins)
