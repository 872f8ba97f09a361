"""Odd input about volumes and their replicas: it is named, or counts for something sane.

Whatever one object says, pods that have nothing to do with it are answered as ever.
"""

from typing import Any

import pytest
from msgspec.structs import replace

from extender import Answer, Extender, UnresolvableClaimError
from extender.holds import Asked, Timeouts
from extender.holds.hold import End, Hold
from extender.verdicts.rejections import SettingUnreadable
from extender.verdicts.shortages import NoRoomAnywhere, TooFewReplicas
from longhorn import Node, NodeName, Unreadable, Volume
from tests.builders import (
    GENEROUS,
    GIB,
    bound,
    claim,
    disk,
    document,
    hold,
    node,
    nodes_of,
    persistent_volume,
    pod,
    read,
    replicas_of,
    setting,
    volumes_of,
    wanted,
)
from tests.unit.extender.live import LiveView

TIMEOUTS = Timeouts(choosing_seconds=5.0, placing_seconds=5.0)
NODES = [NodeName(f"node-{number}") for number in (1, 2, 3)]
CLUSTER = [*nodes_of("1:50 2:50 3:50"), setting("storage-minimal-available-percentage", "0")]
OTHER = bound(*volumes_of("vol:20"))
"""What a pod needs that has nothing to do with the odd one."""
[SHOP] = volumes_of("shop:30*3~")
PERCENT = "storage-over-provisioning-percentage"
UNREADABLE_PERCENT = setting(PERCENT, "a lot")


class Live(LiveView):
    """A cluster that changes, and an extender that lives long."""

    def __init__(self, *records: Any) -> None:
        self.extender = Extender(GENEROUS)
        super().__init__(*CLUSTER, *OTHER, *records)

    def hold(self, of: Volume) -> Hold:
        """Hold room for the volume of a pod whose node is node-1."""
        made = hold("holder", volumes=[], nodes=["node-1"], only_candidate=True)
        kind = "volumes" if wanted(of).is_local else "remote"
        made = replace(made, **{kind: (wanted(of),)})
        self.extender.ledger.put(made)
        return made

    def ask(self, claim: str = "vol") -> Answer:
        return self.extender.filter(pod(claim, name=claim), NODES, self.view)

    def forecast(self, *records: Any) -> tuple[int, int]:
        """Change objects; return how many replicas find room for sure, and how many none."""
        self.put(*records)
        found = self.ask().forecast
        assert found["open"] == 0
        return found["sure"], found["nowhere"]


def odd(**spec: Any) -> list[Any]:
    """Build a Volume as it stands in JSON, with the claim that is bound to it."""
    fields = {"size": str(10 * GIB), "numberOfReplicas": 1, "dataLocality": "disabled", **spec}
    written = read(document("Volume", "odd", spec=fields))
    return [written, persistent_volume(handle="odd"), claim("odd", persistent_volume="pv")]


# --- what a Volume says ---


COUNTS = ((0, 0), (-1, 0), (None, 0), (1, 1), (20, 20), (21, 20), (2**63 - 1, 20))
"""How many replicas it wants, and how many Longhorn allows."""
LOCALITIES = ("near-by", "", "Best-Effort", None)
"""None that Longhorn knows: then it is attached over the network."""
SPECS: dict[str, tuple[dict[str, Any], int]] = {
    # What it says, and how many of its replicas are due.
    **{f"replicas-{given}": ({"numberOfReplicas": given}, due) for given, due in COUNTS},
    **{
        f"locality-{each}": ({"dataLocality": each, "numberOfReplicas": 2}, 2)
        for each in LOCALITIES
    },
    "size-missing": ({"size": "", "numberOfReplicas": 3}, 0),
}


@pytest.mark.parametrize(("spec", "due"), SPECS.values(), ids=SPECS)
def test_volume_without_status_is_a_new_one_that_counts_for_what_longhorn_allows(spec, due):
    live = Live(*odd(**spec))

    placed = min(due, len(NODES))
    assert live.forecast() == (placed, due - placed)
    assert (live.ask("odd").accepted, live.ask("odd").request.volumes) == (NODES, ())
    assert live.ask().accepted == NODES


@pytest.mark.parametrize("count", ["3", "three", 1.5, 2**63, [], True])
def test_a_volume_with_a_count_that_is_none_is_named(count):
    live = Live(*odd(numberOfReplicas=count))

    with pytest.raises(UnresolvableClaimError, match=r"^Volume odd cannot be read; .*Replicas"):
        live.ask("odd")
    assert live.ask().accepted == NODES


