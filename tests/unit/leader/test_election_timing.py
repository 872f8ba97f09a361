"""How a candidate fares when requests fail, and when it looks again."""

import pytest

from leader import Failed
from tests.unit.leader.bench import Bench, following, leading
from tests.unit.leader.leases import lease
from tests.unit.leader.store import Verb


async def test_a_leader_acts_on_while_renewals_fail_but_not_beyond_the_deadline() -> None:
    bench = await leading()
    bench.lose(Verb.REPLACE, times=9)
    bench.lose(Verb.READ, times=9)

    for _ in range(4):
        await bench.step(after=1.0)
        assert bench.is_leading
    await bench.step(after=1.0)
    assert not bench.is_leading
    assert bench.told == [True, False]


async def test_a_failed_renewal_does_not_prolong_what_was_granted_before() -> None:
    bench = await leading()
    granted = bench.clock()
    bench.lose(Verb.REPLACE, applied=True)

    await bench.step(after=3.0)

    assert bench.election.is_leading(granted + 4.999)
    assert not bench.election.is_leading(granted + 5.0)


async def test_after_a_failed_renewal_the_lease_is_read_before_it_is_written() -> None:
    bench = await leading()
    bench.lose(Verb.REPLACE)
    await bench.step(after=1.0)

    asked = await bench.step(after=1.0)

    assert asked == [Verb.READ, Verb.REPLACE]
    assert bench.is_leading


async def test_after_a_failed_read_nothing_is_written() -> None:
    bench = Bench()
    bench.lose(Verb.READ)

    asked = await bench.step()

    assert asked == [Verb.READ]
    assert not bench.is_leading


async def test_one_renewal_that_hangs_for_its_whole_deadline_does_not_cost_the_lead() -> None:
    bench = await leading()
    bench.fault(
        Verb.REPLACE,
        applied=False,
        after=lambda: bench.clock.advance(bench.store.asked[-1].deadline_seconds),
    )
    bench.clock.advance(1.0)
    pause = await bench.election.step()

    await bench.step(after=pause)

    assert bench.told == [True]
    assert bench.is_leading


@pytest.mark.parametrize("verb", [Verb.CREATE, Verb.REPLACE])
async def test_a_write_whose_answer_was_lost_is_recognised_as_ours(verb: Verb) -> None:
    bench = await following() if verb is Verb.REPLACE else Bench()
    bench.lose(verb, applied=True)
    await bench.step(after=8.0)
    assert bench.lease["spec"]["holderIdentity"] == "us"
    assert not bench.is_leading
    transitions = bench.lease["spec"]["leaseTransitions"]

    await bench.step(after=1.0)

    assert bench.is_leading
    assert bench.lease["spec"]["leaseTransitions"] == transitions


@pytest.mark.parametrize("arrives", [1, 2], ids=["the-first", "the-second"])
async def test_whichever_of_two_unanswered_writes_arrives_is_recognised(arrives: int) -> None:
    bench = await leading()
    for number in (1, 2):
        bench.lose(Verb.REPLACE, applied=number == arrives)
        await bench.step(after=1.0)

    await bench.step(after=1.0)

    assert bench.told == [True]
    assert bench.lease["spec"]["leaseTransitions"] == 0
    assert bench.election.is_leading(bench.clock() + 4.9)


async def test_a_refusal_is_like_no_answer() -> None:
    bench = await following()
    bench.fault(Verb.REPLACE, applied=False, answer=Failed(why="403 forbidden"))

    await bench.step(after=8.0)

    assert not bench.is_leading
    assert bench.lease["spec"]["holderIdentity"] == "them"


async def test_two_requests_fit_into_the_renew_deadline() -> None:
    bench = await leading(renew_deadline=5.0)
    await bench.step(after=6.0)

    assert sum(request.deadline_seconds for request in bench.store.asked) <= 5.0


async def test_a_leader_renews_every_retry_period() -> None:
    bench = Bench(retry=2.0)

    assert await bench.election.step() == 2.0


async def test_followers_look_spread_and_more_often_than_leaders_renew() -> None:
    bench = await following(retry=2.0)

    pauses = [await bench.election.step() for _ in range(500)]

    assert 1.0 <= min(pauses) < 1.05
    assert 1.55 < max(pauses) <= 1.6


async def test_two_followers_do_not_look_in_step() -> None:
    first, second = await following(seed=1), await following(seed=2)

    assert await first.election.step() != await second.election.step()


@pytest.mark.parametrize("left", [0.4, 0.1, 0.001])
async def test_a_follower_looks_no_later_than_when_the_holder_runs_out(left: float) -> None:
    bench = await following()
    bench.clock.advance(8.0 - left)

    pause = await bench.election.step()

    assert pause == pytest.approx(left)


@pytest.mark.parametrize("seed", range(5))
async def test_a_follower_leads_when_the_holder_has_run_out(seed: int) -> None:
    bench = Bench(seed=seed)
    bench.write(lease())
    start, pause = bench.clock(), await bench.election.step()

    while not bench.is_leading:
        bench.clock.advance(pause)
        pause = await bench.election.step()

    assert bench.clock() - start == pytest.approx(8.0)


async def test_a_follower_that_cannot_read_goes_on_trying_at_its_pace() -> None:
    bench = await following()
    bench.lose(Verb.READ, times=3)

    pauses = []
    for _ in range(3):
        bench.clock.advance(20.0)
        pauses.append(await bench.election.step())

    assert all(0.5 <= pause <= 0.8 for pause in pauses)
