"""How a candidate takes the lease and keeps it, and what it tells."""

from collections.abc import Callable, MutableMapping
from typing import Any

import pytest
from structlog.testing import capture_logs

from leader import Absent, Conflict
from tests.unit.leader.bench import Bench, following, leading
from tests.unit.leader.leases import lease
from tests.unit.leader.store import Verb


async def test_the_first_candidate_creates_the_lease_and_leads() -> None:
    bench = Bench()

    asked = await bench.step()

    assert asked == [Verb.READ, Verb.CREATE]
    assert bench.is_leading
    assert bench.lease["spec"]["holderIdentity"] == "us"
    assert bench.lease["spec"]["leaseTransitions"] == 0


async def test_a_leader_renews_without_reading() -> None:
    bench = await leading()
    before = bench.lease["spec"]

    asked = await bench.step(after=1.0)

    assert asked == [Verb.REPLACE]
    assert bench.lease["spec"] == {**before, "renewTime": bench.lease["spec"]["renewTime"]}
    assert bench.lease["spec"]["renewTime"] > before["renewTime"]


async def test_a_leader_acts_until_the_deadline_and_not_at_it() -> None:
    bench = await leading(renew_deadline=5.0)
    start = bench.clock()

    assert bench.election.is_leading(start + 4.999)
    assert not bench.election.is_leading(start + 5.0)


async def test_a_leader_acts_from_the_start_of_its_write() -> None:
    bench = Bench()
    bench.fault(Verb.CREATE, before=lambda: bench.clock.advance(2.0))
    start = bench.clock()

    await bench.step()

    assert bench.election.is_leading(start + 4.999)
    assert not bench.election.is_leading(start + 5.0)


async def test_a_renewal_that_took_longer_than_the_deadline_does_not_lead() -> None:
    bench = await leading()
    bench.fault(Verb.REPLACE, after=lambda: bench.clock.advance(30.0))

    await bench.step(after=1.0)

    assert not bench.is_leading


async def test_a_candidate_that_was_stopped_looks_before_it_writes() -> None:
    bench = await leading()

    asked = await bench.step(after=6.0)

    assert asked == [Verb.READ, Verb.REPLACE]
    assert bench.is_leading


async def test_a_candidate_waits_from_when_the_answer_came() -> None:
    bench = Bench()
    bench.write(lease())
    bench.fault(Verb.READ, before=lambda: bench.clock.advance(2.0))
    await bench.step()

    await bench.step(after=7.9)
    assert not bench.is_leading
    await bench.step(after=0.1)
    assert bench.is_leading


async def test_a_read_that_hung_does_not_make_its_record_old() -> None:
    bench = Bench()
    bench.write(lease())
    bench.fault(Verb.READ, before=lambda: bench.clock.advance(60.0))

    asked = await bench.step()

    assert asked == [Verb.READ]


async def test_an_expired_lease_is_taken_over_the_version_read() -> None:
    bench = await following()
    bench.fault(Verb.REPLACE, before=lambda: bench.edit(renewTime="2026-03-01T10:00:09.000000Z"))

    asked = await bench.step(after=8.0)

    assert asked == [Verb.READ, Verb.REPLACE, Verb.READ]
    assert not bench.is_leading
    assert bench.lease["spec"]["holderIdentity"] == "them"


async def test_the_loser_of_a_race_to_create_sees_the_winner_at_once() -> None:
    bench = Bench()
    bench.fault(Verb.CREATE, before=lambda: bench.write(lease()))

    asked = await bench.step()

    assert asked == [Verb.READ, Verb.CREATE, Verb.READ]
    assert bench.election.holder == "them"
    assert not bench.is_leading


async def test_a_lease_of_another_that_renews_is_never_taken() -> None:
    bench = await following()

    for second in range(60):
        bench.edit(renewTime=f"2026-03-01T10:00:{second:02}.500000Z")
        assert await bench.step(after=1.0) == [Verb.READ]

    assert not bench.is_leading


