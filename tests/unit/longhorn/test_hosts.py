"""What is kept of groups of nodes is what a look at all of them would find."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from longhorn import Hosts, NodeName, Settings, need_of
from longhorn.groups import Group
from longhorn.hosts import with_room_in
from tests.builders import GIB, disk, node, view_of, volume

NAMES = [NodeName(f"node-{number}") for number in range(5)]
GROUPS = [
    Group(but_zones=frozenset(zones), but=but, asks_for_tags=asks, only=only)
    for zones in ("", "a", "ab", "abc")
    for but in ((), (NAMES[0],))
    for asks in (True, False)
    for only in (None, frozenset(NAMES[:2]))
]


@given(st.integers(0, 2**32))
def test_nodes_with_room_are_those_of_now_whatever_has_changed(seed):
    random = Random(seed)
    asked = volume(node_selector=random.choice([(), ("fast",)]), size_bytes=10 * GIB)
    hosts = Hosts(need_of(asked, None), Settings())

    for _ in range(12):
        name = random.choice(NAMES)
        made = node(
            name,
            disk(f"disk-{name}", maximum_bytes=random.choice([5, 40]) * GIB),
            zone=random.choice("abc"),
            tags=random.choice([(), ("fast",)]),
            ready=random.random() < 0.9,
        )
        is_gone = random.random() < 0.2
        hosts.note(name, None if is_gone else view_of(made).spaces[name])

        group = random.choice(GROUPS)
        assert hosts.with_room_in(group) == with_room_in(group, hosts.each)
