"""How an instance gives the lease back."""

import pytest

from leader import Collection
from tests.unit.leader.bench import Bench, following, leading
from tests.unit.leader.leases import NAME
from tests.unit.leader.store import Verb


async def test_a_leader_stops_acting_before_it_gives_the_lease_back_once():
    bench = await leading()
    at_write = []
    bench.store.fault(
        Verb.REPLACE, before=lambda: at_write.append((bench.is_leading, [*bench.reported]))
    )

    assert await bench.release() == [Verb.REPLACE]
    assert await bench.release() == []
    assert at_write == [(False, [True, False])]
    assert bench.lease["spec"]["holderIdentity"] == ""
    assert bench.reported == [True, False]


async def test_an_instance_that_never_led_has_nothing_to_give_back():
    bench = await following()

    assert await bench.release() == []
    assert bench.reported == []


@pytest.mark.parametrize("verb", [Verb.CREATE, Verb.REPLACE])
async def test_a_lease_in_doubt_is_read_before_it_is_given_back(verb):
    bench = Bench() if verb is Verb.CREATE else await leading()
    bench.store.lose(verb, applied=True)
    await bench.step(after=1.0)

    asked = await bench.release()

    assert asked == [Verb.READ, Verb.REPLACE]
    assert bench.lease["spec"]["holderIdentity"] == ""


async def test_a_lease_in_doubt_that_cannot_be_read_is_left_for_the_next_time():
    bench = await leading()
    bench.store.lose(Verb.REPLACE)
    await bench.step(after=1.0)
    bench.store.lose(Verb.READ)

    assert await bench.release() == [Verb.READ]
    assert await bench.release() == [Verb.READ, Verb.REPLACE]
    assert bench.lease["spec"]["holderIdentity"] == ""


async def test_a_write_that_lands_while_giving_back_is_given_back_as_well():
    bench = await leading()
    bench.store.lose(Verb.REPLACE)
    await bench.step(after=1.0)
    late = bench.store.asked[-1]
    bench.store.fault(Verb.REPLACE, before=lambda: bench.objects.apply(late))

    asked = await bench.release()

    assert asked == [Verb.READ, Verb.REPLACE, Verb.READ, Verb.REPLACE]
    assert bench.lease["spec"]["holderIdentity"] == ""


@pytest.mark.parametrize("applied", [True, False])
async def test_giving_back_is_tried_again_if_it_is_not_answered(*, applied):
    bench = await leading()
    bench.store.lose(Verb.REPLACE, applied=applied)

    await bench.release()

    assert bench.lease["spec"]["holderIdentity"] == ""
    assert await bench.release() == []


@pytest.mark.parametrize(
    "meddle",
    [
        pytest.param(lambda bench: bench.edit(holderIdentity="them"), id="another-holder"),
        pytest.param(lambda b: b.edit(renewTime="2026-03-01T10:00:09.000000Z"), id="in-our-name"),
        pytest.param(lambda bench: bench.delete(), id="deleted"),
    ],
)
async def test_what_another_holds_or_deleted_is_not_given_back_and_not_ours_any_more(meddle):
    bench = await leading()
    ours = bench.lease
    meddle(bench)
    left = bench.objects.get(Collection.LEASES, NAME)

    assert await bench.release() == [Verb.REPLACE, Verb.READ]
    assert bench.objects.get(Collection.LEASES, NAME) == left
    bench.write(ours)
    assert await bench.release() == []
    await bench.step()
    assert not bench.is_leading


async def test_an_instance_that_may_not_lead_does_not_compete():
    bench = Bench()
    bench.may_lead = False

    pause = await bench.election.step()

    assert bench.store.asked == []
    assert 0.5 <= pause <= 0.8


async def test_a_leader_that_may_not_lead_any_more_gives_back_until_it_is_done():
    bench = await leading()
    bench.may_lead = False
    bench.store.lose(Verb.REPLACE, times=2)

    await bench.step(after=1.0)
    assert not bench.is_leading
    assert bench.lease["spec"]["holderIdentity"] == "us"
    await bench.step(after=1.0)
    assert bench.lease["spec"]["holderIdentity"] == ""

    bench.may_lead = True
    await bench.step(after=1.0)
    assert bench.is_leading
    assert bench.reported == [True, False, True]
    assert bench.lease["spec"]["leaseTransitions"] == 1
