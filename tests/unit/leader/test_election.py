"""How an instance takes the lease and keeps it, and what it reports.

What must hold whatever happens is in `test_election_stateful`; here are exact moments, numbers of
requests, and what others read.
"""

from collections.abc import Mapping

import pytest
from structlog.testing import capture_logs

from leader import Conflict
from tests.unit.leader.bench import Bench, following, leading
from tests.unit.leader.leases import lease
from tests.unit.leader.store import Verb

LATER = "2026-03-01T10:00:09.000000Z"


async def begun() -> Bench:
    return Bench()


async def test_the_first_instance_creates_the_lease_and_leads():
    bench = Bench()

    asked = await bench.step()

    assert asked == [Verb.READ, Verb.CREATE]
    assert bench.is_leading
    assert bench.lease["spec"]["holderIdentity"] == "us"
    assert bench.lease["spec"]["leaseTransitions"] == 0


async def test_a_leader_renews_without_reading():
    bench = await leading()
    before = bench.lease["spec"]

    asked = await bench.step(after=1.0)

    assert asked == [Verb.REPLACE]
    assert bench.lease["spec"] == {**before, "renewTime": bench.lease["spec"]["renewTime"]}
    assert bench.lease["spec"]["renewTime"] > before["renewTime"]


async def test_a_leader_acts_from_the_start_of_its_write_until_the_deadline():
    bench = Bench(renew_deadline=5.0)
    bench.store.fault(Verb.CREATE, before=lambda: bench.pass_time(2.0))
    start = bench.now

    await bench.step()

    assert bench.leadership.is_held(start + 4.999)
    assert not bench.leadership.is_held(start + 5.0)


async def test_an_instance_that_was_stopped_looks_before_it_writes():
    bench = await leading()

    asked = await bench.step(after=7.0)

    assert asked == [Verb.READ, Verb.REPLACE]
    assert bench.is_leading
    assert bench.reported == [True, False, True]


async def test_an_instance_waits_from_when_the_answer_came():
    bench = Bench()
    bench.write(lease())
    bench.store.fault(Verb.READ, before=lambda: bench.pass_time(60.0))
    await bench.step()

    assert await bench.step(after=7.9) == [Verb.READ]
    assert not bench.is_leading
    assert await bench.step(after=0.1) == [Verb.READ, Verb.REPLACE]
    assert bench.is_leading


@pytest.mark.parametrize(
    ("start", "after", "asked"),
    [
        pytest.param(begun, 0.0, [Verb.READ, Verb.CREATE, Verb.READ], id="create"),
        pytest.param(following, 8.0, [Verb.READ, Verb.REPLACE, Verb.READ], id="take-over"),
        pytest.param(leading, 1.0, [Verb.REPLACE, Verb.READ], id="renew"),
    ],
)
async def test_the_loser_of_a_race_sees_the_winner_at_once(start, after, asked):
    bench = await start()
    for verb in (Verb.CREATE, Verb.REPLACE):
        bench.store.fault(verb, before=lambda: bench.write(lease(renewed=LATER)))

    assert await bench.step(after=after) == asked
    assert bench.election.holder == "them"
    assert not bench.is_leading


async def test_a_step_gives_up_after_two_conflicts():
    bench = await leading()
    for _ in range(2):
        bench.store.fault(Verb.REPLACE, applied=False, answer=Conflict())

    asked = await bench.step(after=1.0)

    assert asked == [Verb.REPLACE, Verb.READ, Verb.REPLACE]
    assert not bench.is_leading


@pytest.mark.parametrize(
    ("meddle", "write", "transitions"),
    [
        pytest.param(lambda bench: bench.write(bench.lease), Verb.REPLACE, 0, id="only-version"),
        pytest.param(lambda b: b.edit(leaseDurationSeconds=1), Verb.REPLACE, 0, id="duration"),
        pytest.param(lambda b: b.edit(leaseTransitions=40), Verb.REPLACE, 40, id="transitions"),
        pytest.param(lambda b: b.edit(holderIdentity=""), Verb.REPLACE, 1, id="emptied"),
        pytest.param(lambda bench: bench.delete(), Verb.CREATE, 0, id="deleted"),
    ],
)
async def test_a_leader_goes_on_in_the_same_step_if_nobody_else_holds_the_lease(
    meddle, write, transitions
):
    bench = await leading()
    meddle(bench)

    asked = await bench.step(after=1.0)

    assert asked == [Verb.REPLACE, Verb.READ, write]
    assert bench.is_leading
    assert bench.reported == [True]
    assert bench.lease["spec"]["leaseDurationSeconds"] == 8
    assert bench.lease["spec"]["leaseTransitions"] == transitions


@pytest.mark.parametrize("other", ["us", "them"])
async def test_a_record_of_ours_that_was_followed_by_another_is_not_ours_when_it_comes_back(other):
    bench = await leading()
    older = bench.lease["spec"]
    bench.edit(holderIdentity=other)
    await bench.step(after=1.0)
    bench.edit(**older)

    await bench.step(after=1.0)

    assert not bench.is_leading


async def test_the_holder_is_the_one_last_seen():
    bench = Bench()
    holders = [bench.election.holder]
    bench.write(lease("them"))
    await bench.step()
    holders.append(bench.election.holder)
    await bench.step(after=8.0)
    holders.append(bench.election.holder)
    bench.edit(holderIdentity=None, leaseDurationSeconds=None)
    bench.may_lead = False
    await bench.step()
    holders.append(bench.election.holder)

    assert holders == ["", "them", "us", ""]


async def test_claims_and_renewals_add_to_the_annotations_found_and_a_release_keeps_them():
    def count(found: Mapping[str, str]) -> dict[str, str]:
        return {"count": str(int(found["count"]) + 1)}

    bench = Bench(annotate=count)
    bench.write(lease("", annotations={"count": "1", "note": "mine"}))

    for number in (2, 3):
        await bench.step(after=1.0)
        assert bench.lease["metadata"]["annotations"] == {"count": str(number), "note": "mine"}
    await bench.release()
    assert bench.lease["spec"]["holderIdentity"] == ""
    assert bench.lease["metadata"]["annotations"] == {"count": "3", "note": "mine"}


async def test_the_turns_of_leadership_are_logged():
    bench = Bench()

    with capture_logs() as lines:
        await bench.step()
        await bench.step(after=1.0)
        await bench.release()

    assert [line["event"] for line in lines] == ["lease.acquired", "lease.lost", "lease.released"]
    assert all(line["identity"] == "us" for line in lines)


@pytest.mark.parametrize(
    ("start", "verb", "event"),
    [
        pytest.param(leading, Verb.REPLACE, "lease.unwritten", id="leader"),
        pytest.param(following, Verb.READ, "lease.unreadable", id="follower"),
    ],
)
async def test_trouble_is_logged_once_and_again_after_it_ended(start, verb, event):
    bench = await start()

    with capture_logs() as lines:
        for _ in range(2):
            bench.store.lose(verb, times=3)
            for _ in range(4):
                await bench.step(after=0.5)

    warnings = [line["event"] for line in lines if line["log_level"] == "warning"]
    assert warnings == [event] * 2
