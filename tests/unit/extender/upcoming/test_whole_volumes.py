"""Pods asked about one after another, each of which then goes to some accepted node.

Replicas are placed only where a test says so: else all of them are held and forecast. The checker
tries all ways to put replicas on disks, and shares nothing with the code but the records.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations_with_replacement, product
from random import Random

import msgspec
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from app.kube.resource import AnyRecord
from extender import Answer, ClusterView, Extender, Rejection
from extender.holds import Asked, Timeouts
from extender.kubernetes import PodStatus
from extender.upcoming.forecast import Forecast
from extender.verdicts.shortages import NoRoomAnywhere, PendingReplicas
from longhorn import Locality, Node, NodeName, VolumeName
from tests.builders import (
    GENEROUS,
    GIB,
    bound,
    claim,
    disk,
    node,
    pod,
    replica,
    setting,
    storage_class,
    view_of,
    volume,
)
from tests.effort import examples
from tests.unit.extender.books import forecast_of

TIMEOUTS = Timeouts(choosing_seconds=5.0, placing_seconds=5.0)


class Run:
    """An extender that is asked about one pod after another."""

    def __init__(self, view: ClusterView, random: Random) -> None:
        self.extender = Extender(GENEROUS)
        self.view = view
        self._random = random

    def place(self) -> None:
        """Let Longhorn place all that is held where it is held and forecast."""
        places = [
            (volume.name, hold.node) for hold in self.extender.ledger for volume in hold.volumes
        ]
        for name, there in self.forecast().on.items():
            places += [(each.volume.name, name) for each in there]
        sizes = {name: volume.size_bytes for name, volume in self.view.volumes.items()}
        new = [replica(f"{of}-{on}", of=of, on=on, size_bytes=sizes[of]) for of, on in places]
        old = [*chain(*self.view.replicas.values())]
        known = {each.name for each in old}
        records = [space.node for space in self.view.spaces.values()]
        claims, volumes = self.view.claims.values(), self.view.volumes.values()
        named = [setting(name, value) for name, value in self.view.setting_values.items()]
        bound_to = self.view.persistent_volumes.values()
        self.view = view_of(
            *records,
            *named,
            *claims,
            *volumes,
            *bound_to,
            *old,
            *(each for each in new if each.name not in known),
        )
        self.extender.ledger.settle(self.view, TIMEOUTS, 0.0)

    def ask(
        self, name: str, *claims: str, on: Iterable[str] | None = None
    ) -> tuple[Answer, NodeName | None]:
        """Ask about a pod on some nodes or all; if any are accepted, it goes to one of them."""
        asked = pod(*claims, name=name)
        candidates = sorted(self.view.spaces) if on is None else [NodeName(each) for each in on]
        answer = self.extender.filter(asked, candidates, self.view)
        if not answer.accepted:
            return answer, None
        self.extender.hold(answer, Asked(), timeouts=TIMEOUTS, now=0.0)
        chosen = self._random.choice(answer.accepted)
        status = PodStatus(version=2, node=chosen)
        self.extender.ledger.see_pod(asked.uid, status, self.view.claims, 0.0)
        return answer, chosen

    def forecast(self) -> Forecast:
        """Return the forecast that a pod meets that is asked about now."""
        return forecast_of(self.view, self.extender.ledger)


def hosts(*gib: int, zones: str = "") -> list[Node]:
    """Build nodes of one disk, of these sizes."""
    return [
        node(f"node-{number}", disk(maximum_bytes=size * GIB), zone=zones[number : number + 1])
        for number, size in enumerate(gib)
    ]


HARD, SOFT = "false", "true"


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("nodes", "replicas", "zone_soft", "pods", "expected"),
    [
        pytest.param(hosts(*[300] * 4), 3, SOFT, 16, 4, id="3-on-4-even"),
        pytest.param(hosts(800, 400, 200, 200), 2, SOFT, 12, 8, id="2-on-4-uneven"),
        pytest.param(hosts(*[400] * 3), 3, SOFT, 8, 4, id="3-on-3"),
        pytest.param(hosts(*[300] * 6, zones="aabbcc"), 3, HARD, 16, 6, id="zones-hard"),
        pytest.param(hosts(*[300] * 6, zones="aabbcc"), 3, SOFT, 16, 6, id="zones-soft"),
        pytest.param(hosts(*[300] * 2), 3, SOFT, 6, 3, id="3-on-2"),
        pytest.param(hosts(*[300] * 4, zones="aabb"), 3, HARD, 16, 6, id="3-in-2-zones"),
        pytest.param(hosts(*[1000] * 10), 3, SOFT, 36, 34, id="the-last-one-degraded"),
    ],
)
def test_as_many_pods_are_accepted_as_whole_volumes_fit(
    nodes, replicas, zone_soft, pods, expected, seed
):
    """Volumes of 100 GiB, each with a replica on its pod's node; what fits nowhere is left out.

    The last pods wait for the replicas that are in flight: more of these may come than is forecast.
    """
    names = [f"vol-{number}" for number in range(pods)]
    of = [volume(name, size_bytes=100 * GIB, replicas=replicas) for name in names]
    view = view_of(*nodes, *bound(*of), setting("replica-zone-soft-anti-affinity", zone_soft))
    run = Run(view, Random(seed))

    answers = []
    for name in names:
        answer, _ = run.ask(name, name)
        if not answer.accepted and PendingReplicas() in answer.rejected.values():
            run.place()
            answer, _ = run.ask(name, name)
        answers.append(answer)

    accepted = sum(bool(each.accepted) for each in answers)
    assert accepted in (expected, expected + 1)
    run.place()
    placed = sum(len(each) for each in run.view.replicas.values())
    assert placed * 100 <= sum(disk.maximum_bytes // GIB for node in nodes for disk in node.disks)
    for space in run.view.spaces.values():
        assert all(bin_.logical_bytes >= 0 for bin_ in space.bins)


@pytest.mark.parametrize("seed", range(4))
def test_volumes_without_locality_that_do_not_exist_yet_take_room_as_well(seed):
    names = [f"data-{number}" for number in range(5)]
    claims = [claim(name, size_bytes=100 * GIB, storage_class="remote") for name in names]
    remote = storage_class("remote", dataLocality="disabled", numberOfReplicas="3")
    view = view_of(*hosts(*[300] * 4), remote, *claims)
    run = Run(view, Random(seed))

    answers = [run.ask(name, name)[0] for name in names]

    assert [len(each.accepted) for each in answers] == [4, 4, 4, 4, 0]
    nowhere = NoRoomAnywhere(size_bytes=100 * GIB, by_open=False)
    assert answers[-1].rejected == dict.fromkeys(view.spaces, nowhere)


def test_what_a_volume_lacks_keeps_its_room_when_its_pod_goes_back_to_its_data():
    """Longhorn makes the second replica once the volume is attached: nothing shows it before."""
    view = view_of(
        *hosts(3, 3),
        *bound(volume("old", size_bytes=2 * GIB, replicas=2), volume("new", size_bytes=2 * GIB)),
        replica(of="old", on="node-0", size_bytes=2 * GIB),
    )
    run = Run(view, Random(0))
    _, chosen = run.ask("first", "old")

    answer, _ = run.ask("second", "new")

    assert chosen == "node-0"
    assert answer.accepted == []


# --- any small cluster ---


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """A volume that a pod will have, of so many GiB."""

    name: str
    size: int
    replicas: int
    locality: Locality
    selector: str = ""
    soft: bool | None = None
    zone_soft: bool | None = None

    @property
    def has_local(self) -> bool:
        return self.locality is not Locality.DISABLED

    @property
    def count(self) -> int:
        """How many replicas may go anywhere."""
        return self.replicas - self.has_local

    @property
    def volume(self) -> VolumeName:
        return VolumeName(f"pvc-uid-{self.name}")

    @property
    def records(self) -> list[AnyRecord]:
        """A claim that is not bound, with a class of its own."""
        words = {None: "ignored", True: "enabled", False: "disabled"}
        parameters = {
            "dataLocality": self.locality.value,
            "numberOfReplicas": str(self.replicas),
            "replicaSoftAntiAffinity": words[self.soft],
            "replicaZoneSoftAntiAffinity": words[self.zone_soft],
        }
        if self.selector:
            parameters["diskSelector"] = self.selector
        of = storage_class(f"class-{self.name}", **parameters)
        return [of, claim(self.name, size_bytes=self.size * GIB, storage_class=of.name)]


class Placed(msgspec.Struct, frozen=True, kw_only=True):
    """What is to find room of one volume: one replica on a node, and others anywhere."""

    of: Wanted
    local: str | None
    anywhere: int


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    nodes: tuple[Node, ...]
    pods: tuple[tuple[Wanted, ...], ...]
    allow_empty: bool
    """Whether a volume without selector may go to disks with tags."""


Disks = Sequence[tuple[str, str, frozenset[str]]]
"""Node, zone and tags of each disk."""


class Checker:
    """Tries all ways to put replicas on disks; a state is what is left of each disk, in GiB."""

    def __init__(self, situation: Situation) -> None:
        self._allow_empty = situation.allow_empty
        self._disks: Disks = [
            (str(node.name), node.zone, disk.tags)
            for node in situation.nodes
            for disk in node.disks
        ]
        self._rooms = tuple(
            disk.maximum_bytes // GIB for node in situation.nodes for disk in node.disks
        )

    def fits(self, what: Iterable[Placed]) -> bool:
        """Say whether there is room for all of it together."""
        states = {self._rooms}
        # What has fewest ways first, so that there are few states.
        for each in sorted(what, key=lambda one: (one.anywhere, -one.of.size)):
            ways = [*self._ways(each)]
            states = {
                after
                for state in states
                for way in ways
                for after in [_less(state, way, each.of.size)]
                if min(after) >= 0
            }
        return bool(states)

    def _ways(self, what: Placed) -> Iterator[tuple[int, ...]]:
        """Yield the disks of all replicas of a volume, all ways that anti-affinity allows."""
        suiting = [
            index for index, (_, _, tags) in enumerate(self._disks) if self._suits(what, tags)
        ]
        local = [index for index in suiting if self._disks[index][0] == what.local]
        firsts = [(index,) for index in local] if what.local is not None else [()]
        for first, rest in product(firsts, combinations_with_replacement(suiting, what.anywhere)):
            way = (*first, *rest)
            nodes = [self._disks[index][0] for index in way]
            zones = [self._disks[index][1] for index in way]
            if not what.of.soft and len({*nodes}) < len(nodes):
                continue
            if what.of.zone_soft is False and len({*zones}) < len(zones):
                continue
            yield way

    def _suits(self, what: Placed, tags: frozenset[str]) -> bool:
        if what.of.selector:
            return what.of.selector in tags
        return self._allow_empty or not tags


def _less(state: tuple[int, ...], way: Iterable[int], size: int) -> tuple[int, ...]:
    left = [*state]
    for index in way:
        left[index] -= size
    return tuple(left)


tags = st.sampled_from([[], [], [], ["ssd"], ["nvme"], ["ssd", "nvme"]])


@st.composite
def situations(draw: st.DrawFn) -> Situation:
    """Draw two to four nodes of one or two disks, and two to four pods of one or two claims."""
    nodes = [
        node(
            f"node-{number}",
            *(
                disk(f"disk-{n}", maximum_bytes=draw(st.integers(1, 5)) * GIB, tags=draw(tags))
                for n in range(draw(st.sampled_from([1, 1, 2])))
            ),
            zone=draw(st.sampled_from("aab")),
        )
        for number in range(draw(st.integers(2, 4)))
    ]
    known = {tag for node in nodes for disk in node.disks for tag in disk.tags}
    selectors = st.sampled_from(["", "", *sorted(known)])
    pods = [
        tuple(draw(asked(f"data-{number}-{n}", selectors)) for n in range(draw(st.integers(1, 2))))
        for number in range(draw(st.integers(2, 4)))
    ]
    return Situation(nodes=tuple(nodes), pods=tuple(pods), allow_empty=draw(st.booleans()))


@st.composite
def asked(draw: st.DrawFn, name: str, selectors: st.SearchStrategy[str]) -> Wanted:
    locality = draw(st.sampled_from([Locality.BEST_EFFORT, *Locality]))
    return Wanted(
        name=name,
        size=draw(st.sampled_from([1, 1, 2, 3])),
        replicas=1 if locality is Locality.STRICT_LOCAL else draw(st.integers(1, 3)),
        locality=locality,
        selector=draw(selectors),
        soft=draw(st.sampled_from([None, None, True])),
        zone_soft=draw(st.sampled_from([None, None, False])),
    )


def placed_now(run: Run, held: Mapping[str, tuple[Wanted, NodeName]]) -> list[Placed]:
    """Return what is held, and of what is forecast as much as finds room."""
    forecast = run.forecast()
    remotes = [each.volume.name for each in chain(*forecast.on.values())]
    found = []
    for of, chosen in held.values():
        anywhere = remotes.count(of.volume)
        assert anywhere + forecast.nowhere.get(of.volume, 0) == of.count
        found.append(Placed(of=of, local=chosen if of.has_local else None, anywhere=anywhere))
    return found


def check_sums(run: Run, held: Mapping[str, tuple[Wanted, NodeName]], checker: Checker) -> None:
    """Check that every node takes what is held and forecast there."""
    by_volume = {of.volume: of for of, _ in held.values()}
    forecast = run.forecast()
    for name in run.view.spaces:
        there = [of for of, chosen in held.values() if of.has_local and chosen == name]
        there += [by_volume[each.volume.name] for each in forecast.on.get(name, ())]
        items = [Placed(of=each, local=name, anywhere=0) for each in there]
        assert checker.fits(items), f"more than {name} takes"


def local_on(name: str, of: Sequence[Wanted]) -> list[Placed]:
    """Return what a pod must have on a node."""
    return [Placed(of=each, local=name, anywhere=0) for each in of if each.has_local]


def needed(of: Sequence[Wanted]) -> list[Placed]:
    """Return what it needs anywhere to start."""
    return [Placed(of=each, local=None, anywhere=1) for each in of if not each.has_local]


@settings(max_examples=examples(300), suppress_health_check=[HealthCheck.too_slow])
@given(situations(), st.randoms(use_true_random=False))
def test_where_a_node_is_accepted_trying_everything_finds_room(situation, random):
    """The pod's local replicas fit beside all that found room before, and its others start."""
    records = [record for of in chain(*situation.pods) for record in of.records]
    empty = setting("allow-empty-disk-selector-volume", str(situation.allow_empty).lower())
    run, checker = Run(view_of(*situation.nodes, *records, empty), random), Checker(situation)
    held: dict[str, tuple[Wanted, NodeName]] = {}
    for number, of in enumerate(situation.pods):
        before = placed_now(run, held)

        answer, chosen = run.ask(f"pod-{number}", *(each.name for each in of))

        for name in run.view.spaces:
            check_verdict(answer, name, of, before, checker)
        if chosen is not None:
            held |= {each.name: (each, chosen) for each in of}
            check_sums(run, held, checker)
    event(f"{len(held)} volumes held")


def check_verdict(
    answer: Answer, name: NodeName, of: Sequence[Wanted], before: Sequence[Placed], checker: Checker
) -> None:
    why: Rejection | None = answer.rejected.get(name)
    event("accepted" if why is None else f"rejected: {why.reason}")
    if why is None:
        assert checker.fits([*before, *local_on(name, of)]), f"{name} is accepted"
        assert checker.fits([*before, *local_on(name, of), *needed(of)])
