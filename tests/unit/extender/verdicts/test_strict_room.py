"""Strict-local replicas keep their room while Longhorn places others, in whatever order it does.

Longhorn is taken at its word: it knows of all that it has placed, and of the nodes that come first
for a replica it takes the one with the most unused bytes.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import chain
from random import Random
from typing import Any

import msgspec
import pytest
from msgspec import structs

from extender import Answer, ClusterView, Extender
from extender.holds import Asked, Timeouts
from extender.kubernetes import PodStatus
from extender.verdicts.shortages import LocalRoomAtRisk
from longhorn import (
    Candidate,
    Candidates,
    Locality,
    Node,
    NodeName,
    Replica,
    Volume,
    find_candidates,
)
from tests.builders import (
    GENEROUS,
    GIB,
    ask,
    bound,
    disk,
    disk_schedule,
    node,
    pod,
    replica,
    setting,
    view_of,
    volume,
)

TIMEOUTS = Timeouts(choosing_seconds=5.0, placing_seconds=5.0)
NOW = datetime(2026, 1, 1, tzinfo=UTC)
EVERY_BYTE = setting("storage-minimal-available-percentage", "0")


def host(number: int, *gib: int, zone: str = "") -> Node:
    """Build a node with disks like no other, so that Longhorn's choice is never arbitrary."""
    disks = [
        disk(f"disk-{number}-{of}", maximum_bytes=size * GIB + 2 ** (2 * number + of))
        for of, size in enumerate(gib)
    ]
    return node(f"node-{number}", *disks, zone=zone)


def most_unused(found: Candidates) -> Candidate:
    """Return the disk with the most unused bytes on the node with the most."""
    name = max(sorted(found.preferred), key=lambda each: found.preferred[each].level.total)
    unused = found.preferred[name].unused_bytes
    return Candidate(name, max(sorted(unused), key=unused.__getitem__))


class Cluster:
    """Pods are asked about one after another, and Longhorn places their volumes meanwhile."""

    def __init__(self, nodes: Sequence[Node], volumes: Sequence[Volume]) -> None:
        self.extender = Extender(GENEROUS)
        self.node_of: dict[Volume, NodeName] = {}
        """Where the pod went that uses the volume alone."""
        self._records = [*nodes, *bound(*volumes), EVERY_BYTE]
        self._replicas: dict[Volume, list[Replica]] = {}
        self._stuck: set[Volume] = set()

    @property
    def view(self) -> ClusterView:
        return view_of(*self._records, *chain(*self._replicas.values()))

    def ask(self, of: Volume, random: Random) -> bool:
        """Ask about a pod with a volume; if nodes are accepted, it goes to one of them."""
        asked, view = pod(of.name, name=of.name), self.view
        answer = self.extender.filter(asked, sorted(view.spaces), view)
        if answer.accepted:
            self.extender.hold(answer, Asked(), timeouts=TIMEOUTS, now=0.0)
            self.node_of[of] = random.choice(answer.accepted)
            self.extender.ledger.see_pod(
                asked.uid, PodStatus(version=2, node=self.node_of[of]), view.claims, 0.0
            )
        return bool(answer.accepted)

    def unplaced(self) -> list[Volume]:
        """Return the volumes that Longhorn still places replicas of."""
        return [of for of in self.node_of if self._next(of) is not None and of not in self._stuck]

    def replicas(self, of: Volume) -> list[Replica]:
        """Return the volume's Replica objects: Longhorn makes all of them at once."""
        pinned_to = self.node_of[of] if of.locality is Locality.STRICT_LOCAL else None
        return self._replicas.get(of) or [
            replica(
                f"{of.name}-{number}",
                of=of.name,
                on="",
                pinned_to=pinned_to,
                size_bytes=of.size_bytes,
                healthy_once=False,
            )
            for number in range(of.wanted_replicas)
        ]

    def _next(self, of: Volume) -> Replica | None:
        return next((each for each in self.replicas(of) if each.node is None), None)

    def place(self, of: Volume) -> None:
        """Make the volume's Replica objects, or place the next of them, the local one first."""
        attached = msgspec.structs.replace(of, node=self.node_of[of])
        if of not in self._replicas:
            self._replicas[of] = self.replicas(of)
            return
        replicas, new, view = self.replicas(of), self._next(of), self.view
        assert new is not None
        found = find_candidates(new, attached, replicas, view, NOW)
        if not found.preferred:
            self._stuck.add(of)
            return
        to = most_unused(found)
        placed = msgspec.structs.replace(new, node=to.node, disk=to.disk)
        self._replicas[of] = [placed if each is new else each for each in replicas]
        self.extender.ledger.settle(self.view, TIMEOUTS, 0.0)

    def without_local(self) -> list[Volume]:
        """Return the volumes of which nothing is where their pod is, though it must be."""
        return [
            of
            for of, on in self.node_of.items()
            if of.locality is not Locality.DISABLED
            and on not in {each.node for each in self.replicas(of)}
        ]


