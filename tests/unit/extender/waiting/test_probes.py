"""Whom to probe: no pod that fits is passed over, and few probes tell of thousands."""

from collections.abc import Collection, Iterable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from extender.verdicts.rejections import ClusterChange, NodeTags, Rejection
from extender.verdicts.shortages import InsufficientStorage, PendingReplicas
from extender.waiting.changes import Changes
from extender.waiting.node_sets import Rejected
from extender.waiting.pods import WaitingPod, WaitingPods
from extender.waiting.probes import Probe, probes_for
from longhorn import NodeName, VolumeName
from tests.builders import pod, waiting_pod, wants

SHORT, TAGS, DEPENDS = InsufficientStorage(size_bytes=1), NodeTags(selector=()), PendingReplicas()
NODES = [NodeName(f"node-{number}") for number in range(4)]


class Waiting:
    """Pods that wait, and nodes with room of some sizes."""

    def __init__(self) -> None:
        self.pods = WaitingPods()
        self.room: dict[NodeName, tuple[int, ...]] = {}
        self.asked: list[str] = []

    def add(
        self,
        name: str,
        *sizes: int,
        kind: str = "",
        nodes: Collection[NodeName] = NODES,
        volumes: Iterable[str] = (),
        why: Rejection = SHORT,
    ) -> None:
        of = wants(*sizes, kind=kind, volumes=volumes)
        candidates = self.pods.nodes.of(nodes, NODES)
        self.pods.add(waiting_pod(pod(name=name), of, candidates, 0.0, why))

    def fits(self, waiting: WaitingPod, nodes: Iterable[NodeName]) -> bool:
        rooms = (self.room.get(name, ()) for name in nodes)
        sizes = waiting.wants.sizes
        return any(
            len(room) == len(sizes) and all(a <= b for a, b in zip(sizes, room, strict=True))
            for room in rooms
        )

    def probe(self, changes: Changes, why: Rejection = SHORT) -> list[str]:
        """Probe as it is asked for; return who fits. The others do not because of *why*."""
        found: list[str] = []
        asking = probes_for(self.pods, changes)
        rejected: Rejected | None = None
        while True:
            try:
                probe: Probe = asking.send(rejected)
            except StopIteration:
                return found
            self.asked.append(probe.waiting.pod.name)
            fits = self.fits(probe.waiting, self.pods.nodes.names(probe.nodes))
            rejected = {} if fits else {why: probe.nodes}
            if fits and probe.is_for_itself:
                found.append(probe.waiting.pod.name)

    def make_room(self, rooms: Mapping[int, int | tuple[int, ...]]) -> Changes:
        for number, room in rooms.items():
            self.room[NODES[number]] = (room,) if isinstance(room, int) else room
        nodes = self.pods.nodes.of([NODES[number] for number in rooms], NODES)
        return Changes(nodes={ClusterChange.ROOM: nodes})


@given(
    st.lists(
        st.tuples(
            st.integers(1, 9),
            st.integers(1, 9),
            st.sampled_from("ab"),
            st.sets(st.sampled_from(NODES)),
            st.sampled_from([SHORT, DEPENDS]),
        ),
        max_size=30,
    ),
    st.dictionaries(st.integers(0, 3), st.tuples(st.integers(0, 9), st.integers(0, 9))),
)
def test_all_who_fit_are_found_in_the_order_in_which_they_wait(of, rooms):
    """Whatever they ask for, and wherever they may go."""
    waiting = Waiting()
    for number, (one, two, kind, nodes, why) in enumerate(of):
        waiting.add(f"{number:02}", one, two, kind=kind, nodes=sorted(nodes), why=why)
    changes = waiting.make_room(rooms)

    expected = [
        each.pod.name
        for each in waiting.pods
        if waiting.fits(each, waiting.pods.nodes.names(each.candidates))
    ]
    assert waiting.probe(changes) == expected


def test_thousands_that_do_not_fit_take_one_probe_for_each_kind():
    waiting = Waiting()
    for number in range(3_000):
        waiting.add(str(number), 10 + number * 7 % 3_000, kind="abc"[number % 3])

    assert waiting.probe(waiting.make_room({1: 5})) == []
    assert len(waiting.asked) == 3


def test_those_that_fit_among_thousands_take_few_probes():
    waiting = Waiting()
    for number in reversed(range(3_000)):  # the worst order: each is smaller than those before
        waiting.add(str(number), 10 + number)

    assert waiting.probe(waiting.make_room({1: 11})) == ["1", "0"]
    assert len(waiting.asked) < 20


