"""Sets of nodes as numbers: they say what they contain, and can be cut and joined."""

from hypothesis import given
from hypothesis import strategies as st

from extender.waiting.node_sets import ALL, MOST_NODES, NodeSets
from longhorn import NodeName

NAMES = [NodeName(f"node-{number}") for number in range(40)]
some = st.lists(st.sampled_from(NAMES), max_size=60)


@given(some, some)
def test_sets_are_what_python_says(one: list[NodeName], two: list[NodeName]) -> None:
    sets = NodeSets()
    first, second = sets.of(one), sets.of(two)

    for found, expected in (
        (first, {*one}),
        (first & second, {*one} & {*two}),
        (first | second, {*one} | {*two}),
        (first & ~second, {*one} - {*two}),
        (first & ALL, {*one}),
    ):
        names = sets.names(found)
        assert {*names} == expected
        assert len(names) == len(expected)


def test_nodes_beyond_the_limit_are_left_out_until_all_is_forgotten() -> None:
    sets = NodeSets()
    sets.of(NodeName(str(number)) for number in range(MOST_NODES))

    assert sets.of([NodeName("more")]) == 0
    assert sets.names(sets.of([NodeName("more"), NodeName("7")])) == ["7"]

    sets.clear()
    assert sets.names(sets.of([NodeName("more")])) == ["more"]