SEEDS = [*range(150), 2042, 2421, 11656, 13317]
"""The last ones have each found a mistake."""
LOCALITIES = [Locality.BEST_EFFORT] * 3 + [Locality.DISABLED, Locality.STRICT_LOCAL]


def draw_volume(name: str, random: Random) -> Volume:
    locality = random.choice(LOCALITIES)
    return volume(
        name,
        size_bytes=random.randint(4, 12) * 10 * GIB,
        locality=locality,
        replicas=1 if locality is Locality.STRICT_LOCAL else random.randint(1, 3),
        zone_soft=random.random() < 0.5,
    )


def lost(
    seed: int,
    *,
    disks: int,
    nodes: tuple[int, int] = (2, 5),
    pods: tuple[int, int] = (2, 6),
    alike: bool = False,
) -> list[Volume]:
    """Ask about pods while Longhorn places; return the volumes that lost their local room.

    Args:
        seed: What is drawn.
        disks: Most disks of a node.
        nodes: The fewest and the most nodes.
        pods: The fewest and the most pods.
        alike: Whether nodes and volumes have each the same size, as in many clusters.
    """
    random = Random(seed)
    zones = random.choice(["", "ab", "abc"])
    hosts = [
        host(
            number,
            *(10 * random.randint(8, 60) for _ in range(random.randint(1, disks))),
            zone=random.choice(zones) if zones else "",
        )
        for number in range(random.randint(*nodes))
    ]
    volumes = [draw_volume(f"volume-{number}", random) for number in range(random.randint(*pods))]
    if alike:
        hosts = [host(n, 500, zone=each.zone) for n, each in enumerate(hosts)]
        volumes = [msgspec.structs.replace(each, size_bytes=50 * GIB) for each in volumes]
    cluster = Cluster(hosts, volumes)
    for of in volumes:
        cluster.ask(of, random)
        while (unplaced := cluster.unplaced()) and random.random() < 0.3:
            cluster.place(random.choice(unplaced))
    while unplaced := cluster.unplaced():
        cluster.place(random.choice(unplaced))
    return cluster.without_local()


def strict_lost(*, seeds: Sequence[int], **how: Any) -> dict[int, list[Volume]]:
    """Return the strict-local volumes that lose their room, by seed."""
    found = {
        seed: [of for of in lost(seed, **how) if of.locality is Locality.STRICT_LOCAL]
        for seed in seeds
    }
    return {seed: of for seed, of in found.items() if of}


@pytest.mark.parametrize("disks", [1, 2])
def test_no_strict_local_room_is_lost(disks: int) -> None:
    assert strict_lost(seeds=SEEDS, disks=disks) == {}


@pytest.mark.parametrize("alike", [False, True])
def test_no_strict_local_room_is_lost_in_larger_clusters(*, alike: bool) -> None:
    """There are enough other nodes for the replicas that could do harm."""
    sizes: dict[str, Any] = {"nodes": (6, 12), "pods": (8, 24)}

    assert strict_lost(seeds=range(30), disks=1, alike=alike, **sizes) == {}


def ask_after(local: Volume, *others: Volume, chosen: bool) -> Answer:
    """Give a pod with a local volume node-1, and ask about one with other volumes."""
    extender, nodes = Extender(GENEROUS), [NodeName("node-1"), NodeName("node-2")]
    known = [host(1, 100), host(2, 100), host(3, 70), EVERY_BYTE, *bound(local)]
    before, view = view_of(*known), view_of(*known, *bound(*others))
    first = pod("local", name="first")
    accepted = extender.filter(first, nodes, before)
    extender.hold(accepted, Asked(), timeouts=TIMEOUTS, now=0.0)
    if chosen:
        extender.ledger.see_pod(first.uid, PodStatus(version=2, node=nodes[0]), view.claims, 0.0)
    return extender.filter(pod(*(each.name for each in others), name="second"), nodes, view)


