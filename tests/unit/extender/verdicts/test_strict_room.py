"""Strict-local replicas keep their room while Longhorn places others, in whatever order it does.

Longhorn is taken at its word: it knows of all that it has placed, and of the nodes that come first
for a replica it takes the one with the most unused bytes.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import chain
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from app.kube.resource import AnyRecord
from extender import ClusterView, Extender, StepLimits
from extender.holds import Asked, Timeouts
from extender.kubernetes import PodStatus
from extender.verdicts.shortages import LocalRoomAtRisk, PackingUndecided
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
    replicas_of,
    setting,
    view_of,
    volume,
    volumes_of,
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
        given = {"pinned_to": pinned_to, "size_bytes": of.size_bytes}
        words = " ".join([f"{of.name}@/new"] * of.wanted_replicas)
        return self._replicas.get(of) or replicas_of(words, **given)

    def _next(self, of: Volume) -> Replica | None:
        return next((each for each in self.replicas(of) if each.node is None), None)

    def place(self, of: Volume) -> None:
        """Make the volume's Replica objects, or place the next of them, the local one first."""
        attached = replace(of, node=self.node_of[of])
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
        placed = replace(new, node=to.node, disk=to.disk)
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
        volumes = [replace(each, size_bytes=50 * GIB) for each in volumes]
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
def test_strict_local_room_is_never_lost(disks):
    assert strict_lost(seeds=SEEDS, disks=disks) == {}


@pytest.mark.parametrize("alike", [False, True])
def test_strict_local_room_is_never_lost_in_larger_clusters(alike):
    """There are enough other nodes for the replicas that could do harm."""
    sizes: dict[str, Any] = {"nodes": (6, 12), "pods": (8, 24)}

    assert strict_lost(seeds=range(30), disks=1, alike=alike, **sizes) == {}


NAMES = [NodeName("node-1"), NodeName("node-2")]


def hold(extender: Extender, view: ClusterView, name: str, nodes: Sequence[NodeName]) -> None:
    accepted = extender.filter(pod(name, name="first"), nodes, view)
    extender.hold(accepted, Asked(), timeouts=TIMEOUTS, now=0.0)


def choose(extender: Extender, view: ClusterView) -> None:
    """Let kube-scheduler give the first pod node-1."""
    status = PodStatus(version=2, node=NAMES[0])
    extender.ledger.see_pod(pod(name="first").uid, status, view.claims, 0.0)


@pytest.mark.parametrize("chosen", [False, True])
@pytest.mark.parametrize(
    ("local", "other", "is_at_risk"),
    [
        pytest.param("local:50!", "any:60~", True, id="replicas-that-may-take-it-wait"),
        pytest.param("local:50", "any:60~", False, id="best-effort-goes-elsewhere"),
        pytest.param("local:50!", "any:50~", False, id="replicas-that-leave-room-do-not-wait"),
    ],
)
def test_room_of_a_strict_local_volume_is_waited_for(local, other, is_at_risk, chosen):
    """A pod with a local volume gets node-1, and one with another volume is asked about."""
    extender, known = Extender(GENEROUS), [host(1, 100), host(2, 100), host(3, 70), EVERY_BYTE]
    own = bound(*volumes_of(local))
    view = view_of(*known, *own, *bound(*volumes_of(other)))
    hold(extender, view_of(*known, *own), "local", NAMES)
    if chosen:
        choose(extender, view)

    answer = extender.filter(pod("any", name="second"), NAMES, view)

    why = LocalRoomAtRisk(by_open=not chosen)
    assert answer.rejected == (dict.fromkeys(NAMES, why) if is_at_risk else {})
    assert answer.is_open is (is_at_risk and not chosen)


def test_replicas_too_large_for_the_node_of_a_strict_local_one_do_not_wait():
    extender, big = Extender(GENEROUS), replace(host(2, 100), tags=frozenset("a"))
    volumes = *volumes_of("local:10!"), *volumes_of("any:60~", node_selector=["a"])
    view = view_of(host(1, 15), big, EVERY_BYTE, *bound(*volumes))
    hold(extender, view, "local", NAMES[:1])

    assert extender.filter(pod("any", name="second"), NAMES, view).accepted == NAMES