def test_only_those_are_probed_that_the_change_may_help():
    waiting = Waiting()
    waiting.add("here", 1, kind="a", nodes=NODES[1:2])
    waiting.add("elsewhere", 1, kind="b", nodes=NODES[2:3])
    waiting.add("depends", 1, kind="c", nodes=NODES[2:3], why=DEPENDS)
    waiting.add("tags", 1, kind="d", nodes=NODES[1:2], volumes=["vol"], why=TAGS)

    for changes, asked in (
        (Changes(volumes={VolumeName("other")}), []),
        (waiting.make_room({1: 0}), ["here", "depends"]),
        (Changes(nodes={ClusterChange.HOLDS: -1}), ["depends"]),
        (Changes(nodes={ClusterChange.NODE: 0b0010}), ["here", "depends", "tags"]),
        (Changes(volumes={VolumeName("vol")}), ["tags"]),
        (Changes(nodes={ClusterChange.SETTINGS: -1}), ["here", "elsewhere", "depends", "tags"]),
    ):
        waiting.asked.clear()
        before = [*waiting.pods]
        waiting.probe(changes)
        assert waiting.asked == asked
        for each in before:
            waiting.pods.add(each)


def test_each_node_waits_for_its_own():
    waiting = Waiting()
    waiting.add("pod", 1)
    [pod_] = waiting.pods
    waiting.pods.add(replace(pod_, rejected={TAGS: 0b001, SHORT: 0b110}))

    def probed(**nodes: int) -> list[int]:
        changes = Changes(nodes={ClusterChange[kind]: of for kind, of in nodes.items()})
        return [each.nodes for each in probes_for(waiting.pods, changes)]

    assert probed(ROOM=0b011) == [0b010]
    assert probed(ROOM=0b011, NODE=0b101) == [0b111]
    assert probed(HOLDS=0b111) == []


def test_after_a_probe_the_pod_waits_for_what_is_in_the_way_now_as_well():
    waiting = Waiting()
    waiting.add("small", 1, why=TAGS)
    waiting.add("large", 2, why=TAGS)

    waiting.probe(Changes(nodes={ClusterChange.NODE: 0b0001}), SHORT)

    for each in waiting.pods:
        assert each.rejected == {TAGS: 0b1111}
        assert each.found == {SHORT.ended_by: 0b0001}
    assert waiting.asked == ["small"]
    waiting.room[NODES[0]] = (2,)
    assert waiting.probe(Changes(nodes={ClusterChange.ROOM: 0b1111})) == ["small", "large"]


def test_a_node_that_comes_to_be_known_is_probed_for_those_who_wait_already():
    waiting = Waiting()
    one, new = NODES[:1], [*NODES, NodeName("new")]
    candidates = waiting.pods.nodes.of(one, NODES) | waiting.pods.nodes.later
    waiting.pods.add(waiting_pod(pod(name="waits"), wants(1), candidates, 0.0))
    waiting.room[new[-1]] = (5,)
    sets, kind = waiting.pods.nodes, ClusterChange.DISKS

    assert waiting.probe(Changes(nodes={kind: sets.of(NODES[1:])})) == []
    assert waiting.probe(Changes(nodes={kind: sets.of(new[-1:], new)})) == ["waits"]


def test_of_one_that_leads_nowhere_nothing_follows_for_others():
    waiting = Waiting()
    waiting.add("lost", 1)
    waiting.add("small", 1)
    waiting.add("large", 9)
    asking = probes_for(waiting.pods, waiting.make_room({1: 5}))

    assert next(asking).waiting.pod.name == "lost"
    assert [asking.send(None).waiting.pod.name for _ in range(3)] == ["lost", "small", "large"]


@pytest.mark.parametrize("how", ["woken", "forgotten", "woken meanwhile"])
def test_who_is_not_asleep_is_not_probed(how):
    waiting = Waiting()
    waiting.add("one", 1, kind="a")
    waiting.add("two", 1, kind="b")
    changes = waiting.make_room({1: 0})
    asking = probes_for(waiting.pods, changes)
    if how == "woken":
        waiting.pods.mark_woken("uid-two")
    probe = next(asking)
    assert probe.waiting.pod.name == "one"
    if how == "forgotten":
        waiting.pods.forget("uid-two")
    if how == "woken meanwhile":
        waiting.pods.mark_woken("uid-two")

    with pytest.raises(StopIteration):
        asking.send({SHORT: probe.nodes})