@pytest.mark.parametrize("chosen", [False, True])
def test_replicas_that_may_take_the_room_of_a_strict_local_one_wait_for_it(*, chosen: bool) -> None:
    local = volume("local", size_bytes=50 * GIB, locality=Locality.STRICT_LOCAL)
    anywhere = volume("anywhere", size_bytes=60 * GIB, locality=Locality.DISABLED)

    answer = ask_after(local, anywhere, chosen=chosen)

    assert set(answer.rejected.values()) == {LocalRoomAtRisk(by_open=not chosen)}
    assert not answer.accepted
    assert answer.is_open is not chosen


@pytest.mark.parametrize("chosen", [False, True])
def test_nobody_waits_for_what_longhorn_places_elsewhere(*, chosen: bool) -> None:
    local = volume("local", size_bytes=50 * GIB, locality=Locality.BEST_EFFORT)
    anywhere = volume("anywhere", size_bytes=60 * GIB, locality=Locality.DISABLED)

    assert len(ask_after(local, anywhere, chosen=chosen).accepted) == 2


@pytest.mark.parametrize("chosen", [False, True])
def test_replicas_that_leave_room_for_a_strict_local_one_do_not_wait(*, chosen: bool) -> None:
    local = volume("local", size_bytes=50 * GIB, locality=Locality.STRICT_LOCAL)
    anywhere = volume("anywhere", size_bytes=50 * GIB, locality=Locality.DISABLED)

    assert len(ask_after(local, anywhere, chosen=chosen).accepted) == 2


def test_replicas_too_large_for_the_node_of_a_strict_local_one_do_not_wait() -> None:
    local = volume("local", size_bytes=10 * GIB, locality=Locality.STRICT_LOCAL)
    tagged = volume(
        "anywhere", size_bytes=60 * GIB, locality=Locality.DISABLED, node_selector=["a"]
    )
    extender, names = Extender(GENEROUS), [NodeName("node-1"), NodeName("node-2")]
    big = structs.replace(host(2, 100), tags=frozenset("a"))
    view = view_of(host(1, 15), big, EVERY_BYTE, *bound(local, tagged))
    first = extender.filter(pod("local", name="first"), names[:1], view)
    extender.hold(first, Asked(), timeouts=TIMEOUTS, now=0.0)

    assert extender.filter(pod("anywhere", name="second"), names, view).accepted == names


@pytest.mark.parametrize(
    ("locality", "is_accepted"), [(Locality.BEST_EFFORT, True), (Locality.STRICT_LOCAL, False)]
)
def test_a_pod_is_not_tied_to_a_node_that_its_own_replicas_may_fill(
    locality: Locality, *, is_accepted: bool
) -> None:
    volumes = [
        volume("local", size_bytes=80 * GIB, locality=locality),
        volume("anywhere", size_bytes=80 * GIB, locality=Locality.DISABLED),
    ]
    cluster = Cluster([host(1, 100), host(2, 90)], volumes)
    both = pod("local", "anywhere")

    answer = cluster.extender.filter(both, sorted(cluster.view.spaces), cluster.view)

    assert bool(answer.accepted) is is_accepted


@pytest.mark.parametrize(("soft", "is_accepted"), [(True, False), (False, True)])
def test_a_second_replica_beside_the_local_one_could_take_strict_local_room(
    *, soft: bool, is_accepted: bool
) -> None:
    volumes = [
        volume("pair", size_bytes=40 * GIB, replicas=2, soft=soft),
        volume("strict", size_bytes=85 * GIB, locality=Locality.STRICT_LOCAL),
    ]
    cluster = Cluster([host(1, 130, 45), host(2, 10)], volumes)

    answer = cluster.extender.filter(pod("pair", "strict"), [NodeName("node-1")], cluster.view)

    assert bool(answer.accepted) is is_accepted