async def test_annotating_a_dead_leaders_lease_does_not_keep_it_alive() -> None:
    bench = await following()

    for second in range(8):
        bench.write(lease(annotations={"note": str(second)}))
        await bench.step(after=1.0)

    assert bench.is_leading
    assert bench.lease["metadata"]["annotations"] == {"note": "7"}


async def test_a_step_gives_up_after_two_conflicts() -> None:
    bench = await leading()
    for _ in range(2):
        bench.fault(Verb.REPLACE, applied=False, answer=Conflict())

    asked = await bench.step(after=1.0)

    assert asked == [Verb.REPLACE, Verb.READ, Verb.REPLACE]
    assert not bench.is_leading


async def test_a_leader_stops_the_moment_its_renewal_is_refused() -> None:
    bench = await leading()
    bench.edit(holderIdentity="them")
    led_at_second_look = []
    bench.fault(Verb.READ, before=lambda: led_at_second_look.append(bench.is_leading))

    await bench.step(after=1.0)

    assert led_at_second_look == [False]
    assert not bench.is_leading
    assert bench.lease["spec"]["holderIdentity"] == "them"


@pytest.mark.parametrize(
    "meddle",
    [
        pytest.param(lambda bench: bench.write(bench.lease), id="only-the-version"),
        pytest.param(lambda bench: bench.edit(leaseDurationSeconds=1), id="duration"),
        pytest.param(lambda bench: bench.edit(leaseTransitions=40), id="transitions"),
    ],
)
async def test_a_leader_goes_on_if_its_record_still_is_its_own(
    meddle: Callable[[Bench], None],
) -> None:
    bench = await leading()
    meddle(bench)

    asked = await bench.step(after=1.0)

    assert asked == [Verb.REPLACE, Verb.READ, Verb.REPLACE]
    assert bench.is_leading
    assert bench.told == [True]
    assert bench.lease["spec"]["leaseDurationSeconds"] == 8


async def test_a_leader_waits_if_another_renews_in_its_name() -> None:
    bench = await leading()
    bench.edit(renewTime="2026-03-01T10:00:09.000000Z")

    await bench.step(after=1.0)
    assert not bench.is_leading
    await bench.step(after=7.9)
    assert not bench.is_leading
    await bench.step(after=0.1)
    assert bench.is_leading


async def test_a_leader_that_sees_another_holder_stops_without_a_write() -> None:
    bench = await leading()
    bench.lose(Verb.REPLACE)
    await bench.step(after=1.0)
    assert bench.is_leading
    bench.edit(holderIdentity="them")

    asked = await bench.step(after=1.0)

    assert asked == [Verb.READ]
    assert not bench.is_leading


async def test_an_older_record_of_its_own_is_not_what_a_leader_goes_on_from() -> None:
    bench = await leading()
    older = bench.lease["spec"]
    await bench.step(after=1.0)
    bench.edit(**older)

    await bench.step(after=1.0)

    assert not bench.is_leading


async def test_a_record_that_was_lost_to_another_is_not_ours_when_it_comes_back() -> None:
    bench = await leading()
    older = bench.lease["spec"]
    bench.edit(holderIdentity="them")
    await bench.step(after=1.0)
    bench.edit(**older)

    await bench.step(after=1.0)

    assert not bench.is_leading


async def test_a_leader_takes_an_emptied_lease_back() -> None:
    bench = await leading()
    bench.edit(holderIdentity="")

    await bench.step(after=1.0)

    assert bench.is_leading
    assert bench.lease["spec"]["leaseTransitions"] == 1


async def test_a_leader_writes_a_deleted_lease_again() -> None:
    bench = await leading()
    bench.delete()

    asked = await bench.step(after=1.0)

    assert asked == [Verb.REPLACE, Verb.READ, Verb.CREATE]
    assert bench.is_leading
    assert bench.told == [True]


