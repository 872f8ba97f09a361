"""Odd input about volumes and their replicas: it is named, or counts for something sane.

Whatever one object says, pods that have nothing to do with it are answered as ever.
"""

from typing import Any

import pytest
from msgspec.structs import replace

from app.kube.mirror import Known
from extender import Answer, ClusterView, Extender, UnresolvableClaimError, ViewBuilder
from extender.holds import Asked, Timeouts
from extender.holds.hold import End, Hold
from extender.verdicts.rejections import SettingUnreadable
from extender.verdicts.shortages import NoRoomAnywhere, TooFewReplicas
from longhorn import Locality, Node, NodeName, Unreadable, Volume
from tests.builders import (
    GENEROUS,
    GIB,
    bound,
    claim,
    disk,
    document,
    hold,
    node,
    persistent_volume,
    pod,
    read,
    replica,
    setting,
    volume,
    wanted,
)

TIMEOUTS = Timeouts(choosing_seconds=5.0, placing_seconds=5.0)
NODES = [NodeName(f"node-{number}") for number in (1, 2, 3)]
CLUSTER: list[Known] = [
    *(node(name, disk(maximum_bytes=50 * GIB)) for name in NODES),
    setting("storage-minimal-available-percentage", "0"),
]


class Live:
    """A cluster that changes, and an extender that lives long."""

    def __init__(self, *records: Known) -> None:
        self.extender = Extender(GENEROUS)
        self._builder = ViewBuilder()
        self._known: dict[tuple[type, str], Known] = {}
        self.put(*CLUSTER, *records)

    @property
    def view(self) -> ClusterView:
        return self._builder.view

    def put(self, *records: Known) -> None:
        for record in records:
            kind = type(record), str(getattr(record, "key", "") or getattr(record, "name", ""))
            self._builder.apply(self._known.get(kind), record)
            self._known[kind] = record
        self._builder.settle()

    def drop(self, kind: type, name: str) -> None:
        self._builder.apply(self._known.pop((kind, name)), None)
        self._builder.settle()

    def hold(self, *volumes: Volume, on: str = "node-1") -> Hold:
        """Hold room for the volumes of a pod whose node is chosen."""
        asked = [wanted(each) for each in volumes]
        made = hold("holder", volumes=[], nodes=[on], only_candidate=True)
        made = replace(
            made,
            volumes=tuple(each for each in asked if each.is_local),
            remote=tuple(each for each in asked if not each.is_local),
        )
        self.extender.ledger.put(made)
        return made

    def ask(self, *claims: str) -> Answer:
        return self.extender.filter(pod(*claims, name=claims[0]), NODES, self.view)


def with_claim(**spec: Any) -> list[Known]:
    """Build a Volume as it stands in JSON, with the claim that is bound to it."""
    fields = {"size": str(10 * GIB), "numberOfReplicas": 1, "dataLocality": "disabled", **spec}
    written = read(document("Volume", "odd", spec=fields))
    return [written, persistent_volume(handle="odd"), claim("odd", persistent_volume="pv")]


OTHER = bound(volume(size_bytes=20 * GIB))
"""What a pod needs that has nothing to do with the odd one."""


# --- how many replicas a Volume wants ---


@pytest.mark.parametrize(
    ("count", "due"),
    [(0, 0), (-1, 0), (None, 0), (1, 1), (20, 20), (21, 20), (2**63 - 1, 20)],
)
def test_a_volume_gets_as_many_replicas_as_longhorn_allows(count, due):
    live = Live(*with_claim(numberOfReplicas=count, size=str(GIB)), *OTHER)

    placed = min(due, len(NODES))
    assert live.ask("vol").forecast == {"sure": placed, "open": 0, "nowhere": due - placed}
    assert live.ask("odd").accepted == NODES
    assert live.ask("vol").accepted == NODES


@pytest.mark.parametrize("count", ["3", "three", 1.5, 2**63, [], True])
def test_a_volume_with_a_count_that_is_none_is_named(count):
    live = Live(*with_claim(numberOfReplicas=count), *OTHER)

    with pytest.raises(UnresolvableClaimError, match=r"^Volume odd cannot be read; .*Replicas"):
        live.ask("odd")
    assert live.ask("vol").accepted == NODES


def test_one_that_becomes_unreadable_keeps_what_is_held_for_it():
    """It may be on its way to any disk, and what its replicas take shows on their own."""
    live = Live(*with_claim(size=str(40 * GIB), numberOfReplicas=3), *OTHER)
    live.hold(volume("odd", size_bytes=40 * GIB, locality=Locality.DISABLED, replicas=3))
    before = live.ask("vol")

    live.drop(Volume, "odd")
    live.put(Unreadable(kind="Volume", name="odd", why="is half written"))

    assert live.ask("vol").rejected == before.rejected
    assert before.forecast == {"sure": 3, "open": 0, "nowhere": 0}


# --- where they must be ---


@pytest.mark.parametrize("locality", ["near-by", "", "Best-Effort", None])
def test_a_volume_of_a_locality_that_longhorn_does_not_know_is_attached_over_the_network(locality):
    live = Live(*with_claim(dataLocality=locality, numberOfReplicas=2), *OTHER)

    assert live.ask("odd").request.volumes == ()
    assert live.ask("vol").forecast == {"sure": 2, "open": 0, "nowhere": 0}


def test_a_volume_without_status_and_engine_is_a_new_one():
    [written, *_] = with_claim(numberOfReplicas=2)

    live = Live(written, *OTHER)

    assert live.ask("vol").forecast == {"sure": 2, "open": 0, "nowhere": 0}


