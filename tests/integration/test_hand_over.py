"""A replica that is told to end leaves nothing behind that would keep others waiting."""

import asyncio
from collections.abc import Callable

import pytest

from tests.fakes import Call, Fault, FaultKind, Hang, LostAnswer
from tests.integration.instances import LEASES, SLICES, VIRTUAL_TIME, Answer, Replicas

pytestmark = VIRTUAL_TIME

HAND_OVER_SECONDS = 2.0
"""From the signal until kube-scheduler is answered again."""
STOP_SECONDS = 5.0
"""Most that an end takes, whatever the API server does."""


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("seed", range(6))
async def test_another_replica_answers_within_two_seconds(seed: int, count: int) -> None:
    async with Replicas(seed) as replicas:
        await replicas.start_all(count)
        leaving = replicas.leader
        await asyncio.sleep(replicas.random.uniform(0, 2))

        leaving.terminate()
        await replicas.until(lambda: not leaving.is_leading, within=1.1, glance=0.001)

        await replicas.until(replicas.is_answered, within=HAND_OVER_SECONDS)
        assert replicas.points_at(replicas.leader)
        assert leaving.ended.done()


async def test_a_replica_that_ends_says_so_until_it_is_gone() -> None:
    async with Replicas() as replicas:
        await replicas.start_all(2)
        leaving = replicas.leader
        answers: list[Answer] = []

        leaving.terminate()
        while not leaving.ended.done():
            await asyncio.sleep(0.005)
            answer = await leaving.filter()
            answers += [answer] if answer else []

        assert answers
        assert {(answer.error, answer.closes) for answer in answers} == {
            ("this replica of the extender is shutting down", True)
        }


async def test_a_replica_that_ends_is_not_ready() -> None:
    async with Replicas() as replicas:
        [leaving] = await replicas.start_all(1)

        leaving.terminate()
        await asyncio.sleep(0.01)

        assert await leaving.unready() == "shutting down"


@pytest.mark.parametrize("milliseconds", range(0, 420, 30))
async def test_an_end_at_any_moment_of_the_start_leaves_lease_and_endpoints_free(
    milliseconds: int,
) -> None:
    async with Replicas(milliseconds, latency_seconds=0.1) as replicas:
        replicas.server.latency = lambda _: (0.02, 0.02)
        leaving = replicas.start(0)
        await asyncio.sleep(milliseconds / 1000)

        leaving.terminate()
        await replicas.until(leaving.ended.done, within=1)

        assert replicas.holder == ""
        assert replicas.addresses() == []


def writes_lease(call: Call) -> bool:
    return call.resource == "leases" and call.verb in ("create", "update")


def writes_slice(call: Call) -> bool:
    return call.resource == "endpointslices" and call.verb in ("create", "update")


@pytest.mark.parametrize(
    ("kind", "matches"),
    [
        pytest.param(LostAnswer(hang=True), writes_lease, id="acquired-without-knowing"),
        pytest.param(LostAnswer(hang=True), writes_slice, id="published-without-knowing"),
    ],
)
async def test_what_was_written_without_an_answer_is_taken_back(
    kind: FaultKind, matches: Callable[[Call], bool]
) -> None:
    async with Replicas() as replicas:
        replicas.server.faults = [Fault(kind, matches)]
        leaving = replicas.start(0)
        written = LEASES if matches is writes_lease else SLICES
        await replicas.until(lambda: replicas.server.list(written), within=5)

        leaving.terminate()
        await replicas.until(leaving.ended.done, within=1)

        assert replicas.holder == ""
        assert replicas.addresses() == []


async def test_an_end_before_the_first_list_is_complete_writes_nothing() -> None:
    async with Replicas() as replicas:
        replicas.server.faults = [Fault(Hang(), lambda call: call.resource == "volumes")]
        leaving = replicas.start(0)
        await asyncio.sleep(3)

        leaving.terminate()
        await replicas.until(leaving.ended.done, within=0.1)

        assert {call.verb for call in replicas.server.calls} <= {"watch", "list", "get"}


@pytest.mark.parametrize("silent", [False, True], ids=["refused", "silent"])
@pytest.mark.parametrize("away_seconds", [0.0, 1.0, 7.0])
async def test_an_end_while_the_api_server_is_away_is_bounded(
    away_seconds: float, *, silent: bool
) -> None:
    async with Replicas() as replicas:
        [leaving] = await replicas.start_all(1)
        with replicas.server.outage(silent=silent):
            await asyncio.sleep(away_seconds)

            leaving.terminate()
            await replicas.until(leaving.ended.done, within=STOP_SECONDS)


async def test_an_end_of_a_standby_is_not_noticed() -> None:
    async with Replicas() as replicas:
        await replicas.start_all(3)
        leader, leaving = replicas.leader, replicas.standbys[0]

        leaving.terminate()

        await replicas.always(replicas.is_answered, seconds=12)
        assert replicas.leader is leader
        assert leaving.ended.done()


async def test_a_second_signal_changes_nothing() -> None:
    async with Replicas() as replicas:
        await replicas.start_all(2)
        leaving = replicas.leader

        leaving.terminate()
        await asyncio.sleep(0.02)
        leaving.terminate()

        await replicas.until(replicas.is_answered, within=HAND_OVER_SECONDS)
        assert leaving.ended.done()


async def test_a_rolling_restart_never_stops_the_answers_for_long() -> None:
    async with Replicas() as replicas:
        await replicas.start_all(3)
        for number, old in enumerate([*replicas.all]):
            old.terminate()
            await replicas.until(old.ended.done, within=1)
            started = replicas.start(number)
            await replicas.until(started.is_ready, within=1)
            await replicas.until(replicas.is_answered, within=HAND_OVER_SECONDS)

        assert len(replicas.leaders) == 1
