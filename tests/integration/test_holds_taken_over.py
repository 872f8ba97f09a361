"""A leader that ends leaves nothing open, and the next one holds what it finds in the cluster."""

import asyncio

import pytest

from tests.fakes import Answer, Call, Delay, Fault
from tests.integration.instances import VIRTUAL_TIME, Process
from tests.integration.scheduling import ONE, THREE, TWO, Held, serving

pytestmark = VIRTUAL_TIME


async def test_a_leader_that_ends_waits_until_the_last_choice_shows():
    async with serving(2) as world:
        await world.add_pods("first", "other")
        await world.accept("first")
        leader = world.leader

        leader.terminate()
        await asyncio.sleep(0.6)
        assert leader.is_leading
        world.select("first", TWO)
        took = await world.processes.until(lambda: not leader.is_leading, within=1, glance=0.001)
        await world.answers()

        assert took < 0.1
        assert await world.held_nodes("first") == (TWO,)
        assert (await world.ask("other")).accepted == [ONE, THREE]


async def test_a_leader_that_ends_waits_a_second_at_most():
    async with serving(2) as world:
        await world.add_pods("first")
        await world.accept("first")
        leader = world.leader

        leader.terminate()
        took = await world.processes.until(lambda: not leader.is_leading, within=2, glance=0.001)

        assert took == pytest.approx(1.0, abs=0.05)


async def test_turning_the_service_off_and_on_keeps_what_shows_in_the_cluster():
    async with serving() as world:
        await world.add_pods("first")
        await world.accept("first")
        world.select("first", ONE)
        await world.settled()
        before, leader = await world.held(), world.leader
        world.set_config(enabled="false")
        await world.processes.until(lambda: not leader.is_leading, within=2)
        assert await world.held(leader) == []

        world.set_config(enabled="true")
        await world.answers()

        assert await world.held() == before


async def test_a_claim_heard_of_before_its_volume_is_held():
    """Before Kubernetes 1.35 nothing else tells of the node."""
    async with serving(2) as world:
        await world.add_pods("first", "other")
        await world.accept("first")
        world.select("first", ONE)
        await world.settled()
        held = await world.held()
        world.server.watch_delay = lambda call: 1.0 if call.resource == "persistentvolumes" else 0.0

        world.provision("first")
        await world.replace_leader()
        await asyncio.sleep(2)

        assert held == [Held("first", "chosen", (ONE,), (world.volume("first"),))]
        assert await world.held() == held


async def test_a_pod_whose_volume_is_gone_delays_no_take_over():
    """It has a node and waits for ever for what its claim was bound to."""
    async with serving(2) as world:
        await world.add_pods("stuck")
        claim = world.of("persistentvolumeclaims", "stuck")
        world.server.put({**claim, "spec": {**claim["spec"], "volumeName": "gone"}})
        world.bind("stuck", ONE)
        await world.settled()
        leader = world.leader

        leader.terminate()
        await world.processes.until(lambda: not leader.is_leading, within=0.1)

        assert await world.processes.until(world.processes.addresses, within=5) < 2
        await world.answers(within=0.1)


@pytest.mark.parametrize("end", [Process.terminate, Process.kill])
async def test_the_next_leader_holds_the_same(end):
    """One of two volumes is placed. What else shows is told in unit/extender/holds/test_rebuild."""
    async with serving(2) as world:
        world.add_pod("first", "a", "b", gib=30)
        await world.add_pods("other", gib=50)
        await world.accept("first")
        for claim in ("a", "b"):
            world.select(claim, ONE)
            world.provision(claim)
        world.bind("first", ONE)
        world.place("a", ONE)
        world.place("b")
        await world.settled()
        before = await world.held()

        await world.replace_leader(end)

        assert await world.held() == before
        assert (await world.ask("other")).accepted == [TWO, THREE]
        await world.settled()
        assert (await world.held())[0] == before[0]


async def test_a_frozen_leader_that_resumes_holds_nothing():
    async with serving(2) as world:
        await world.add_pods("first", "second", "other")
        await world.accept("first")
        world.select("first", ONE)
        await world.settled()
        old = world.leader
        old.freeze()
        await world.processes.until(lambda: not old.is_leading, within=7)
        await world.answers()
        await world.accept("second", TWO)

        old.resume()
        refused = await world.ask("other", of=old)
        await asyncio.sleep(2)

        assert refused.error == "this instance of the extender is not the leader"
        assert await world.held(old) == []
        assert (await world.ask("other")).accepted == [THREE]


TAKE_OVER_SECONDS = 9.5
JUST_BEGUN = "this instance of the extender has just begun to lead; ask again"


def lists_pods(call: Call) -> bool:
    return (call.verb, call.resource, call.name) == ("list", "pods", "")


async def test_a_new_leader_answers_only_when_it_knows_what_to_hold():
    async with serving(2) as world:
        await world.add_pods("first", "other")
        await world.accept("first")
        world.select("first", ONE)
        world.server.faults.append(Fault(Delay(3.0), lists_pods))
        leader = world.leader
        leader.terminate()
        await world.processes.until(lambda: not leader.is_leading, within=2)
        await world.processes.until(lambda: world.processes.leaders, within=2)

        for _ in range(5):
            assert (await world.ask("other")).error == JUST_BEGUN
            assert world.processes.addresses() == []
            await asyncio.sleep(0.5)
        await world.answers(within=2)

        assert (await world.ask("other")).accepted == [TWO, THREE]


async def test_a_new_leader_that_cannot_list_the_pods_tries_until_it_can():
    async with serving(2) as world:
        await world.add_pods("first")
        await world.accept("first")
        world.select("first", ONE)
        failing = Fault(Answer(500), lists_pods, times=None)
        world.server.faults.append(failing)
        world.leader.kill()
        await world.processes.until(lambda: world.processes.leaders, within=TAKE_OVER_SECONDS)
        await asyncio.sleep(20)
        assert (await world.ask("first")).error == JUST_BEGUN

        world.server.faults.remove(failing)
        await world.answers(within=8.5)

        assert await world.held_nodes("first") == (ONE,)


async def test_a_listing_that_outlives_its_term_counts_for_nothing():
    """The pod is bound and runs before the second term begins."""
    async with serving() as world:
        await world.add_pods("first")
        await world.accept("first")
        world.select("first", ONE)
        leader = world.leader
        with world.server.outage():
            await world.processes.until(lambda: not leader.is_leading, within=7)
        world.server.latency = lambda call: (0.0, 3.0) if lists_pods(call) else (0.0, 0.0)
        # The longest pause of a watch, what proves that it goes on, and the lease.
        await world.processes.until(lambda: leader.is_leading, within=13)
        world.set_config(enabled="false")
        await world.processes.until(lambda: not leader.is_leading, within=2)
        world.run("first", ONE)

        world.set_config(enabled="true")
        await world.answers()

        assert await world.held() == []
