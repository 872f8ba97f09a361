"""Sets of nodes as numbers: they say what they contain, and can be cut and joined."""

from hypothesis import given
from hypothesis import strategies as st

from extender.waiting.node_sets import ALL, NodeSets
from longhorn import NodeName

NAMES = [NodeName(f"node-{number}") for number in range(40)]
INVENTED = NodeName("invented")
some = st.lists(st.sampled_from(NAMES), max_size=60)


@given(some, some)
def test_sets_are_what_python_says(one, two):
    sets = NodeSets()
    first, second = sets.of(one, NAMES), sets.of(two, NAMES)

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


def test_only_known_nodes_are_in_sets():
    sets = NodeSets()

    assert sets.of([INVENTED], NAMES) == 0
    assert sets.names(sets.later) == []
    assert sets.names(sets.of([INVENTED, NAMES[3]], NAMES)) == [NAMES[3]]
    assert sets.names(sets.of([INVENTED, NAMES[4]])) == [NAMES[4]]
    assert sets.names(ALL) == NAMES


def test_a_set_may_have_all_that_come_to_be_known_later():
    sets = NodeSets()
    before = sets.of(NAMES[:1], NAMES[:3]) | sets.later

    after = sets.of(NAMES, NAMES)

    assert sets.names(before) == [NAMES[0], *NAMES[3:]]
    assert sets.names(before & after) == [NAMES[0], *NAMES[3:]]


def test_all_can_be_forgotten():
    sets = NodeSets()
    sets.of(NAMES, NAMES)

    sets.clear()

    assert sets.names(ALL) == []
    assert sets.names(sets.of(NAMES[2:3], NAMES[2:4])) == NAMES[2:3]
