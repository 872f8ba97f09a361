"""The ledger against a model that forgets nothing and works all out anew from what happened.

The model is a list of everything that was told the ledger or done by Longhorn, in order. What
stands, where, and what has ended and why follows from the whole list each time; nothing of
`extender.holds.hold` is used for it.
"""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from extender.holds.deadlines import Timeouts
from extender.holds.evidence import volumes_still_held
from extender.holds.hold import End, Ended, Outcome, Sighting, State
from extender.holds.ledger import Ledger
from extender.view import ClusterView
from extender.view_builder import ViewBuilder
from longhorn import NodeName, Replica, VolumeName
from tests.builders import hold, replica
from tests.effort import examples

Event = Mapping[str, Any]
Kept = dict[str, Any]

NODES = ["node-1", "node-2", "node-3"]
PODS = ["a", "b", "c", "d"]
VOLUMES = ["v", "w", "x"]
WAYS = ["node", "selected", "nominated"]
"""How a node is named; the first in this order counts."""
SIGNALS = {"node": "bound", "selected": "selected", "nominated": "nominated"}

pods = st.sampled_from(PODS)
nodes = st.sampled_from(NODES)
maybe_nodes = st.sampled_from([None, None, *NODES])
timeouts = st.builds(
    Timeouts,
    choosing_seconds=st.sampled_from([0.0, 1.0, 5.0, 5.0, 50.0]),
    placing_seconds=st.sampled_from([0.0, 5.0, 30.0]),
    attaching_seconds=st.sampled_from([0.0, 20.0, 600.0]),
)


