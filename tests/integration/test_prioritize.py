"""What /prioritize is answered by leaders and others, and that it leaves nothing behind."""

import json

from extender import Balance
from tests.fakes.installed import LONGHORN
from tests.integration.instances import NODES, NOT_THE_LEADER, VIRTUAL_TIME, Processes
from tests.integration.scheduling import ONE, THREE, TWO, serving

pytestmark = VIRTUAL_TIME


async def test_the_leader_scores_every_candidate_and_keeps_the_connection():
    async with Processes() as processes:
        await processes.start_all(3)

        answer = await processes.leader.prioritize("pair")

        assert answer is not None
        assert (answer.status, answer.closes, [*answer.scores]) == (200, False, [*NODES])
        assert answer.scores["node-1"] == 0  # which /filter rejects


async def test_others_have_no_score_and_close_the_connection():
    async with Processes() as processes:
        await processes.start_all(3)

        answers = [await each.prioritize() for each in processes.standbys for _ in range(3)]

        error = json.dumps({"error": NOT_THE_LEADER}, separators=(",", ":")).encode()
        assert {tuple(each) for each in answers if each} == {(503, True, error)}


async def test_balance_is_what_the_setting_says():
    async with serving(balance=Balance.PACK) as world:
        await world.add_pods("first", "second", gib=40)
        world.provision("first")
        world.place("first", ONE)
        await world.settled()

        answer = await world.leader.prioritize(body=world.request("second"))

        assert answer is not None
        assert answer.scores == {ONE: 4, TWO: 0, THREE: 0}


RANK = "chosen_node_rank"


async def test_the_place_of_the_chosen_node_among_the_scores_is_counted_once():
    """The node of the first pod has no room for the second, and was chosen all the same."""
    async with serving() as world:
        await world.add_pods("first", "second")
        await world.accept("first")
        world.select("first", TWO)
        await world.settled()
        assert world.count(f"{RANK}_count") == 0  # there were no scores

        await world.accept("second", ONE, THREE)
        await world.leader.prioritize(body=world.request("second"))
        world.select("second", TWO)
        await world.settled()
        world.bind("second", TWO)
        await world.settled()

        assert (world.count(f"{RANK}_count"), world.count(f"{RANK}_sum")) == (1, 3)


async def test_who_leads_no_more_forgets_the_scores():
    async with serving() as world:
        await world.add_pods("first")
        leader = world.leader
        await leader.prioritize(body=world.request("first"))
        assert (await leader.get("/debug/state")).json()["scores"]

        world.set_config(enabled="false")
        await world.processes.until(lambda: not leader.is_leading, within=10)

        assert (await leader.get("/debug/state")).json()["scores"] == []


async def test_attached_bytes_are_counted_by_the_leader_alone():
    async with serving(2) as world:
        await world.add_pods("first", "second", gib=10)
        for claim in ("first", "second"):
            world.provision(claim)
            world.place(claim, ONE)
        await world.settled()
        for claim, node in (("first", ONE), ("second", TWO)):
            volume = world.server.get("volumes.longhorn.io", world.volume(claim), LONGHORN)
            assert volume is not None
            status = {"state": "attached", "currentNodeID": node}
            world.server.put({**volume, "status": {**volume.get("status", {}), **status}})
        await world.settled()

        counted = {
            each.pod: [
                world.count("attached_bytes_total", each, data=data) for data in ("local", "remote")
            ]
            for each in world.processes.all
        }
        [standby] = world.processes.standbys
        expected = {world.leader.pod: [10 * 2**30] * 2, standby.pod: [0, 0]}
        assert counted == expected