async def test_a_leader_whose_lease_is_deleted_does_not_act_until_it_has_another() -> None:
    bench = await leading()
    bench.delete()
    bench.lose(Verb.CREATE)

    await bench.step(after=1.0)

    assert not bench.is_leading


async def test_a_candidate_that_saw_the_holder_does_not_use_the_leases_deletion() -> None:
    bench = await following()
    bench.delete()

    await bench.step(after=7.0)
    await bench.step(after=7.9)
    assert not bench.is_leading
    await bench.step(after=0.1)
    assert bench.is_leading


async def test_a_candidate_started_after_the_deletion_creates_the_lease() -> None:
    bench = await following()
    bench.delete()
    newcomer = Bench(objects=bench.objects, clock=bench.clock, identity="newcomer")

    await newcomer.step()

    assert newcomer.is_leading


async def test_a_restarted_process_waits_for_the_lease_in_its_own_name() -> None:
    dead = await leading()
    restarted = Bench(objects=dead.objects, clock=dead.clock)

    await restarted.step()
    await restarted.step(after=7.9)
    assert not restarted.is_leading
    await restarted.step(after=0.1)
    assert restarted.is_leading
    assert restarted.lease["spec"]["leaseTransitions"] == 1


async def test_an_absent_answer_to_a_write_is_no_licence_to_act() -> None:
    bench = await leading()
    bench.fault(Verb.REPLACE, applied=False, answer=Absent())
    bench.lose(Verb.READ)

    await bench.step(after=1.0)

    assert not bench.is_leading


async def test_a_change_is_told_once() -> None:
    bench = await leading()
    for _ in range(3):
        await bench.step(after=1.0)
    bench.edit(holderIdentity="them")
    for _ in range(3):
        await bench.step(after=1.0)

    assert bench.told == [True, False]


async def test_who_leads_is_told_when_its_time_ran_out_unnoticed() -> None:
    bench = await leading()
    bench.lose(Verb.READ)

    await bench.step(after=20.0)

    assert bench.told == [True, False]


async def test_a_lapse_between_two_steps_is_told_with_the_return() -> None:
    bench = await leading()

    await bench.step(after=5.0)

    assert bench.is_leading
    assert bench.told == [True, False, True]


async def test_the_holder_is_the_one_last_seen() -> None:
    bench = Bench()
    holders = [bench.election.holder]
    bench.write(lease("them"))
    await bench.step()
    holders.append(bench.election.holder)
    bench.edit(holderIdentity="others")
    await bench.step()
    holders.append(bench.election.holder)
    await bench.step(after=8.0)
    holders.append(bench.election.holder)
    bench.edit(holderIdentity=None, leaseDurationSeconds=None)
    bench.may_lead = False
    await bench.step()
    holders.append(bench.election.holder)

    assert holders == ["", "them", "others", "us", ""]


async def test_the_turns_of_leadership_are_logged() -> None:
    bench = Bench()

    with capture_logs() as lines:
        await bench.step()
        await bench.step(after=1.0)
        await bench.release()

    assert [line["event"] for line in lines] == ["lease.acquired", "lease.lost", "lease.released"]
    assert all(line["identity"] == "us" for line in lines)


async def test_trouble_is_logged_once_and_again_after_it_ended() -> None:
    bench = await leading()

    with capture_logs() as lines:
        for _ in range(2):
            bench.lose(Verb.REPLACE, times=3)
            for _ in range(4):
                await bench.step(after=0.5)

    assert warnings_of(lines) == ["lease.unwritten"] * 2


async def test_a_followers_trouble_is_logged_once_and_again_after_it_ended() -> None:
    bench = await following()

    with capture_logs() as lines:
        for _ in range(2):
            bench.lose(Verb.READ, times=3)
            for _ in range(4):
                await bench.step(after=0.5)

    assert warnings_of(lines) == ["lease.unreadable"] * 2


def warnings_of(lines: list[MutableMapping[str, Any]]) -> list[str]:
    return [line["event"] for line in lines if line["log_level"] == "warning"]
