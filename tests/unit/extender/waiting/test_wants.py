"""What pods ask for: who is of a kind, and who asks for more."""

import pytest

from extender import ClusterView
from extender.demand import resolve
from extender.waiting.pods import Wants, wants_of
from longhorn import Locality, Volume
from tests.builders import GIB, bound, pod, replica, view_of, volume, wants


def wants_in(view: ClusterView, *claims: str) -> Wants:
    return wants_of(resolve(pod(*claims), view), view)


def asked_for(*volumes: Volume) -> Wants:
    return wants_in(view_of(*bound(*volumes)), *(each.name for each in volumes))


def test_pods_that_differ_by_sizes_alone_are_of_a_kind():
    small = asked_for(volume("small", size_bytes=GIB), volume("other", size_bytes=3 * GIB))
    large = asked_for(volume("large", size_bytes=2 * GIB), volume("another", size_bytes=3 * GIB))

    assert small.kind == large.kind
    assert small.covers(large)
    assert not large.covers(small)
    assert small.covers(small)
    assert small.volumes == {"small", "other"}


def test_of_several_volumes_each_counts():
    one, two = wants(1, 9), wants(9, 1)

    assert not one.covers(two)
    assert not two.covers(one)


@pytest.mark.parametrize(
    "other",
    [
        [volume("vol", locality=Locality.STRICT_LOCAL)],
        [volume("vol", replicas=3)],
        [volume("vol", locality=Locality.DISABLED)],
        [volume("vol", disk_selector=("ssd",))],
        [volume("vol"), volume("two")],
    ],
)
def test_pods_that_ask_for_something_else_are_of_another_kind(other):
    assert asked_for(volume("vol")).kind != asked_for(*other).kind


def test_pods_with_replicas_elsewhere_are_of_another_kind():
    vol = bound(volume("vol"))
    kinds = [
        wants_in(view_of(*vol, *replicas), "vol").kind
        for replicas in (
            [],
            [replica(on="node-1")],
            [replica(on="node-2")],
            [replica(on="node-2", failed=True)],
            [replica(on="", healthy_once=False)],
        )
    ]

    assert kinds[0] == kinds[4]
    assert len({*kinds}) == 4


def test_a_linked_clone_waits_for_what_it_shares_data_with_as_well():
    assert asked_for(volume("clone", linked_to="source")).volumes == {"clone", "source"}