def test_one_that_becomes_unreadable_keeps_what_is_held_for_it():
    """It may be on its way to any disk, and what its replicas take shows on their own."""
    live = Live(*odd(size=str(40 * GIB), numberOfReplicas=3))
    live.hold(*volumes_of("odd:40*3~"))
    before = live.ask()

    live.drop(Volume, "odd")
    live.put(Unreadable(kind="Volume", name="odd", why="is half written"))

    assert live.ask().rejected == before.rejected
    assert before.forecast == {"sure": 3, "open": 0, "nowhere": 0}


def test_replicas_of_a_volume_that_is_not_known_count_where_they_are():
    live = Live(*replicas_of("lost:40@1 lost:40>2 lost:40@"))

    assert live.ask().accepted == [NODES[2]]


# --- what changes while room is held ---


def test_zones_may_come_and_go():
    """With hard zones as many replicas find room as there are zones; no zone is one, too."""
    live = Live()
    live.hold(*volumes_of("shop*3~", zone_soft=False))

    placed = [
        live.forecast(*nodes_of(zones))[0]
        for zones in (
            "1:50 2:50 3:50",
            "1:50@a 2:50 3:50",
            "1:50@a 2:50@b 3:50@c",
            "1:50@a 2:50@b 3:50@b",
            "1:50 2:50 3:50",
        )
    ]

    assert placed == [1, 2, 3, 2, 1]


@pytest.mark.parametrize("is_held", [True, False], ids=["held", "shown"])
def test_settings_may_flip(*, is_held):
    """Three replicas of 30 GiB on three disks of 50; then 20 fit on each."""
    live = Live()
    (live.hold if is_held else live.put)(SHOP)
    assert live.forecast() == (3, 0)
    assert live.ask().accepted == NODES

    found = [
        live.forecast(each)
        for each in (
            setting("replica-zone-soft-anti-affinity", "false"),
            setting("replica-zone-soft-anti-affinity", "true"),
            setting(PERCENT, "50"),
            setting(PERCENT, "100"),
            node("node-2", disk(allow_scheduling=False)),
            setting("replica-soft-anti-affinity", "false"),
            setting(PERCENT, "200"),
            setting("replica-soft-anti-affinity", "true"),
        )
    ]

    assert found == [(1, 2), (3, 0), (0, 3), (3, 0), (2, 1), (2, 1), (2, 1), (3, 0)]


def test_degraded_volumes_may_be_forbidden_under_way():
    name = "allow-volume-creation-with-degraded-availability"
    live = Live(*bound(SHOP), *nodes_of("3:20"))
    assert live.ask("shop").accepted == NODES

    live.put(setting(name, "false"))
    rejected = live.ask("shop").rejected
    assert {type(each) for each in rejected.values()} == {TooFewReplicas}

    live.put(setting(name, "true"))
    assert live.ask("shop").accepted == NODES


def test_what_is_held_outlives_a_setting_that_cannot_be_read():
    """Longhorn places nothing meanwhile. It goes on as soon as the setting is corrected."""
    live = Live(*bound(SHOP))
    live.hold(*volumes_of("big:40*3~"))
    before = live.ask("shop")
    assert {type(each) for each in before.rejected.values()} == {NoRoomAnywhere}

    live.put(UNREADABLE_PERCENT)
    live.extender.ledger.settle(live.view, TIMEOUTS, 1.0)
    assert live.ask().rejected == dict.fromkeys(NODES, SettingUnreadable(setting=PERCENT))

    live.put(setting(PERCENT, "100"))
    live.extender.ledger.settle(live.view, TIMEOUTS, 2.0)
    assert live.ask("shop").rejected == before.rejected


def test_room_is_held_as_well_for_who_asks_meanwhile():
    live = Live(*bound(SHOP), UNREADABLE_PERCENT)

    found = live.ask("shop")
    live.extender.hold(found, Asked(), timeouts=TIMEOUTS, now=0.0)
    live.drop(Volume, "shop")
    live.put(setting(PERCENT, "100"))

    assert found.accepted == NODES
    assert live.ask().forecast == {"sure": 0, "open": 3, "nowhere": 0}


def test_a_hold_ends_though_a_setting_cannot_be_read_if_all_is_placed():
    live = Live(*bound(SHOP), *replicas_of("shop@1 shop@2 shop@3"), UNREADABLE_PERCENT)
    made = live.hold(SHOP)

    ended = live.extender.ledger.settle(live.view, TIMEOUTS, 1.0).ended

    assert [(each.hold, each.why) for each in ended] == [(made, End.CONFIRMED)]


def test_nodes_may_vanish_while_room_is_held_on_them():
    live = Live()
    live.hold(*volumes_of("local:40*2"))
    assert live.ask().rejected.keys() >= {NODES[0]}

    live.drop(Node, *NODES)
    assert live.ask().accepted == []

    live.put(*CLUSTER)
    assert live.ask().rejected.keys() >= {NODES[0]}
