"""`stage_of` says of one node what `groups` says of all, which Longhorn's decisions check."""

from itertools import groupby

from hypothesis import event, given
from hypothesis import strategies as st
from msgspec.structs import replace

from longhorn import (
    Node,
    NodeName,
    Replica,
    Settings,
    Volume,
    has_tags,
    need_of,
    node_space,
    stage_of,
    usage_of,
)
from longhorn.groups import groups
from tests.builders import disk, node, replica, volume

NAMES = [f"node-{number}" for number in range(1, 7)]
balances = st.sampled_from([None, "disabled", "least-effort", "best-effort"])
either = st.sampled_from([None, False, True])


def nodes_of(names: list[str]) -> st.SearchStrategy[list[Node]]:
    """Draw nodes in up to three zones, some of which lack the tag."""
    return st.tuples(
        *(
            st.builds(
                node,
                st.just(name),
                st.builds(disk, available_bytes=st.sampled_from([1, None])),
                zone=st.sampled_from(["", "a", "b"]),
                tags=st.sampled_from([["fast"], ["fast"], ["fast"], []]),
            )
            for name in names
        )
    ).map(list)


replicas = st.lists(
    st.builds(
        replica,
        on=st.sampled_from([*NAMES, "unknown", ""]),
        evicting=st.booleans(),
        deleting=st.sampled_from([False, False, False, True]),
    ),
    max_size=6,
)
volumes = st.builds(volume, node_selector=st.just(["fast"]), soft=either, zone_soft=either).flatmap(
    lambda of: st.builds(replace, st.just(of), auto_balance=balances)
)
all_settings = st.builds(
    Settings,
    soft_anti_affinity=st.booleans(),
    zone_soft_anti_affinity=st.booleans(),
    auto_balance=st.sampled_from(["disabled", "best-effort"]),
    disk_pressure_percent=st.just(0),  # it makes unused ones of used nodes: left out of stages
)


@given(nodes_of(NAMES), replicas, volumes, all_settings)
def test_nodes_by_stage_are_the_groups(
    nodes: list[Node], replicas: list[Replica], volume: Volume, settings: Settings
) -> None:
    """Each node at its first group: later ones name some again, all of whose disks were no good."""
    need = need_of(volume, None)
    spaces = [node_space(each, settings) for each in nodes]
    usage = usage_of(replicas, spaces)
    seen: set[NodeName] = set()
    expected = []
    for group in groups(spaces, usage, volume, need, settings):
        names = {s.node.name for s in group if has_tags(s.node, need, settings)} - seen
        seen |= names
        if names:
            expected.append(names)
    event(f"{len(expected)} groups")

    stages = {
        each.name: stage
        for each in nodes
        if has_tags(each, need, settings)
        and (stage := stage_of(each, usage, volume, settings)) is not None
    }

    by_stage = sorted(stages, key=stages.__getitem__)
    assert [{*names} for _, names in groupby(by_stage, stages.__getitem__)] == expected