@pytest.mark.parametrize(
    ("is_granted", "is_accepted"), [(False, False), (True, True)], ids=["asking", "granted"]
)
def test_a_local_replica_whose_disk_may_refuse_it_yet_may_lose_its_room(
    *, is_granted: bool, is_accepted: bool
) -> None:
    extender, names = Extender(GENEROUS), [NodeName("node-1")]
    local = volume("local", size_bytes=15 * GIB, locality=Locality.STRICT_LOCAL)
    anywhere = volume("anywhere", size_bytes=10 * GIB, locality=Locality.DISABLED)
    asks = {"local-r-1": 15 * GIB}
    schedule = disk_schedule("disk-1-0", asks=asks, granted=asks if is_granted else {})
    nodes = host(1, 20, 13)
    first = pod("local", name="first")
    before = view_of(nodes, EVERY_BYTE, *bound(local))
    extender.hold(extender.filter(first, names, before), Asked(), timeouts=TIMEOUTS, now=0.0)
    placed = replica(
        "local-r-1", of="local", disk="disk-1-0", size_bytes=15 * GIB, healthy_once=False
    )
    view = view_of(nodes, EVERY_BYTE, schedule, *bound(local, anywhere), placed)
    extender.ledger.see_pod(first.uid, PodStatus(version=2, node=names[0]), view.claims, 0.0)
    if is_granted:
        extender.ledger.settle(view, TIMEOUTS, 0.0)

    answer = extender.filter(pod("anywhere", name="second"), names, view)

    assert bool(answer.accepted) is is_accepted


@pytest.mark.parametrize(
    ("listed", "accepted"),
    [
        pytest.param({}, [], id="not-seen-yet"),
        pytest.param({"new-r-1": 19 * GIB}, ["node-1"], id="seen"),
    ],
)
def test_strict_local_room_is_not_given_while_longhorn_sees_room_that_there_is_not(
    listed: dict[str, int], accepted: list[str]
) -> None:
    """A replica of 45 GiB has no room beside that of 19, which Longhorn has just placed."""
    of = disk(maximum_bytes=60 * GIB, available_bytes=60 * GIB, listed=listed)
    view = view_of(
        node("node-1", of),
        setting("storage-minimal-available-percentage", "0"),
        volume("new", size_bytes=19 * GIB, locality=Locality.DISABLED),
        replica("new-r-1", of="new", size_bytes=19 * GIB, healthy_once=False),
        volume("waits", size_bytes=45 * GIB, locality=Locality.DISABLED),
        *bound(volume("vol", size_bytes=33 * GIB, locality=Locality.STRICT_LOCAL)),
    )

    assert ask(view, candidates=["node-1"]).accepted == accepted


@pytest.mark.parametrize(("others", "expected"), [(3, ["node-0"]), (1, [])], ids=["fresh", "none"])
def test_replicas_of_one_volume_come_to_one_node_only_where_no_other_is_left(
    others: int, expected: list[str]
) -> None:
    """On the node of the strict-local one they would leave too little together, one does not."""
    strict = volume("strict", size_bytes=100 * GIB, locality=Locality.STRICT_LOCAL, replicas=1)
    soft = volume("soft", size_bytes=20 * GIB, locality=Locality.DISABLED, replicas=4, soft=True)
    nodes = [host(0, 150), *(host(number, 60) for number in range(1, 1 + others))]

    assert (
        ask(view_of(*nodes, *bound(strict, soft), EVERY_BYTE), "strict", "soft").accepted
        == expected
    )


@pytest.mark.parametrize("name", ["node-0", "node-1"])
def test_no_second_replica_comes_to_a_node_that_a_volume_may_not_use_twice(name: str) -> None:
    """Of the other volume one replica is due: it may come to each node but the one with another."""
    other = volume("other", size_bytes=60 * GIB, locality=Locality.DISABLED, replicas=2)
    there = replica("other-r-1", of="other", on="node-0", size_bytes=60 * GIB)
    due = replica("other-r-2", of="other", on="", size_bytes=60 * GIB, healthy_once=False)
    own = volume(size_bytes=60 * GIB, locality=Locality.STRICT_LOCAL)
    nodes = [host(0, 160), host(1, 100), host(2, 100)]

    view = view_of(*nodes, other, there, due, *bound(own), EVERY_BYTE)

    expected = {} if name == "node-0" else {name: LocalRoomAtRisk()}
    assert ask(view, candidates=[name]).rejected == expected
