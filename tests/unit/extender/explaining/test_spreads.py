"""Where all replicas of a pod's volumes would go."""

import msgspec

from app.kube.resource import AnyRecord
from extender.demand.requests import resolve
from extender.explaining import Hindrance, Spread, spreads
from longhorn import Locality, NodeName, VolumeName
from tests.builders import (
    GIB,
    ask,
    bound,
    disk,
    hold,
    node,
    pod,
    replica,
    setting,
    view_of,
    volume,
)

ONE, TWO, THREE = (NodeName(f"node-{number}") for number in (1, 2, 3))
VOL = VolumeName("vol")


def whole(*records: AnyRecord, on: NodeName | None) -> Spread:
    [found] = spreads(ask(view_of(*records)), on)
    return found


def test_one_replica_is_beside_the_pod_and_the_others_on_other_nodes():
    nodes = [node(f"node-{number}") for number in (1, 2, 3)]

    found = whole(*nodes, *bound(volume(replicas=3)), on=TWO)

    assert (found.local, sorted(found.others), found.missing) == (TWO, [ONE, THREE], 0)


def test_replicas_that_exist_stay_where_they_are():
    nodes = [node("node-1"), node("node-2")]

    found = whole(*nodes, *bound(volume(replicas=1)), replica(), on=ONE)

    assert found == Spread(volume=VOL, wanted=1, placed=(ONE,))


def test_two_nodes_are_too_few_for_three_replicas_that_share_none():
    nodes = [node("node-1"), node("node-2")]

    found = whole(*nodes, *bound(volume(replicas=3)), on=ONE)

    assert (found.missing, found.hindrance) == (1, Hindrance.NODES)
    assert found.roomy == (ONE, TWO)


def test_one_zone_is_too_few_for_two_replicas_that_share_none():
    apart = setting("replica-zone-soft-anti-affinity", "false")
    nodes = [node("node-1", zone="east"), node("node-2", zone="east")]

    found = whole(*nodes, *bound(volume(replicas=2)), apart, on=ONE)

    assert (found.missing, found.hindrance) == (1, Hindrance.ZONES)


def test_full_disks_hinder_by_their_room():
    full = node("node-2", disk(scheduled_bytes=95 * GIB))

    found = whole(node(), full, *bound(volume(size_bytes=200 * GIB)), on=None)

    assert (found.missing, found.hindrance, found.roomy) == (1, Hindrance.ROOM, ())


def test_disks_that_take_nothing_hinder_whatever_their_tags():
    nodes = [node("node-1", disk(schedulable=False)), node("node-2", allow_scheduling=False)]

    found = whole(*nodes, *bound(volume(disk_selector=["ssd"])), on=None)

    assert (found.missing, found.hindrance) == (1, Hindrance.USABLE_DISKS)


def test_tags_that_no_disk_has_hinder_by_the_disks():
    remote = volume(locality=Locality.DISABLED, disk_selector=["ssd"])

    found = whole(node(), *bound(remote), on=None)

    assert (found.missing, found.hindrance) == (1, Hindrance.DISKS)


def test_what_is_held_for_other_pods_is_not_taken():
    other = volume("other", size_bytes=95 * GIB)
    view = view_of(node("node-1"), node("node-2"), *bound(volume(replicas=2)), *bound(other))
    held = hold("another", volumes=(), nodes=["node-2"], only_candidate=True)
    volumes = resolve(pod("other", name="another"), view).volumes

    answer = ask(view, holds=[msgspec.structs.replace(held, volumes=volumes)])
    [found] = spreads(answer, ONE)

    assert (found.local, found.others, found.missing) == (ONE, (), 1)