@pytest.mark.parametrize("is_granted", [False, True], ids=["asking", "granted"])
def test_local_replica_that_its_disk_may_refuse_yet_may_lose_its_room(is_granted):
    extender, local = Extender(GENEROUS), bound(*volumes_of("local:15!"))
    asks, known = {"local-r-1": 15 * GIB}, [host(1, 20, 13), EVERY_BYTE, *local]
    schedule = disk_schedule("disk-1-0", asks=asks, granted=asks if is_granted else {})
    hold(extender, view_of(*known), "local", NAMES[:1])
    placed = replicas_of("local:15@1/new", disk="disk-1-0")
    view = view_of(*known, schedule, *bound(*volumes_of("any~")), *placed)
    choose(extender, view)
    if is_granted:
        extender.ledger.settle(view, TIMEOUTS, 0.0)

    answer = extender.filter(pod("any", name="second"), NAMES[:1], view)

    assert bool(answer.accepted) is is_granted


def pair(*, soft: bool) -> list[Volume]:
    return [*volumes_of("a:40*2", soft=soft), *volumes_of("b:85!")]


def filling(listed: dict[str, int]) -> list[AnyRecord]:
    """Build a node where a replica of 45 GiB has no room beside that of 19, just placed."""
    return [
        node("node-1", disk(maximum_bytes=60 * GIB, available_bytes=60 * GIB, listed=listed)),
        *volumes_of("new:19~ waits:45~"),
        *replicas_of("new:19@1/new"),
    ]


MANY = [*volumes_of("a:100!"), *volumes_of("b:20*4~", soft=True)]
"""On the node of the strict-local one these would leave too little together, one does not."""
ROWS: dict[str, tuple[list[AnyRecord], list[Volume], str]] = {
    # The cluster, the pod's volumes, and the numbers of the nodes that are accepted.
    "node-that-the-own-replica-may-fill-for-best-effort": (
        [host(1, 100), host(2, 90)], volumes_of("a:80 b:80~"), "1 2"),
    "node-that-the-own-replica-may-fill-for-strict-local": (
        [host(1, 100), host(2, 90)], volumes_of("a:80! b:80~"), ""),
    "replica-beside-the-local-one-may-share-its-node": (
        [host(1, 130, 45), host(2, 10)], pair(soft=True), ""),
    "replica-beside-the-local-one-must-go-elsewhere": (
        [host(1, 130, 45), host(2, 10)], pair(soft=False), "1"),
    "room-that-longhorn-sees-though-there-is-none": (filling({}), volumes_of("a:33!"), ""),
    "room-that-longhorn-sees-rightly": (
        filling({"new-r-1": 19 * GIB}), volumes_of("a:33!"), "1"),
    "replicas-come-to-one-node-where-no-other-is-left": ([host(0, 150), host(1, 60)], MANY, ""),
    "replicas-come-to-nodes-of-their-own": (
        [host(0, 150), *(host(number, 60) for number in (1, 2, 3))], MANY, "0"),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_nodes_for_a_pod_with_a_strict_local_volume(name):
    records, own, accepted = ROWS[name]
    view = view_of(*records, *bound(*own), EVERY_BYTE)

    found = ask(view, *(each.name for each in own)).accepted

    assert found == [f"node-{number}" for number in accepted.split()]


@pytest.mark.parametrize(("steps", "rejected"), [(2, {"node-1": PackingUndecided()}), (3, {})])
def test_local_room_takes_steps_of_the_request(steps, rejected):
    records, own, _accepted = ROWS["room-that-longhorn-sees-rightly"]
    view = view_of(*records, *bound(*own), EVERY_BYTE)

    found = ask(view, "a", limits=StepLimits(per_node=100, per_request=steps))

    assert found.rejected == rejected


@pytest.mark.parametrize("name", ["node-0", "node-1"])
def test_second_replica_never_comes_to_a_node_that_a_volume_may_not_use_twice(name):
    """Of the other volume one replica is due: it may come to each node but the one with another."""
    nodes, replicas = [host(0, 160), host(1, 100), host(2, 100)], replicas_of("other:60@0")
    due = replica("other-r-2", of="other", on="", size_bytes=60 * GIB, healthy_once=False)
    volumes = *volumes_of("other:60*2~"), *bound(*volumes_of("vol:60!"))

    view = view_of(*nodes, *replicas, due, *volumes, EVERY_BYTE)

    expected = {} if name == "node-0" else {name: LocalRoomAtRisk()}
    assert ask(view, candidates=[name]).rejected == expected
