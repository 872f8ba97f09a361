"""Scores of whole clusters: what is not accepted has nothing, and parts add up as documented."""

from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extender import Balance, ClusterView, Extender, Ledger, Scores
from extender.scoring import Score
from extender.scoring.scores import WITH_DATA, WITHOUT_DATA, scores_of
from extender.view import ChangeLog
from longhorn import Locality, Node, NodeName
from tests.builders import (
    GENEROUS,
    GIB,
    ask,
    bound,
    disk,
    hold,
    node,
    pending,
    pod,
    replica,
    view_of,
    volume,
)
from tests.effort import examples
from tests.strategies import clusters

FEWER = settings(max_examples=examples(60))
"""Every example is a whole cluster, and scored several times."""


def scored(
    view: ClusterView,
    *claims: str,
    candidates: Sequence[str] | None = None,
    balance: Balance = Balance.SPREAD,
    ledger: Ledger | None = None,
) -> dict[str, Score]:
    extender = Extender(GENEROUS, balance=balance)
    if ledger is not None:
        extender.ledger = ledger
    return by_name(prioritized(extender, view, *claims, candidates=candidates))


def prioritized(
    extender: Extender, view: ClusterView, *claims: str, candidates: Sequence[str] | None = None
) -> Scores:
    names = sorted(view.spaces) if candidates is None else candidates
    return extender.prioritize(pod(*claims), [NodeName(name) for name in names], view)


def by_name(found: Scores) -> dict[str, Score]:
    return {str(name): score for name, score in found.by_node.items()}


def totals(found: dict[str, Score]) -> dict[str, int]:
    return {name: score.total for name, score in found.items()}


def of_disks(name: str, *gib: int, **fields: object) -> Node:
    disks = [disk(f"disk-{n}", maximum_bytes=size * GIB) for n, size in enumerate(gib)]
    return node(name, *disks, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("weights", "data", "balance", "expected"),
    [
        pytest.param(WITH_DATA, 1.0, 1.0, 10, id="best"),
        pytest.param(WITHOUT_DATA, 0.0, 1.0, 10, id="best-without-data"),
        pytest.param(WITH_DATA, 0.0, 0.0, 0, id="worst"),
        pytest.param(WITH_DATA, 0.5, 0.0, 4, id="half-of-the-data"),
        pytest.param(WITH_DATA, 0.0, 0.5, 2, id="half-of-the-balance"),
        pytest.param(WITHOUT_DATA, 0.0, 0.25, 3, id="rounded-up"),
        pytest.param(WITHOUT_DATA, 0.0, 0.24, 2, id="rounded-down"),
    ],
)
def test_the_total_is_made_of_parts(weights, data, balance, expected):
    found = scores_of(weights, [data], [balance])

    assert found == [Score(expected, data, balance)]


def test_every_candidate_has_a_score_in_the_order_asked_and_rejected_ones_nothing():
    view = view_of(of_disks("node-1", 100), of_disks("node-2", 5), *bound(volume()))
    candidates = ["unknown", "node-2", "node-1", "node-2"]

    found = scored(view, "vol", candidates=candidates)

    assert [*found] == ["unknown", "node-2", "node-1"]
    assert (found["unknown"], found["node-2"]) == (Score(), Score())
    assert found["node-1"] == Score(9, 0.0, 0.9)


def test_a_pod_without_longhorn_volumes_likes_all_nodes_alike():
    view = view_of(of_disks("node-1", 100), of_disks("node-2", 5))
    other = msgspec.structs.replace(pod(), claims=())

    found = Extender(GENEROUS).prioritize(other, sorted(view.spaces), view)

    assert {*by_name(found).values()} == {Score()}


def test_a_pod_of_remote_volumes_goes_beside_their_replicas():
    nodes = [of_disks(f"node-{n}", 100, zone=zone) for n, zone in enumerate("aabb")]
    view = view_of(
        *nodes,
        *bound(volume(locality=Locality.DISABLED, replicas=2)),
        replica("r-1", on="node-0", disk="disk-0"),
        replica("r-2", on="node-2", disk="disk-0", evicting=True),
    )

    assert totals(scored(view, "vol")) == {"node-0": 7, "node-1": 1, "node-2": 4, "node-3": 0}