def test_a_volume_without_a_size_takes_no_room():
    live = Live(*with_claim(size="", numberOfReplicas=3), *OTHER)

    assert live.ask("vol").forecast == {"sure": 0, "open": 0, "nowhere": 0}
    assert live.ask("odd").accepted == NODES


def test_replicas_of_a_volume_that_is_not_known_count_where_they_are():
    there = replica("lost-r-1", of="lost", on="node-1", size_bytes=40 * GIB)
    coming = replica("lost-r-2", of="lost", on="", pinned_to="node-2", size_bytes=40 * GIB)
    nowhere = replica("lost-r-3", of="lost", on="", size_bytes=40 * GIB)

    live = Live(there, coming, nowhere, *OTHER)

    assert live.ask("vol").accepted == [NODES[2]]


# --- what changes while room is held ---


def test_zones_may_come_and_go():
    """With hard zones as many replicas find room as there are zones; no zone is one, too."""
    shop = volume("shop", locality=Locality.DISABLED, replicas=3, zone_soft=False)
    live = Live(*OTHER)
    live.hold(shop)
    placed = []
    for zones in (["", "", ""], ["a", "", ""], ["a", "b", "c"], ["a", "b", "b"], ["", "", ""]):
        for name, zone in zip(NODES, zones, strict=True):
            live.put(node(name, disk(maximum_bytes=50 * GIB), zone=zone))
        placed.append(live.ask("vol").forecast["sure"])

    assert placed == [1, 2, 3, 2, 1]


SHOP = volume("shop", size_bytes=30 * GIB, locality=Locality.DISABLED, replicas=3)


@pytest.mark.parametrize("is_held", [True, False], ids=["held", "shown"])
def test_settings_may_flip(*, is_held):
    """Three replicas of 30 GiB on three disks of 50; then 20 fit on each."""
    live = Live(*OTHER)
    if is_held:
        live.hold(SHOP)
    else:
        live.put(SHOP)

    def forecast(name: str, value: str) -> dict[str, int]:
        live.put(setting(name, value))
        return dict(live.ask("vol").forecast)

    all_three = {"sure": 3, "open": 0, "nowhere": 0}
    assert live.ask("vol").forecast == all_three
    assert live.ask("vol").accepted == NODES
    assert forecast("replica-zone-soft-anti-affinity", "false")["sure"] == 1
    assert forecast("replica-zone-soft-anti-affinity", "true") == all_three
    assert forecast("storage-over-provisioning-percentage", "50")["nowhere"] == 3
    assert forecast("storage-over-provisioning-percentage", "100") == all_three
    live.put(node("node-2", disk(allow_scheduling=False)))
    assert forecast("replica-soft-anti-affinity", "false")["sure"] == 2
    assert forecast("storage-over-provisioning-percentage", "200")["sure"] == 2
    assert forecast("replica-soft-anti-affinity", "true") == all_three


def test_degraded_volumes_may_be_forbidden_under_way():
    name = "allow-volume-creation-with-degraded-availability"
    live = Live(*bound(SHOP), *OTHER)
    live.put(node("node-3", disk(maximum_bytes=20 * GIB)))
    assert live.ask("shop").accepted == NODES

    live.put(setting(name, "false"))
    rejected = live.ask("shop").rejected
    assert {type(each) for each in rejected.values()} == {TooFewReplicas}

    live.put(setting(name, "true"))
    assert live.ask("shop").accepted == NODES


def test_what_is_held_outlives_a_setting_that_cannot_be_read():
    """Longhorn places nothing meanwhile. It goes on as soon as the setting is corrected."""
    percent = "storage-over-provisioning-percentage"
    big = volume("big", size_bytes=40 * GIB, locality=Locality.DISABLED, replicas=3)
    live = Live(*bound(SHOP), *OTHER)
    live.hold(big)
    before = live.ask("shop")
    assert {type(each) for each in before.rejected.values()} == {NoRoomAnywhere}

    live.put(setting(percent, "a lot"))
    live.extender.ledger.settle(live.view, TIMEOUTS, 1.0)
    assert live.ask("vol").rejected == dict.fromkeys(NODES, SettingUnreadable(setting=percent))

    live.put(setting(percent, "100"))
    live.extender.ledger.settle(live.view, TIMEOUTS, 2.0)
    assert live.ask("shop").rejected == before.rejected


def test_room_is_held_as_well_for_who_asks_meanwhile():
    percent = "storage-over-provisioning-percentage"
    live = Live(*bound(SHOP), *OTHER, setting(percent, "a lot"))

    found = live.ask("shop")
    live.extender.hold(found, Asked(), timeouts=TIMEOUTS, now=0.0)
    live.drop(Volume, "shop")
    live.put(setting(percent, "100"))

    assert found.accepted == NODES
    assert live.ask("vol").forecast == {"sure": 0, "open": 3, "nowhere": 0}


def test_a_hold_ends_though_a_setting_cannot_be_read_if_all_is_placed():
    there = [replica(f"shop-r-{name}", of="shop", on=name) for name in NODES]
    live = Live(*bound(SHOP), *there, setting("storage-over-provisioning-percentage", "a lot"))
    made = live.hold(SHOP)

    ended = live.extender.ledger.settle(live.view, TIMEOUTS, 1.0).ended

    assert [(each.hold, each.why) for each in ended] == [(made, End.CONFIRMED)]


def test_nodes_may_vanish_while_room_is_held_on_them():
    live = Live(*OTHER)
    local = volume("local", size_bytes=40 * GIB, replicas=2)
    live.hold(local)
    assert live.ask("vol").rejected.keys() >= {NODES[0]}

    for name in NODES:
        live.drop(Node, name)
    assert live.ask("vol").accepted == []

    live.put(*CLUSTER)
    assert live.ask("vol").rejected.keys() >= {NODES[0]}