class Model:
    """What follows from a list of events."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.holds: list[Kept] = []
        self.replicas: list[dict[str, Any]] = []
        self.ended: list[tuple[str, float, str, float]] = []
        """Pod, time of the answer, cause and time of the end."""
        for event in events:
            getattr(self, event["what"])(event)

    def answered(self, event: Event) -> None:
        self._end([each for each in self.holds if each["pod"] == event["pod"]], "replaced", event)
        self.holds.append(
            {
                **event,
                "seen": [],
                "refused": [],
                "had_disk": [each["name"] for each in self._placed()],
            }
        )

    def seen(self, event: Event) -> None:
        for kept in [each for each in self.holds if each["pod"] == event["pod"]]:
            names_a_node = any(event[way] for way in WAYS)
            if event["gone"]:
                self._end([kept], "pod_gone", event)
            elif names_a_node:
                kept["seen"].append(event)
                kept["refused"] = []
            elif event["refused"] or self.named(kept):
                kept["refused"].append(event["at"])

    def dropped(self, event: Event) -> None:
        self._end([each for each in self.holds if each["pod"] == event["pod"]], event["why"], event)

    def settled(self, event: Event) -> None:
        for kept in [*self.holds]:
            until, why = self.deadline(kept, event)
            node = self.node(kept)
            waits = any(self._waits(kept, v, node) or self._is_due(v) for v in kept["volumes"])
            if node and not waits:
                self._end([kept], "confirmed", event)
            elif until <= event["at"]:
                self._end([kept], why, event)

    def _is_due(self, volume: str) -> bool:
        """Whether a replica may go anywhere; no Volume object tells of it here."""
        found = (each for each in self.replicas if each["volume"] == volume)
        return any(not (each["node"] or each["pinned"]) for each in found)

    def made(self, event: Event) -> None:
        self.replicas.append({**event, "node": ""})

    def put(self, event: Event) -> None:
        [found] = [each for each in self.replicas if each["name"] == event["name"]]
        found["node"] = event["node"]

    def removed(self, event: Event) -> None:
        self.replicas = [each for each in self.replicas if each["name"] != event["name"]]

    def named(self, kept: Kept) -> list[tuple[str, str]]:
        """Return how nodes were named, and which."""
        ways = [next(way for way in WAYS if event[way]) for event in kept["seen"]]
        return [(way, event[way]) for way, event in zip(ways, kept["seen"], strict=True)]

    def node(self, kept: Kept) -> str:
        """Return the chosen node, empty if none is."""
        if named := self.named(kept):
            return named[-1][1]
        return str(kept["nodes"][0]) if kept["only"] else ""

    def bound_at(self, kept: Kept) -> float | None:
        return min((event["at"] for event in kept["seen"] if event["node"]), default=None)

    def deadline(self, kept: Kept, limits: Event) -> tuple[float, str]:
        ends = [self._longest(kept, limits)]
        ends += [(at + 2.0, "unscheduled") for at in kept["refused"][:1]]
        return min(ends, key=lambda each: each[0])

    def _longest(self, kept: Kept, limits: Event) -> tuple[float, str]:
        bound_at = self.bound_at(kept)
        if bound_at is not None:
            waits = max(limits["placing"], limits["placing"] and limits["attaching"])
            return bound_at + waits, "not_placed"
        named = self.named(kept) and self.named(kept)[-1][0]
        if named in ("selected", "nominated") and limits["choosing"]:
            return kept["at"] + 600.0, "not_bound"
        return kept["at"] + limits["choosing"], ("not_bound" if self.node(kept) else "not_chosen")

    def on_node(self, node: str) -> list[Kept]:
        return [
            each
            for each in self.holds
            if (self.node(each) == node if self.node(each) else node in each["nodes"])
        ]

    def charged(self, kept: Kept, node: str) -> list[str]:
        return [
            volume
            for volume in kept["volumes"]
            if self._waits(kept, volume, node)
            and not any(
                each["volume"] == volume and each["pinned"] == node and not each["node"]
                for each in self.replicas
            )
        ]

    def _waits(self, kept: Kept, volume: str, node: str) -> bool:
        """Whether Longhorn has not put the volume anywhere yet, as far as this kept goes."""
        mine = [each for each in self._placed() if each["volume"] == volume]
        here = [each for each in mine if each["node"] == node]
        new = [each for each in mine if each["name"] not in kept["had_disk"]]
        return not here and not (new and self.node(kept))

    def _placed(self) -> list[dict[str, Any]]:
        return [each for each in self.replicas if each["node"]]

    def _end(self, holds: Sequence[Kept], why: str, event: Event) -> None:
        for each in holds:
            self.holds.remove(each)
            self.ended.append((each["pod"], each["at"], why, event["at"]))


class LedgerMachine(RuleBasedStateMachine):
    """Each rule is an answer, something seen, something Longhorn does, or time that passes."""

    @initialize(timeouts=timeouts)
    def start(self, timeouts: Timeouts) -> None:
        self.ledger = Ledger()
        self.timeouts = timeouts
        self.now = 0.0
        self.events: list[Event] = []
        self.ended: list[Ended] = []
        self.counted: set[tuple[str, NodeName, State]] = set()
        self.replicas: dict[str, Replica] = {}
        self.shown: dict[str, Replica] = {}
        self.builder = ViewBuilder()

    @rule(
        pod=pods,
        accepted=st.lists(nodes, min_size=1, unique=True),
        volumes=st.lists(st.sampled_from(VOLUMES), min_size=1, max_size=2, unique=True),
        is_only_candidate=st.sampled_from([False, False, True]),
    )
    def a_pod_is_answered(
        self, pod: str, accepted: list[str], volumes: list[str], *, is_only_candidate: bool
    ) -> None:
        accepted = accepted[:1] if is_only_candidate else accepted
        self._note("answered", pod=pod, nodes=accepted, volumes=volumes, only=is_only_candidate)
        self._note_outcome(
            self.ledger.put(
                hold(
                    pod,
                    volumes=volumes,
                    nodes=accepted,
                    replicas=self.replicas.values(),
                    only_candidate=is_only_candidate,
                    now=self.now,
                )
            )
        )

    @rule(pod=pods, way=st.sampled_from(WAYS), node=nodes, again=st.booleans())
    def a_node_is_named(self, pod: str, way: str, node: str, *, again: bool) -> None:
        self._see(pod, **{way: node})
        if again:
            self.now += 1.0
            self._see(pod, **{way: node})

    @rule(
        pod=pods,
        gone=st.sampled_from([False, False, False, True]),
        node=maybe_nodes,
        selected=maybe_nodes,
        nominated=maybe_nodes,
        refused=st.booleans(),
    )
    def anything_is_seen(self, pod: str, **told: Any) -> None:
        self._see(pod, **told)

    @rule(pod=pods, refused=st.booleans())
    def no_node_is_named(self, pod: str, *, refused: bool) -> None:
        self._see(pod, refused=refused)

    @rule(pod=pods, why=st.sampled_from([End.POD_GONE, End.UNSCHEDULED]))
    def a_pod_is_let_go(self, pod: str, why: End) -> None:
        self._note("dropped", pod=pod, why=why.value)
        self._note_outcome(self.ledger.drop(f"uid-{pod}", why, self.now))

    @precondition(lambda self: len(self.ledger) > 1)
    @rule()
    def all_are_let_go(self) -> None:
        for each in self.ledger:
            self._note("dropped", pod=each.pod.name, why=End.HANDED_OVER.value)
        self._note_outcome(self.ledger.drop_all(End.HANDED_OVER, self.now))

    @rule(volume=st.sampled_from(VOLUMES), pinned=st.sampled_from(["", *NODES]))
    def longhorn_makes_a_replica(self, volume: str, pinned: str) -> None:
        name = f"r-{len(self.events)}"
        self._note("made", name=name, volume=volume, pinned=pinned)
        self.replicas[name] = replica(name, of=volume, on="", pinned_to=pinned)

    @precondition(lambda self: any(not each.disk for each in self.replicas.values()))
    @rule(place=st.integers(0, 11), node=nodes)
    def longhorn_places_a_replica(self, place: int, node: str) -> None:
        waiting = [each for each in self.replicas.values() if not each.disk]
        before = waiting[place % len(waiting)]
        node = before.hard_node_affinity or node
        self._note("put", name=before.name, node=node)
        self.replicas[before.name] = replica(
            before.name, of=before.volume, on=node, pinned_to=before.hard_node_affinity
        )

    @precondition(lambda self: self.replicas)
    @rule(place=st.integers(0, 11))
    def longhorn_removes_a_replica(self, place: int) -> None:
        name = [*self.replicas][place % len(self.replicas)]
        self._note("removed", name=name)
        del self.replicas[name]

    @rule(seconds=st.sampled_from([0.25, 1.0, 4.75, 25.0, 550.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @precondition(lambda self: len(self.ledger) > 0)
    @rule()
    def time_runs_to_the_next_deadline(self) -> None:
        until = self.ledger.next_deadline(self.timeouts)
        assert until is not None
        before = len(self.ledger)
        self.now = max(self.now, until)
        self.it_is_settled()
        assert len(self.ledger) < before

    @rule()
    def it_is_settled(self) -> None:
        self._note(
            "settled",
            choosing=self.timeouts.choosing_seconds,
            placing=self.timeouts.placing_seconds,
            attaching=self.timeouts.attaching_seconds,
        )
        self._note_outcome(self.ledger.settle(self._view(), self.timeouts, self.now))
        until = self.ledger.next_deadline(self.timeouts)
        assert until is None or until > self.now

    @rule(timeouts=timeouts)
    def the_timeouts_are_changed(self, timeouts: Timeouts) -> None:
        self.timeouts = timeouts

    def _view(self) -> ClusterView:
        """Show the replicas as they are now, as one view after another shows them."""
        for name in {**self.shown, **self.replicas}:
            before, after = self.shown.get(name), self.replicas.get(name)
            if before != after:
                self.builder.apply(before, after)
        self.shown = {**self.replicas}
        self.builder.settle()
        return self.builder.view

    @invariant()
    def all_follows_from_what_happened(self) -> None:
        model = Model(self.events)
        self._check_holds(model)
        self._check_nodes(model)
        self._check_ends(model)

    def _check_holds(self, model: Model) -> None:
        expected: dict[str, object] = {
            each["pod"]: (
                "chosen" if model.node(each) else "open",
                {model.node(each)} if model.node(each) else {*each["nodes"]},
                SIGNALS[model.named(each)[-1][0]] if each["seen"] else None,
                model.bound_at(each),
                each["at"],
                each["volumes"],
            )
            for each in model.holds
        }
        held: dict[str, object] = {
            each.pod.name: (
                each.state,
                each.nodes,
                each.named_by,
                each.bound_at,
                each.answered_at,
                [volume.name for volume in each.volumes],
            )
            for each in self.ledger
        }
        assert held == expected
        assert len(self.ledger) == len(expected)
        limits = {
            "choosing": self.timeouts.choosing_seconds,
            "placing": self.timeouts.placing_seconds,
            "attaching": self.timeouts.attaching_seconds,
        }
        assert self.ledger.next_deadline(self.timeouts) == min(
            (model.deadline(each, limits)[0] for each in model.holds), default=None
        )

    def _check_nodes(self, model: Model) -> None:
        replicas = self._by_volume()
        for node in [*NODES, "node-4"]:
            expected = sorted(
                (each["pod"], model.charged(each, node)) for each in model.on_node(node)
            )
            for but in ["", *PODS]:
                assert [each for each in expected if each[0] != but] == sorted(
                    (
                        each.pod.name,
                        [v.name for v in volumes_still_held(each, NodeName(node), replicas)],
                    )
                    for each in self.ledger.on_node(NodeName(node), but=f"uid-{but}")
                )

        chosen = {each["pod"]: model.node(each) for each in model.holds if model.node(each)}
        open_ = [each["pod"] for each in model.holds if each["pod"] not in chosen]
        for but in ["", *PODS]:
            others = {node for pod, node in chosen.items() if pod != but}
            assert self.ledger.chosen_nodes(but=f"uid-{but}") == others
            found = self.ledger.open_holds(but=f"uid-{but}")
            assert {each.pod.name for each in found} == {*open_} - {but}
            assert self.ledger.is_choosing(but=f"uid-{but}") == bool({*open_} - {but})

    def _check_ends(self, model: Model) -> None:
        answers = sum(event["what"] == "answered" for event in self.events)
        assert answers == len(self.ended) + len(self.ledger)
        assert sorted(model.ended) == sorted(
            (each.hold.pod.name, each.hold.answered_at, each.why.value, each.at)
            for each in self.ended
        )

    def _see(self, pod: str, **told: Any) -> None:
        says: dict[str, Any] = (
            dict.fromkeys(["gone", "refused"], False) | dict.fromkeys(WAYS) | told
        )
        self._note("seen", pod=pod, **says)
        sighting = Sighting(exists=not says.pop("gone"), **says)
        self._note_outcome(self.ledger.see(f"uid-{pod}", sighting, self.now))

    def _note(self, what: str, **details: Any) -> None:
        self.events.append({"what": what, "at": self.now, **details})

    def _note_outcome(self, outcome: Outcome) -> None:
        """Check that an outcome says where less is held, and that it says so to others."""
        self.ended += outcome.ended
        before = self.counted
        self.counted = {
            (each.pod.uid, node, each.state) for each in self.ledger for node in each.nodes
        }
        less = {(uid, node) for uid, node, _ in before} - {(u, n) for u, n, _ in self.counted}
        assert {node for _, node in less} <= outcome.freed
        assert outcome.concerns_others or before <= self.counted

    def _by_volume(self) -> dict[VolumeName, list[Replica]]:
        return {
            VolumeName(volume): [each for each in self.replicas.values() if each.volume == volume]
            for volume in VOLUMES
        }


TestLedger = LedgerMachine.TestCase
TestLedger.settings = settings(max_examples=examples(150), stateful_step_count=40, deadline=None)


def walk(random: Random, moves: int) -> list[Ended]:
    """Make as many moves at random, and return what has ended."""
    machine = LedgerMachine()
    machine.start(Timeouts(choosing_seconds=5.0, placing_seconds=30.0))
    for _ in range(moves):
        pod, node, volume = random.choice(PODS), random.choice(NODES), random.choice(VOLUMES)
        match random.randrange(8):
            case 0:
                machine.a_pod_is_answered(pod, NODES, [volume], is_only_candidate=False)
            case 1:
                machine.a_node_is_named(pod, random.choice(WAYS), node, again=False)
            case 2:
                machine.no_node_is_named(pod, refused=random.random() < 0.2)
            case 3:
                machine.anything_is_seen(pod, gone=random.random() < 0.5)
            case 4:
                machine.longhorn_makes_a_replica(volume, "")
            case 5 if any(not each.disk for each in machine.replicas.values()):
                machine.longhorn_places_a_replica(0, node)
            case 6 if len(machine.ledger) > 1 and random.random() < 0.1:
                machine.all_are_let_go()
            case 6 if len(machine.ledger):
                machine.time_runs_to_the_next_deadline()
            case _:
                machine.it_is_settled()
        machine.all_follows_from_what_happened()
    return machine.ended


def test_holds_end_in_each_way_there_is():
    """Otherwise the ledger and the model would agree about less than all."""
    random = Random(1)

    ended = [each.why for _ in range(60) for each in walk(random, moves=40)]

    assert {*ended} == {*End}
