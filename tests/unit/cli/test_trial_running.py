"""Trials in virtual time: what they find, and that nothing of them is left, whenever they end."""

import asyncio
from collections.abc import Callable, Sequence

import pytest

from app.errors import InputError
from cli.trial.cases import GOALS, PREFIX, cases
from cli.trial.cleaning import Cleaning
from cli.trial.looking import Plan
from cli.trial.manifests import Asking, Way
from cli.trial.outcome import Outcome
from cli.trial.running import Trial
from cli.trial.sizing import Sizing
from tests.builders import GIB, storage_class
from tests.unit.cli.trial_cluster import CutOffError, TrialCluster

pytestmark = pytest.mark.looptime

EVEN = {"n1": 4, "n2": 4, "n3": 4, "n4": 4}
UNEVEN = {"n1": 8, "n2": 4, "n3": 2, "n4": 2}
DISKS_1_TO_4 = {"n4": 4, "n3": 3, "n2": 2, "n1": 1}
LONGHORN = "longhorn-system"
CLASS = storage_class("shop")


def plan(
    slots: dict[str, int], *wanted: str, ways: Sequence[Way] = (Way.NONE, Way.OURS), repeat: int = 1
) -> Plan:
    sizing = Sizing(claim_bytes=GIB, slots=slots)
    found, _ = cases(sizing, [CLASS], wanted or GOALS)
    return Plan(
        namespace=PREFIX,
        longhorn_namespace=LONGHORN,
        own_namespace="longhorn-scheduler",
        metrics_port=9505,
        sizing=sizing,
        cases=found,
        asking=[Asking(way=each, scheduler="s", image="pause") for each in ways],
        repeat=repeat,
        within_seconds=60,
        settle_seconds=5,
    )


def cleaning(cluster: TrialCluster) -> Cleaning:
    return Cleaning(cluster, PREFIX, LONGHORN)


async def tried(
    cluster: TrialCluster, planned: Plan, say: Callable[[str], None] = lambda _: None
) -> list[Outcome]:
    trial = Trial(cluster, planned, say)
    await trial.run()
    assert not [each for each in cluster.objects if each[0] not in ("namespaces", "storageclasses")]
    await cleaning(cluster).remove_all()
    assert cluster.objects == {}
    return trial.outcomes


@pytest.mark.parametrize(
    ("goal", "slots", "by_node"),
    [
        ("1a", EVEN, {"n1": 4, "n2": 4, "n3": 4, "n4": 4}),
        ("1b", UNEVEN, {"n1": 8, "n2": 4, "n3": 2, "n4": 2}),
        ("2", DISKS_1_TO_4, {"n4": 1}),
        ("2", EVEN, {"n1": 1}),
        ("3a", EVEN, {"n2": 4}),
        ("3a", UNEVEN, {"n2": 4}),
        ("3b", EVEN, {"n1": 4, "n2": 4, "n3": 4, "n4": 4}),
        ("burst", UNEVEN, {"n1": 8, "n2": 4, "n3": 2, "n4": 2}),
    ],
)
async def test_pods_that_ask_go_where_they_belong(goal, slots, by_node):
    found = await tried(TrialCluster(slots), plan(slots, goal, ways=[Way.OURS]))

    assert [(each.by_node, each.is_right) for each in found] == [(by_node, True)]


@pytest.mark.parametrize(("goal", "slots"), [("1b", UNEVEN), ("3a", EVEN)])
async def test_pods_that_do_not_ask_are_told_apart(goal, slots):
    found = await tried(TrialCluster(slots), plan(slots, goal, repeat=2))

    expected = [(way, run) for run in (1, 2) for way in (Way.NONE, Way.OURS)]
    assert [(each.way, each.run) for each in found] == expected
    assert [each.is_right for each in found] == [False, True] * 2
    assert all(each.without_room for each in found if each.way is Way.NONE)


async def test_way_that_nobody_answers_is_left_out():
    cluster, lines = TrialCluster(UNEVEN, answers=False), list[str]()
    found = await tried(cluster, plan(UNEVEN, "1b"), lines.append)

    assert [each.way for each in found] == [Way.NONE]
    assert "ours is left out: a pod that asks gets no node in 60 s" in "\n".join(lines)


async def test_run_that_cannot_be_set_up_is_told():
    """The rooms of nodes are other ones than they were."""
    cluster = TrialCluster({**EVEN, "n3": 1})
    found = await tried(cluster, plan(EVEN, "3a", ways=[Way.OURS]))

    assert [each.problem for each in found] == ["other nodes could not be filled beforehand"]
    assert not found[0].is_right


@pytest.mark.parametrize("goal", ["2", "3a", "3b"])
async def test_nothing_is_left_whichever_request_was_the_last(goal):
    whole = TrialCluster(EVEN)
    planned = plan(EVEN, goal)
    await tried(whole, planned)
    cut_off = set[bool]()
    for number in range(1, whole.requests + 1):
        cluster = TrialCluster(EVEN)
        cluster.end_at = number
        try:
            await Trial(cluster, planned, lambda _: None).run()
        except CutOffError:
            cut_off.add(bool(cluster.objects))
        cluster.end_at = 0
        await cleaning(cluster).remove_all()
        assert cluster.objects == {}, f"ended after request {number}"
        assert await cleaning(cluster).remove_all() is False
    assert cut_off == {True}


async def test_clean_that_was_cut_off_is_finished_by_the_next():
    planned = plan(UNEVEN, "1b", ways=[Way.OURS])
    for number in range(1, 60):
        cluster = TrialCluster(UNEVEN)
        cluster.end_at = 8
        with pytest.raises(CutOffError):
            await Trial(cluster, planned, lambda _: None).run()
        cluster.end_at = cluster.requests + number
        try:
            await cleaning(cluster).remove_all()
        except CutOffError:
            await cleaning(cluster).remove_all()
        assert cluster.objects == {}


async def test_namespace_of_somebody_else_is_left_alone():
    cluster = TrialCluster(EVEN)
    theirs = {"metadata": {"name": PREFIX, "labels": {}}}
    cluster.objects["namespaces", PREFIX] = theirs

    with pytest.raises(InputError, match="is not of a trial"):
        await cleaning(cluster).remove_all()
    assert cluster.objects == {("namespaces", PREFIX): theirs}


async def test_trial_that_is_cancelled_leaves_what_it_found():
    """As with Ctrl-C: outcomes so far stay."""
    cluster, lines = TrialCluster(UNEVEN), list[str]()
    trial = Trial(cluster, plan(UNEVEN, "1b", repeat=5), lines.append)
    task = asyncio.create_task(trial.run())
    while len(trial.outcomes) < 3:  # noqa: ASYNC110 (in virtual time)
        await asyncio.sleep(0.1)
    task.cancel()
    await asyncio.wait([task])
    await cleaning(cluster).remove_all()

    assert len(trial.outcomes) == 3
    assert lines[-1].startswith("[3/10] 1b (")
    assert cluster.objects == {}
