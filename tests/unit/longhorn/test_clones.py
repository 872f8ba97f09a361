"""Where a replica of a linked clone may go: beside what it shares data with."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from longhorn import Need, Reason, Replica, Settings, need_of, node_disks, reusable
from tests.unit.longhorn.objects import disk, disks_for, failed, node, replica, search, volume

CLONE = replace(volume(), linked_to="source")
NODES = node("a", disk(), disk()), node("b", disk(), disk()), node("c", disk())
DISKS = "a1", "a2", "b1", "b2", "c1"
SPACES = [node_disks(each, Settings()) for each in NODES]

sources_ = st.lists(
    st.tuples(
        st.sampled_from([*DISKS, "", "d1"]),  # d1: of a node that is gone
        st.sampled_from(["", "2026-08-20T11:50:00Z"]),
        st.booleans(),
        st.booleans(),
    ),
    max_size=4,
).map(
    lambda drawn: [
        replica(
            on,
            name=f"source-r-{number}",
            volumeName="source",
            failedAt=failed_at,
            healthyAt="2026-08-20" if has_data else "",
            evictionRequested=evicting,
        )
        for number, (on, failed_at, has_data, evicting) in enumerate(drawn)
    ]
)
names = st.sampled_from(["source-r-0", "source-r-1", "source-r-2", "source-r-gone"])


def is_whole(each: Replica) -> bool:
    return each.healthy_once and not each.failed


@given(sources=sources_, name=names)
def test_what_a_replica_shares_with_is_the_only_one_that_will_do(sources, name):
    [*named] = [each for each in sources if each.name == name]
    allowed = [r.disk for r in named if r.disk in DISKS and is_whole(r) and not r.evicting]

    found = search(CLONE, *NODES, replicas=sources, sharing=name)

    assert [each.disk for each in found.disks] == allowed
    if not named:
        assert found.errors == (Reason.CLIENT_OPERATION_FAILED,)
    elif not allowed:
        assert found.errors == (Reason.LINKED_CLONE,)


@given(sources=sources_, name=names)
def test_what_is_settled_only_takes_disks_away(sources, name):
    settled = disks_for(CLONE, *NODES, replicas=sources, sharing=name)

    assert {*settled} <= {*disks_for(CLONE, *NODES, replicas=sources)}


@given(sources=sources_, name=names)
def test_of_other_volumes_it_says_nothing(sources, name):
    assert disks_for(volume(), *NODES, replicas=sources, sharing=name) == [*DISKS]


@given(sources=sources_, name=names | st.just(""), on=st.sampled_from(DISKS))
def test_a_failed_replica_is_rebuilt_only_beside_what_it_shares_with(sources, name, on):
    gone = failed(on, linkedCloneSrcReplicaName=name)
    beside = [r for r in sources if r.name == name and r.disk == on and is_whole(r)]

    found = reusable([gone, *sources], CLONE, SPACES, Settings())

    assert found == ((gone,) if beside or not name else ())


def needed(*replicas: Replica) -> Need:
    return need_of(CLONE, None, replicas)


@given(sources=sources_, waiting=st.lists(names | st.just(""), max_size=3))
def test_a_volume_needs_the_disks_of_those_that_wait(sources, waiting):
    """So whoever asks for the volume is told the same as who asks for each replica."""
    own = [replica(name=f"vol-r-{n}", linkedCloneSrcReplicaName=s) for n, s in enumerate(waiting)]
    each = [need_of(CLONE, None, [*own, *sources], one).places or frozenset() for one in own]

    expected = frozenset().union(*each) if own else needed(*sources).places

    assert needed(*own, *sources).places == expected


def test_those_that_do_not_wait_say_nothing_of_the_volume():
    sources = [replica(on, name=f"source-r-{on}", volumeName="source") for on in ("a1", "b1")]
    shared: dict[str, Any] = {"linkedCloneSrcReplicaName": "source-r-a1"}
    others = [
        replica("a1", **shared),
        replica(failedAt="2026-08-20", **shared),
        replica(deleting=True, **shared),
        replica(hardNodeAffinity="a", **shared),
        replica(volumeName="other", **shared),
    ]

    assert needed(*others, *sources) == needed(*sources)
