"""Volumes that keep to the zone or region of their pod's node."""

import pytest

from extender import Extender, UnresolvableClaimError
from extender.holds import Asked, Sighting, Timeouts
from extender.verdicts.shortages import NoRoomAnywhere
from longhorn import Node, NodeName, Setting
from tests.builders import (
    GENEROUS,
    GIB,
    ask,
    claim,
    disk,
    node,
    pod,
    setting,
    storage_class,
    view_of,
)

KEYS = setting(
    "csi-allowed-topology-keys", "topology.kubernetes.io/zone,topology.kubernetes.io/region"
)
EVERY_BYTE = setting("storage-minimal-available-percentage", "0")


def place(name: str, zone: str, region: str, gib: int = 100) -> Node:
    return node(name, disk(f"{name}-disk", maximum_bytes=gib * GIB), zone=zone, region=region)


FULL = place("full", "a", "r", 5)
NODES = [FULL, place("compute", "a", "r", 5), place("roomy", "b", "r"), place("far", "c", "s", 5)]
NAMES = [each.name for each in NODES]


def rejected(
    topology: str, *settings: Setting, nodes: list[Node] | None = None, **parameters: str
) -> list[str]:
    """Return the nodes that do not get a pod with a new volume of locality disabled, of 10 GiB."""
    given = {"dataLocality": "disabled", "numberOfReplicas": "1", **parameters}
    class_ = storage_class(volumeTopology=topology, **given)
    view = view_of(*(nodes or NODES), EVERY_BYTE, *(settings or (KEYS,)), class_, claim("vol"))
    answer = ask(view, candidates=sorted(view.spaces))
    assert all(isinstance(why, NoRoomAnywhere) for why in answer.rejected.values())
    assert sorted([*answer.accepted, *answer.rejected]) == sorted(view.spaces)
    return sorted(answer.rejected)


@pytest.mark.parametrize(
    ("topology", "expected"),
    [
        pytest.param("any", [], id="anywhere"),
        pytest.param("", [], id="not-said"),
        pytest.param("zonal", ["compute", "far", "full"], id="zone-without-room"),
        pytest.param("regional", ["far"], id="region-without-room"),
    ],
)
def test_replicas_keep_to_the_place_of_the_pods_node(topology, expected):
    assert rejected(topology) == expected


def test_topology_says_nothing_before_v1_13():
    assert rejected("zonal", KEYS, setting("current-longhorn-version", "v1.12.1")) == []


def test_topology_says_nothing_of_strict_local_volumes():
    class_ = storage_class(
        volumeTopology="zonal", dataLocality="strict-local", numberOfReplicas="1"
    )
    view = view_of(*NODES, EVERY_BYTE, class_, claim("vol"))

    assert ask(view, candidates=NAMES).accepted == ["roomy"]


def test_node_without_a_zone_leaves_the_volume_without_a_place():
    nodes = [place("bare", "", "", 5), *NODES]

    assert "bare" not in rejected("zonal", nodes=nodes)


def test_zone_alone_counts_without_the_region_among_the_keys():
    zone = setting("csi-allowed-topology-keys", "topology.kubernetes.io/zone")
    nodes = [place("here", "a", "r", 5), place("there", "a", "s")]

    assert rejected("zonal", zone, nodes=nodes) == []
    assert rejected("zonal", nodes=nodes) == ["here"]


@pytest.mark.parametrize(
    ("topology", "keys", "text"),
    [
        ("zonal", "", "add topology.kubernetes.io/zone to Longhorn's setting"),
        ("zonal", "topology.kubernetes.io/region", "add topology.kubernetes.io/zone"),
        ("regional", "topology.kubernetes.io/zone", "add topology.kubernetes.io/region"),
        ("Zonal", "topology.kubernetes.io/zone", "use one of"),
    ],
)
def test_topology_that_longhorn_would_refuse(topology, keys, text):
    with pytest.raises(UnresolvableClaimError, match=text):
        rejected(topology, setting("csi-allowed-topology-keys", keys))


@pytest.mark.parametrize("locality", ["disabled", "best-effort", "strict-local"])
def test_zonal_volume_cannot_be_kept_off_its_own_zone(locality):
    with pytest.raises(UnresolvableClaimError, match="replicaZoneSoftAntiAffinity"):
        rejected("zonal", dataLocality=locality, replicaZoneSoftAntiAffinity="disabled")


def test_candidates_of_none_leave_no_answer_to_put_together():
    class_ = storage_class(volumeTopology="zonal", dataLocality="disabled")
    view = view_of(*NODES, KEYS, class_, claim("vol"))

    assert ask(view, candidates=[]).accepted == []


def test_room_is_held_in_the_zone_of_the_node_once_that_is_chosen():
    nodes = [place("a1", "a", "r", 12), place("b1", "b", "r", 12)]
    parameters = {"dataLocality": "disabled", "numberOfReplicas": "1", "volumeTopology": "zonal"}
    claims = claim("one"), claim("two")
    view = view_of(*nodes, EVERY_BYTE, KEYS, storage_class(**parameters), *claims)
    extender, both = Extender(GENEROUS), ["a1", "b1"]
    timeouts = Timeouts(choosing_seconds=5.0, placing_seconds=5.0)
    first = extender.filter(pod("one", name="one"), [*map(NodeName, both)], view)
    extender.hold(first, Asked(), timeouts=timeouts, now=0.0)
    [held] = extender.ledger
    extender.ledger.see(held.pod.uid, Sighting(selected=NodeName("b1")), 1.0)

    second = extender.filter(pod("two", name="two"), [*map(NodeName, both)], view)

    assert first.accepted == both
    assert second.accepted == ["a1"]
