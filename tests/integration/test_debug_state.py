"""/debug/state shows everything behind the answers, to those who ask for it in the settings."""

from typing import Any

import pytest

from tests.integration.instances import NODES, VIRTUAL_TIME, Processes

pytestmark = VIRTUAL_TIME


async def test_it_is_not_served_unless_it_is_wanted():
    async with Processes() as processes:
        [leader] = await processes.start_all(1)

        assert (await leader.get("/debug/state")).status_code == 404


@pytest.mark.parametrize("role", ["leader", "standby"])
async def test_role_lease_and_versions_are_shown(role):
    async with Processes(debug=True) as processes:
        await processes.start_all(2)
        [standby] = processes.standbys
        shown = {"leader": processes.leader, "standby": standby}[role]

        async def knows_the_holder() -> bool:
            state.update((await shown.get("/debug/state")).json())
            return bool(state["instance"]["holder"])

        state: dict[str, Any] = {}
        await processes.until(knows_the_holder, within=5)

        assert state["instance"]["role"] == role
        assert state["instance"]["holder"] == processes.holder
        assert state["instance"]["unready"] == ""
        assert state["settings"]["pod_scheduling_timeout_seconds"] == 5
        assert state["mode"] == "capacity"
        absent = state["kinds"].pop("diskschedules.longhorn.io")
        assert (absent["objects"], absent["trouble"]) == (0, "")
        assert all(kind["version"] for kind in state["kinds"].values())
        assert {"persistentvolumeclaims", "replicas.longhorn.io"} <= state["kinds"].keys()


async def test_holds_and_what_they_charge_are_shown():
    async with Processes(debug=True, pods=1) as processes:
        [leader] = await processes.start_all(1)

        answer = await leader.filter(body=processes.request("pair"))
        state = (await leader.get("/debug/state")).json()

        assert answer is not None
        [hold] = state["holds"]
        assert (hold["pod"], hold["state"]) == ("default/pair", "open")
        assert hold["nodes"] == answer.accepted
        charged = {
            name: [each["pod"] for each in node["holds"]] for name, node in state["nodes"].items()
        }
        assert charged == {
            name: ["default/pair"] if name in answer.accepted else [] for name in NODES
        }
        disk = state["nodes"]["node-1"]["disks"][0]
        assert disk["limit_bytes"] - disk["scheduled_bytes"] == disk["logical_headroom_bytes"]


async def test_pods_that_got_no_node_are_shown():
    async with Processes(debug=True) as processes:
        [leader] = await processes.start_all(1)

        await leader.filter(body=processes.request("quad", "node-1"))
        state = (await leader.get("/debug/state")).json()

        [waiting] = state["waiting"]
        assert (waiting["pod"], waiting["woken"]) == ("default/quad", False)


async def test_the_last_scores_are_shown_until_the_pod_is_asked_about_again():
    async with Processes(debug=True) as processes:
        [leader] = await processes.start_all(1)

        request = processes.request("pair")
        answer = await leader.prioritize(body=request)
        state = (await leader.get("/debug/state")).json()

        assert answer is not None
        [shown] = state["scores"]
        assert (shown["pod"], shown["candidates"]) == ("default/pair", len(NODES))
        assert {name: score["total"] for name, score in shown["best"].items()} == answer.scores
        assert {*shown["best"]["node-1"]} == {"total", "data", "balance"}

        await leader.filter(body=request)
        assert (await leader.get("/debug/state")).json()["scores"] == []
