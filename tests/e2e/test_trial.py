"""`trial` on the real control plane: the charter's tables, and that nothing is left behind."""

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from random import Random
from typing import Any, NamedTuple

import pytest

from cli.trial.cases import PREFIX
from cli.trial.manifests import SELECTOR
from tests.actors import api as kinds
from tests.actors.longhorn import NAMESPACE
from tests.e2e.effort import runs
from tests.e2e.extender import ROOT
from tests.e2e.injecting import SECOND
from tests.e2e.lending import ONE_LOOP
from tests.e2e.longhorn_1_13 import reached, upgraded
from tests.e2e.second_scheduler import second_scheduler
from tests.e2e.users import ADMIN, EXTENDER
from tests.e2e.waiting import until
from tests.e2e.world import Disks, World

pytestmark = ONE_LOOP

EVEN: tuple[Disks, ...] = ({"disk": 400},) * 4
UNEVEN: tuple[Disks, ...] = tuple({"disk": size} for size in (800, 400, 200, 200))
DISKS_1_TO_4: tuple[Disks, ...] = tuple(
    {f"disk-{number}": 100 for number in range(count)} for count in range(1, 5)
)
TWO_SMALL: tuple[Disks, ...] = tuple({"disk": size} for size in (400, 400, 99, 99))
QUICK = ("--image", "none", "--settle", "2", "--within", "60", "--yes")
GONE_SECONDS = 60.0
MOMENTS = runs(3, report=10)
START_SECONDS = 1.0
"""Until then Python itself is interrupted."""
LONGEST_SECONDS = 25.0
"""A trial of this file takes about as long."""


class Ended(NamedTuple):
    """A command that has ended."""

    status: int
    stdout: str
    stderr: str

    @property
    def by_way(self) -> dict[str, dict[str, Any]]:
        """Return the runs of the only case, by who was asked."""
        found = json.loads(self.stdout)
        return {each["way"]: each for each in found["cases"]}


async def begin(world: World, *words: str, user: str = ADMIN) -> Process:
    config = world.control_plane.users.kubeconfig(user)
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "cli", "trial", *words, "--kubeconfig", str(config)),
        cwd=ROOT,
        stdout=PIPE,
        stderr=PIPE,
    )


async def end(process: Process) -> Ended:
    stdout, stderr = await process.communicate()
    return Ended(process.returncode or 0, stdout.decode(), stderr.decode())


async def trial(world: World, *words: str, user: str = ADMIN) -> Ended:
    return await end(await begin(world, *QUICK, "-o", "json", *words, user=user))


async def left(world: World) -> list[str]:
    """Name what there is of trials."""
    found = []
    for kind, namespace, selector in (
        (kinds.STORAGE_CLASSES, "", SELECTOR),
        (kinds.PODS, PREFIX, ""),
        (kinds.STATEFUL_SETS, PREFIX, ""),
        (kinds.CLAIMS, PREFIX, ""),
        (kinds.PERSISTENT_VOLUMES, "", ""),
        (kinds.VOLUMES, NAMESPACE, ""),
        (kinds.REPLICAS, NAMESPACE, ""),
    ):
        query = {"labelSelector": selector} if selector else {}
        listed = await world.api.list(kind, namespace, **query)
        found += [f"{kind.kind} {each['metadata']['name']}" for each in listed]
    if await world.api.get(kinds.NAMESPACES, PREFIX) is not None:
        found.append(f"Namespace {PREFIX}")
    return found


def counts(case: dict[str, Any]) -> list[int]:
    return [*case["runs"][0]["by_node"].values()]


GOALS = {
    "1a": (EVEN, [4, 4, 4, 4]),
    "1b": (UNEVEN, [8, 4, 2, 2]),
    "2": (DISKS_1_TO_4, [1, 0, 0, 0]),
    "3a": (TWO_SMALL, [0, 4, 0, 0]),
    "3b": (EVEN, [4, 4, 4, 4]),
}
"""The nodes of the charter, and where the pods belong, by node: the one with most room first."""
LEFT_TO_CHANCE = ("1a", "2")
"""Without the extender all goes well now and then."""


@pytest.mark.parametrize(
    "goal", [pytest.param("1b", marks=pytest.mark.gate), "1a", "2", "3a", "3b"]
)
async def test_goals_fail_without_the_extender_and_are_met_with_it(share_world, report, goal):
    disks, wanted = GOALS[goal]
    async with share_world() as world:
        await world.add_nodes(*disks)
        found = await trial(world, "--case", goal)
        await until(lambda: _nothing(world), within=GONE_SECONDS, what=lambda: found.stderr)

    assert found.status == 0, found.stderr
    assert counts(found.by_way["ours"]) == wanted
    ours, alone = (found.by_way[way]["runs"][0] for way in ("ours", "none"))
    assert (ours["without_room"], ours["moved"], ours["waiting"]) == (0, 0, 0)
    assert ours["running"] == alone["running"] == ours["pods"]
    report.measured(
        f"`trial --case {goal}`, by node",
        f"without the extender {counts(found.by_way['none'])}, with it {wanted}",
    )
    if goal not in LEFT_TO_CHANCE:
        assert alone["without_room"] or alone["moved"]


