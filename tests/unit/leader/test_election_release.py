"""How a candidate gives the lease back."""

from collections.abc import Callable

import pytest

from leader import Collection
from tests.unit.leader.bench import Bench, following, leading
from tests.unit.leader.leases import NAME
from tests.unit.leader.store import Verb


async def test_a_released_lease_is_free_and_short() -> None:
    bench = await leading()

    asked = await bench.release(after=1.0)

    assert asked == [Verb.REPLACE]
    spec = bench.lease["spec"]
    assert spec["holderIdentity"] == ""
    assert spec["leaseDurationSeconds"] == 1
    assert spec["renewTime"] == spec["acquireTime"]
    assert spec["leaseTransitions"] == 0


async def test_a_released_lease_is_taken_at_the_next_look() -> None:
    leaving = await leading()
    other = Bench(objects=leaving.objects, clock=leaving.clock, identity="other")
    await other.step()
    await leaving.release()

    await other.step(after=0.8)

    assert other.is_leading
    assert other.lease["spec"]["leaseTransitions"] == 1


async def test_a_leader_stops_acting_before_it_gives_the_lease_back() -> None:
    bench = await leading()
    state_at_write = []
    bench.fault(Verb.REPLACE, before=lambda: state_at_write.append((bench.is_leading, bench.told)))

    await bench.release()

    assert state_at_write == [(False, [True, False])]


async def test_a_candidate_that_never_led_has_nothing_to_give_back() -> None:
    bench = await following()

    assert await bench.release() == []
    assert bench.told == []


async def test_giving_back_twice_does_nothing_more() -> None:
    bench = await leading()
    await bench.release()

    assert await bench.release() == []
    assert bench.told == [True, False]


async def test_a_lease_in_doubt_is_read_before_it_is_given_back() -> None:
    bench = await leading()
    bench.lose(Verb.REPLACE, applied=True)
    await bench.step(after=1.0)

    asked = await bench.release()

    assert asked == [Verb.READ, Verb.REPLACE]
    assert bench.lease["spec"]["holderIdentity"] == ""


async def test_a_lease_taken_without_an_answer_is_given_back_too() -> None:
    bench = Bench()
    bench.lose(Verb.CREATE, applied=True)
    await bench.step()
    assert not bench.is_leading

    await bench.release()

    assert bench.lease["spec"]["holderIdentity"] == ""


async def test_a_write_that_lands_while_giving_back_is_given_back_as_well() -> None:
    bench = await leading()
    bench.lose(Verb.REPLACE)
    await bench.step(after=1.0)
    late = bench.store.asked[-1]
    bench.fault(Verb.REPLACE, before=lambda: bench.objects.apply(late))

    asked = await bench.release()

    assert asked == [Verb.READ, Verb.REPLACE, Verb.READ, Verb.REPLACE]
    assert bench.lease["spec"]["holderIdentity"] == ""


@pytest.mark.parametrize("applied", [True, False])
async def test_giving_back_is_tried_again_if_it_is_not_answered(*, applied: bool) -> None:
    bench = await leading()
    bench.lose(Verb.REPLACE, applied=applied)

    await bench.release()

    assert bench.lease["spec"]["holderIdentity"] == ""
    assert await bench.release() == []


async def test_giving_back_that_failed_altogether_is_done_when_called_again() -> None:
    bench = await leading()
    bench.lose(Verb.REPLACE, times=2)
    await bench.release()
    assert bench.lease["spec"]["holderIdentity"] == "us"

    await bench.release()

    assert bench.lease["spec"]["holderIdentity"] == ""


@pytest.mark.parametrize(
    "meddle",
    [
        pytest.param(lambda bench: bench.edit(holderIdentity="them"), id="another-holder"),
        pytest.param(
            lambda bench: bench.edit(renewTime="2026-03-01T10:00:09.000000Z"), id="in-our-name"
        ),
    ],
)
async def test_what_somebody_else_holds_is_not_given_back(
    meddle: Callable[[Bench], None],
) -> None:
    bench = await leading()
    meddle(bench)
    spec = bench.lease["spec"]

    asked = await bench.release()

    assert asked == [Verb.REPLACE, Verb.READ]
    assert bench.lease["spec"] == spec


async def test_a_deleted_lease_is_not_given_back() -> None:
    bench = await leading()
    bench.delete()

    asked = await bench.release()

    assert asked == [Verb.REPLACE, Verb.READ]
    assert bench.objects.get(Collection.LEASES, NAME) is None


async def test_a_candidate_may_lead_again_after_giving_back() -> None:
    bench = await leading()
    await bench.release()

    await bench.step(after=1.0)

    assert bench.is_leading
    assert bench.told == [True, False, True]
    assert bench.lease["spec"]["leaseTransitions"] == 1


async def test_a_leader_that_may_not_lead_any_more_gives_the_lease_back() -> None:
    bench = await leading()
    bench.may_lead = False

    await bench.step(after=1.0)

    assert not bench.is_leading
    assert bench.told == [True, False]
    assert bench.lease["spec"]["holderIdentity"] == ""


async def test_who_may_not_lead_does_not_compete() -> None:
    bench = Bench()
    bench.may_lead = False

    pause = await bench.election.step()

    assert bench.store.asked == []
    assert bench.objects.get(Collection.LEASES, NAME) is None
    assert 0.5 <= pause <= 0.8


async def test_who_may_not_lead_gives_back_until_it_is_done() -> None:
    bench = await leading()
    bench.may_lead = False
    bench.lose(Verb.REPLACE, times=2)

    await bench.step(after=1.0)
    assert bench.lease["spec"]["holderIdentity"] == "us"
    await bench.step(after=1.0)
    assert bench.lease["spec"]["holderIdentity"] == ""


async def test_who_may_lead_again_competes_again() -> None:
    bench = await leading()
    bench.may_lead = False
    await bench.step(after=1.0)
    bench.may_lead = True

    await bench.step(after=1.0)

    assert bench.is_leading
