"""What an instance does when requests fail, and when it looks again."""

import asyncio

import pytest

from tests.unit.leader.bench import Bench, following, leading
from tests.unit.leader.store import Verb


async def test_a_leader_acts_on_while_renewals_fail_but_not_beyond_the_deadline():
    bench = await leading(renew_deadline=5.0)
    bench.store.lose(Verb.REPLACE, times=9)
    bench.store.lose(Verb.READ, times=9)

    for _ in range(4):
        await bench.step(after=1.0)
        assert bench.is_leading
    await bench.step(after=1.0)
    assert not bench.is_leading
    assert bench.reported == [True, False]


async def test_a_failed_renewal_does_not_prolong_what_was_granted_before():
    bench = await leading(renew_deadline=5.0)
    granted = bench.now
    bench.store.lose(Verb.REPLACE, applied=True)

    await bench.step(after=3.0)

    assert bench.leadership.is_held(granted + 4.999)
    assert not bench.leadership.is_held(granted + 5.0)


async def test_after_a_failed_renewal_the_lease_is_read_before_it_is_written():
    bench = await leading()
    bench.store.lose(Verb.REPLACE)
    bench.store.lose(Verb.READ)
    await bench.step(after=1.0)

    assert await bench.step(after=1.0) == [Verb.READ]
    assert await bench.step(after=1.0) == [Verb.READ, Verb.REPLACE]
    assert bench.is_leading


async def test_one_renewal_that_hangs_for_its_whole_deadline_does_not_cost_the_lead():
    bench = await leading()
    bench.store.fault(
        Verb.REPLACE,
        applied=False,
        after=lambda: bench.pass_time(bench.store.asked[-1].deadline_seconds),
    )
    bench.pass_time(1.0)
    pause = await bench.election.step()

    await bench.step(after=pause)

    assert bench.reported == [True]
    assert bench.is_leading


@pytest.mark.parametrize("verb", [Verb.CREATE, Verb.REPLACE])
async def test_a_write_whose_answer_was_lost_is_recognised_as_ours(verb):
    bench = await following() if verb is Verb.REPLACE else Bench()
    bench.store.lose(verb, applied=True)
    await bench.step(after=8.0)
    assert not bench.is_leading
    transitions = bench.lease["spec"]["leaseTransitions"]

    await bench.step(after=1.0)

    assert bench.is_leading
    assert bench.lease["spec"]["leaseTransitions"] == transitions


@pytest.mark.parametrize("arrives", [1, 2], ids=["the-first", "the-second"])
async def test_whichever_of_two_unanswered_writes_arrives_is_recognised(arrives):
    bench = await leading()
    for number in (1, 2):
        bench.store.lose(Verb.REPLACE, applied=number == arrives)
        await bench.step(after=1.0)

    await bench.step(after=1.0)

    assert bench.reported == [True]
    assert bench.lease["spec"]["leaseTransitions"] == 0
    assert bench.leadership.is_held(bench.now + 4.9)


@pytest.mark.parametrize(
    ("deadline", "most"),
    [(6.5, 4.5), (4.0, 2.0), (2.5, 1.25)],
    ids=["long", "two-of-each", "short"],
)
async def test_a_slow_request_may_take_all_but_what_a_second_one_needs(deadline, most):
    bench = await leading(renew_deadline=deadline, retry=1.0)

    await bench.step(after=1.0)

    assert [request.deadline_seconds for request in bench.store.asked] == [most]


async def test_a_leader_tries_again_within_a_period_after_a_renewal_failed():
    bench = await leading(retry=1.0)
    bench.store.lose(Verb.REPLACE, applied=False)
    bench.pass_time(1.0)

    pause = await bench.election.step()

    assert bench.is_leading
    assert 0.5 <= pause <= 0.8
    assert await bench.step(after=pause) == [Verb.READ, Verb.REPLACE]
    assert bench.leadership.is_held(bench.now + 6.4)


async def test_a_leader_renews_every_retry_period_and_followers_look_more_often():
    leader, follower = await leading(retry=2.0), await following(retry=2.0)

    pauses = [await follower.election.step() for _ in range(500)]

    assert await leader.election.step() == 2.0
    assert 1.0 <= min(pauses) < 1.05
    assert 1.55 < max(pauses) <= 1.6


@pytest.mark.parametrize("left", [0.4, 0.001])
async def test_a_follower_looks_no_later_than_when_the_holder_runs_out(left):
    bench = await following()
    bench.pass_time(8.0 - left)

    pause = await bench.election.step()

    assert pause == pytest.approx(left)


async def test_a_follower_that_cannot_read_goes_on_trying_at_its_pace():
    bench = await following()
    bench.store.lose(Verb.READ)
    bench.pass_time(20.0)

    pause = await bench.election.step()

    assert 0.5 <= pause <= 0.8


@pytest.mark.looptime
async def test_a_running_instance_renews_until_it_is_cancelled():
    bench = Bench()
    running = asyncio.create_task(bench.election.run())

    await asyncio.sleep(3.5)
    running.cancel()
    await asyncio.sleep(3.5)

    assert bench.store.verbs == [Verb.READ, Verb.CREATE, *[Verb.REPLACE] * 3]