async def test_a_burst_has_the_classes_of_the_cluster(share_world):
    async with share_world() as world:
        await world.add_nodes(*EVEN)
        parameters = {"numberOfReplicas": "3", "dataLocality": "best-effort"}
        await world.add_class("shop", **parameters)
        await world.add_class("same", **parameters)
        await world.add_class("secret", encrypted="true")
        found = await trial(world, "--case", "burst", "--way", "ours")
        await until(lambda: _nothing(world), within=GONE_SECONDS, what=lambda: found.stderr)

    report = json.loads(found.stdout)
    assert [each["told"] for each in report["cases"]] == [
        "16 pods, 1 replica, best-effort",
        "5 pods, 3 replicas, best-effort",
    ]
    assert [each["why"] for each in report["skipped"]] == [
        "a class has encrypted, which is not tried"
    ]
    assert {run["running"] for each in report["cases"] for run in each["runs"]} == {16, 5}
    for name in ("shop", "secret", "node-1-", "longhorn-local"):
        assert name not in found.stdout


async def test_longhorns_own_extender_is_tried_as_well(share_world, tmp_path):
    async with share_world(extenders=[]) as world:
        await world.add_nodes(*UNEVEN)
        ways = [word for way in ("none", "longhorn", "ours") for word in ("--way", way)]
        async with (
            second_scheduler(world, tmp_path),
            upgraded(world),
            reached(world, tmp_path) as theirs,
        ):
            found = await trial(world, "--case", "1b", "--scheduler", SECOND, *ways)
            calls = len(theirs.calls())

    assert found.status == 0, found.stderr
    assert [*found.by_way] == ["none", "longhorn", "ours"]
    assert calls
    assert counts(found.by_way["ours"]) == [8, 4, 2, 2]
    assert found.by_way["longhorn"]["runs"][0]["without_room"] == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
async def test_a_trial_that_is_cut_off_leaves_nothing(share_world, number):
    """At moments by chance; `trial clean` is only needed after a kill."""
    random = Random(os.environ.get("E2E_SEED", "1") + number.name)
    async with share_world() as world:
        await world.add_nodes(*TWO_SMALL)
        for _ in range(MOMENTS):
            process = await begin(world, *QUICK, "--case", "1b", "--case", "3a")
            await asyncio.sleep(random.uniform(START_SECONDS, LONGEST_SECONDS))
            if process.returncode is None:
                process.send_signal(number)
            ended = await end(process)
            if number is signal.SIGKILL:
                cleaned = await end(await begin(world, "clean"))
                assert cleaned.status == 0, cleaned.stderr
            assert "Traceback" not in ended.stderr
            await until(lambda: _nothing(world), within=GONE_SECONDS, what=ended.stderr)
            again = await end(await begin(world, "clean"))
            assert again == (0, "there is nothing of a trial\n", "")


REFUSED: dict[str, tuple[tuple[Disks, ...], tuple[str, ...], str]] = {
    "one node": (EVEN[:1], (), "nodes that take a pod with a new volume, and there are 1"),
    "no room to leave": (EVEN, ("--leave", "399"), "no size of claims meets the limits"),
    "full disks": (
        ({"disk": 0},) * 2,
        (),
        "nodes that take a pod with a new volume, and there are 0",
    ),
    "no such case": (EVEN, ("--case", "4"), "--case 4: use some of 1a, 1b, 2, 3a, 3b, burst"),
    "all skipped": (EVEN, ("--case", "1b"), "nothing of it can be tried here: 1b: nodes have"),
    "no 1.13": (EVEN, ("--way", "longhorn"), "scheduler-extender-enabled is not true here"),
}


async def test_what_cannot_be_tried_is_refused_in_a_line(share_world):
    for disks, words, wanted in REFUSED.values():
        async with share_world() as world:
            await world.add_nodes(*disks)
            found = await trial(world, *words)
            assert (found.status, found.stdout) == (2, "")
            assert found.stderr.count("\n") == 1
            assert wanted in found.stderr
            assert await left(world) == []


async def test_who_may_not_is_told_so(share_world):
    async with share_world() as world:
        await world.add_nodes(*EVEN)
        found = await trial(world, user=EXTENDER)

    assert found.status == 2
    assert found.stderr.startswith("error: you may not create namespaces, delete namespaces, ")
    assert found.stderr.count("\n") == 1


async def test_a_namespace_of_somebody_else_is_left_alone(share_world):
    async with share_world() as world:
        await world.add_nodes(*EVEN)
        found = await trial(world, "--namespace", "default")
        cleaned = await end(await begin(world, "clean", "--namespace", "default"))

    assert found.stderr.startswith("error: namespace default exists: a trial is under way, ")
    assert cleaned.status == 2
    assert "namespace default is not of a trial" in cleaned.stderr


async def _nothing(world: World) -> bool:
    return await left(world) == []