def test_a_node_with_two_kinds_of_disks_is_worth_as_much_as_one_of_the_same_room():
    """The volumes may go to disks with and without tags."""
    kinds = [disk("fast", tags=["ssd"]), disk("slow")]
    alike = [disk(name) for name in ("one", "other")]
    needed = [volume(name, size_bytes=GIB) for name in ("a", "b")]
    view = view_of(node("kinds", *kinds), node("alike", *alike), *bound(*needed))

    found = scored(view, "a", "b")

    assert found["kinds"] == found["alike"]
    assert found["kinds"].total == 10


def test_a_full_node_with_the_data_is_better_than_an_empty_one_in_its_zone():
    full = disk("disk-0", maximum_bytes=1_000 * GIB, scheduled_bytes=980 * GIB)
    view = view_of(
        node("full", full, zone="a"),
        of_disks("empty", 1_000, zone="a"),
        *bound(volume("old", locality=Locality.DISABLED), volume("new")),
        replica("r-1", of="old", on="full", disk="disk-0"),
    )

    assert totals(scored(view, "old", "new")) == {"full": 7, "empty": 5}


def test_what_is_held_and_pending_on_a_node_counts():
    view = view_of(*(of_disks(f"node-{n}", 100) for n in (1, 2, 3)), *bound(volume()))
    crowded = view_of(
        *(of_disks(f"node-{n}", 100) for n in (1, 2, 3)),
        *bound(volume(), volume("other")),
        pending("other-r-1", of="other", node="node-3"),
    )
    ledger = Ledger()
    ledger.put(hold("before", volumes=["other"], nodes=["node-2"], only_candidate=True))

    assert scored(view, "vol", ledger=ledger)["node-1"].balance == pytest.approx(0.9)
    assert scored(view, "vol", ledger=ledger)["node-2"].balance == pytest.approx(0.8 * 8 / 9)
    assert scored(crowded, "vol")["node-3"].balance == pytest.approx(0.8 * 8 / 9)


def test_the_more_is_on_its_way_to_a_node_the_less_it_is_worth_but_never_nothing():
    names = [f"held-{number}" for number in range(8)]
    view = view_of(of_disks("node-1", 100), *bound(volume(), *(volume(name) for name in names)))
    ledger, found = Ledger(), list[float]()

    for name in names:
        ledger.put(hold(name, volumes=[name], nodes=["node-1"], only_candidate=True))
        found.append(scored(view, "vol", ledger=ledger)["node-1"].balance)

    assert found == sorted({*found}, reverse=True)
    assert found[-1] > 0


def test_spread_fills_nodes_evenly_and_pack_keeps_large_disks_whole():
    view = view_of(
        of_disks("large", 1_000),
        of_disks("small", 100),
        of_disks("many", *[100] * 20),
        *bound(volume(size_bytes=50 * GIB)),
    )

    spread = scored(view, "vol")
    pack = scored(view, "vol", balance=Balance.PACK)
    off = scored(view, "vol", balance=Balance.OFF)

    assert [spread[n].balance for n in ("large", "small", "many")] == [0.95, 0.5, 0.975]
    assert [pack[n].balance for n in ("large", "small", "many")] == [0.0, 0.9, 0.9]
    assert totals(off) == {"large": 0, "small": 0, "many": 0}


def test_balance_is_about_disks_that_the_volumes_may_use():
    def tagged(name: str, hdd_bytes: int) -> Node:
        ssd = disk("ssd", tags=["ssd"], maximum_bytes=100 * GIB)
        hdd = disk("hdd", tags=["hdd"], maximum_bytes=100 * GIB, scheduled_bytes=hdd_bytes)
        return node(name, ssd, hdd)

    needed, other = volume(disk_selector=("ssd",)), volume("other", disk_selector=("hdd",))
    view = view_of(
        *(tagged("node-1", 0), tagged("node-2", 90 * GIB), tagged("node-3", 0)),
        *(*bound(needed, other), pending(of="other", node="node-3")),
    )

    assert {*scored(view, "vol").values()} == {Score(9, 0.0, 0.9)}


