"""Whom to look at: nobody who fits is passed over, and few looks tell of thousands."""

from collections.abc import Iterable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extender.waiting.lookout import Stir
from extender.waiting.looks import Look, looks
from extender.waiting.pods import WaitingPod, WaitingPods
from longhorn import NodeName, VolumeName
from tests.builders import pod, waiting_pod, wants

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
        nodes: Iterable[NodeName] = NODES,
        volumes: Iterable[str] = (),
        depends: bool = False,
    ) -> None:
        of = wants(*sizes, kind=kind, volumes=volumes)
        candidates = self.pods.nodes.of(nodes, NODES)
        self.pods.add(waiting_pod(pod(name=name), of, candidates, 0.0, depends_on_others=depends))

    def fits(self, waiting: WaitingPod, nodes: Iterable[NodeName]) -> bool:
        rooms = (self.room.get(name, ()) for name in nodes)
        sizes = waiting.wants.sizes
        return any(
            len(room) == len(sizes) and all(a <= b for a, b in zip(sizes, room, strict=True))
            for room in rooms
        )

    def look(self, stir: Stir) -> list[str]:
        """Look as it is asked for; return who fits."""
        found: list[str] = []
        asking = looks(self.pods, stir)
        answer: bool | None = None
        while True:
            try:
                look: Look = asking.send(answer)
            except StopIteration:
                return found
            self.asked.append(look.waiting.pod.name)
            answer = self.fits(look.waiting, self.pods.nodes.names(look.nodes))
            if answer and look.is_for_itself:
                found.append(look.waiting.pod.name)

    def make_room(self, rooms: Mapping[int, int | tuple[int, ...]]) -> Stir:
        for number, room in rooms.items():
            self.room[NODES[number]] = (room,) if isinstance(room, int) else room
        return Stir(nodes=self.pods.nodes.of((NODES[number] for number in rooms), NODES))


@given(
    st.lists(
        st.tuples(
            st.integers(1, 9),
            st.integers(1, 9),
            st.sampled_from("ab"),
            st.sets(st.sampled_from(NODES)),
            st.booleans(),
        ),
        max_size=30,
    ),
    st.dictionaries(st.integers(0, 3), st.tuples(st.integers(0, 9), st.integers(0, 9))),
)
def test_all_who_fit_are_found_in_the_order_in_which_they_wait(
    of: list[tuple[int, int, str, set[NodeName], bool]],
    rooms: dict[int, tuple[int, int]],
) -> None:
    """Whatever they ask for, and wherever they may go."""
    waiting = Waiting()
    for number, (one, two, kind, nodes, depends) in enumerate(of):
        waiting.add(f"{number:02}", one, two, kind=kind, nodes=sorted(nodes), depends=depends)
    stir = waiting.make_room(rooms)

    expected = [
        each.pod.name
        for each in waiting.pods
        if waiting.fits(each, waiting.pods.nodes.names(each.candidates))
    ]
    assert waiting.look(stir) == expected


def test_thousands_that_do_not_fit_take_one_look_for_each_kind() -> None:
    waiting = Waiting()
    for number in range(3_000):
        waiting.add(str(number), 10 + number * 7 % 3_000, kind="abc"[number % 3])

    assert waiting.look(waiting.make_room({1: 5})) == []
    assert len(waiting.asked) == 3


def test_those_that_fit_among_thousands_take_few_looks() -> None:
    waiting = Waiting()
    for number in reversed(range(3_000)):  # the worst order: each is smaller than those before
        waiting.add(str(number), 10 + number)

    assert waiting.look(waiting.make_room({1: 11})) == ["1", "0"]
    assert len(waiting.asked) < 20


def test_only_those_are_looked_at_whom_the_change_may_help() -> None:
    waiting = Waiting()
    waiting.add("here", 1, kind="a", nodes=NODES[1:2])
    waiting.add("elsewhere", 1, kind="b", nodes=NODES[2:3])
    waiting.add("depends", 1, kind="c", nodes=NODES[2:3], depends=True)
    waiting.add("changed", 1, kind="d", nodes=NODES[2:3], volumes=["vol"])

    waiting.look(Stir(volumes={VolumeName("other")}))
    assert waiting.asked == []

    waiting.look(waiting.make_room({1: 0}))
    assert waiting.asked == ["here", "depends"]

    waiting.look(Stir(has_less_due=True))
    assert waiting.asked[2:] == ["depends"]

    waiting.look(Stir(volumes={VolumeName("vol")}))
    assert waiting.asked[3:] == ["changed"]

    waiting.look(Stir(is_any_volume=True))
    assert waiting.asked[4:] == ["here", "elsewhere", "depends", "changed"]


def test_a_node_that_comes_to_be_known_is_looked_at_for_those_who_wait_already() -> None:
    waiting = Waiting()
    one, new = NODES[:1], [*NODES, NodeName("new")]
    candidates = waiting.pods.nodes.of(one, NODES) | waiting.pods.nodes.later
    waiting.pods.add(waiting_pod(pod(name="waits"), wants(1), candidates, 0.0))
    waiting.room[new[-1]] = (5,)

    assert waiting.look(Stir(nodes=waiting.pods.nodes.of(NODES[1:]))) == []
    assert waiting.look(Stir(nodes=waiting.pods.nodes.of(new[-1:], new))) == ["waits"]


def test_of_one_that_leads_nowhere_nothing_follows_for_others() -> None:
    waiting = Waiting()
    waiting.add("lost", 1)
    waiting.add("small", 1)
    waiting.add("large", 9)
    asking = looks(waiting.pods, waiting.make_room({1: 5}))

    assert next(asking).waiting.pod.name == "lost"
    assert [asking.send(None).waiting.pod.name for _ in range(3)] == ["lost", "small", "large"]


@pytest.mark.parametrize("how", ["woken", "forgotten", "woken meanwhile"])
def test_who_is_not_asleep_is_not_looked_at(how: str) -> None:
    waiting = Waiting()
    waiting.add("one", 1, kind="a")
    waiting.add("two", 1, kind="b")
    stir = waiting.make_room({1: 5})
    asking = looks(waiting.pods, stir)
    if how == "woken":
        waiting.pods.mark_woken("uid-two")
    assert next(asking).waiting.pod.name == "one"
    if how == "forgotten":
        waiting.pods.forget("uid-two")
    if how == "woken meanwhile":
        waiting.pods.mark_woken("uid-two")

    with pytest.raises(StopIteration):
        asking.send(False)  # noqa: FBT003 (a generator is told so)