@given(clusters(own_replicas=True, pending_replicas=True), st.sampled_from(Balance))
def test_scores_are_within_bounds_and_never_contradict_the_filter(cluster, balance):
    view = cluster.view
    answer = ask(view, *cluster.claims)

    found = scored(view, *cluster.claims, balance=balance)

    for name, score in found.items():
        if name in answer.rejected:
            assert score == Score()
        assert 0 <= score.total <= 10
        assert 0 <= score.data <= 1
        assert 0 <= score.balance <= 1


@FEWER
@given(clusters(own_replicas=True, pending_replicas=True), st.sampled_from(Balance), st.randoms())
def test_neither_the_order_nor_the_names_of_candidates_matter(cluster, balance, random):
    names = [str(each.name) for each in cluster.nodes]
    shuffled = random.sample(names, len(names))
    new = dict(zip(names, random.sample([f"other-{n}" for n in names], len(names)), strict=True))
    renamed = msgspec.structs.replace(
        cluster,
        nodes=tuple(
            msgspec.structs.replace(each, name=NodeName(new[each.name])) for each in cluster.nodes
        ),
        replicas=tuple(
            msgspec.structs.replace(
                each,
                node=each.node and NodeName(new[each.node]),
                hard_node_affinity=each.hard_node_affinity
                and NodeName(new[each.hard_node_affinity]),
            )
            for each in cluster.replicas
        ),
    )

    found = scored(cluster.view, *cluster.claims, balance=balance)

    assert scored(cluster.view, *cluster.claims, candidates=shuffled, balance=balance) == found
    again = scored(renamed.view, *cluster.claims, balance=balance)
    assert again == {new[name]: score for name, score in found.items()}


@FEWER
@given(clusters(own_replicas=True), st.data())
def test_a_replica_more_on_a_node_makes_it_no_worse(cluster, data):
    """It has data there, so that nothing but the share of data is to be compared."""
    of = data.draw(st.sampled_from(cluster.volumes))
    on = data.draw(st.sampled_from(cluster.nodes))
    more = replica(
        "one-more", of=of.name, on=on.name, disk=on.disks[0].name, size_bytes=of.size_bytes
    )
    richer = msgspec.structs.replace(cluster, replicas=(*cluster.replicas, more))
    before = scored(cluster.view, *cluster.claims)[on.name]
    after = scored(richer.view, *cluster.claims)[on.name]

    has_data = any(each.volume == of.name for each in cluster.replicas)
    if has_data and on.name in ask(richer.view, *cluster.claims).accepted:
        assert after.data >= before.data - 1e-9


@FEWER
@given(clusters(own_replicas=True, pending_replicas=True), st.data())
def test_history_does_not_change_a_score(cluster, data):
    remembering, view = Extender(GENEROUS), cluster.view
    for _ in range(4):
        some = data.draw(st.lists(st.sampled_from(cluster.claims), min_size=1, unique=True))

        remembered = prioritized(remembering, view, *some)

        assert remembered == prioritized(Extender(GENEROUS), view, *some)


def test_what_any_of_several_nodes_may_get_leaves_scores_alone():
    """As in a burst: the same is held everywhere until the pod before has its node."""
    names = [f"node-{n}" for n in range(1, 6)]
    view = view_of(*(of_disks(name, 100) for name in names), *bound(volume(), volume("other")))
    extender = Extender(GENEROUS)
    extender.ledger.put(hold("before", volumes=["other"], nodes=names))

    first, second = (prioritized(extender, view, "vol") for _ in range(2))

    assert {score.balance for score in first.scores} == {0.9}
    assert second == first


def test_what_changed_on_a_node_is_looked_at_again():
    changes = ChangeLog[NodeName]()
    before = view_of(of_disks("node-1", 100), of_disks("node-2", 100), *bound(volume()))
    fuller = disk("disk-0", maximum_bytes=100 * GIB, scheduled_bytes=50 * GIB)
    after = view_of(node("node-1", fuller), of_disks("node-2", 100), *bound(volume()))
    extender = Extender(GENEROUS)

    def balances(view: ClusterView) -> list[float]:
        followed = msgspec.structs.replace(view, changes=changes)
        return [round(each.balance, 3) for each in prioritized(extender, followed, "vol").scores]

    assert balances(before) == [0.9, 0.9]
    changes.add(NodeName("node-1"))
    assert balances(after) == [0.4, 0.9]
