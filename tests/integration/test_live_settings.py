"""Settings change while instances run; above all the one that turns the service off."""

import asyncio

from tests.fakes.installed import config_map
from tests.integration.instances import VIRTUAL_TIME, Processes

pytestmark = VIRTUAL_TIME

ENABLED = "scheduler-extender-enabled"
DISABLED_ERROR = "the extender is disabled by the setting scheduler-extender-enabled"


async def is_off(processes: Processes) -> bool:
    return not processes.leaders and processes.holder == "" and processes.addresses() == []


async def test_disabling_gives_back_the_lease_and_the_endpoints():
    async with Processes() as processes:
        await processes.start_all(2)

        processes.server.put(config_map(scheduler_extender_enabled="false"))

        await processes.until(lambda: is_off(processes), within=2)
        await processes.always(lambda: is_off(processes), seconds=20)


async def test_a_disabled_instance_is_ready_and_names_the_setting():
    async with Processes() as processes:
        [process] = await processes.start_all(1)

        processes.server.put(config_map(scheduler_extender_enabled="false"))
        await asyncio.sleep(5)
        answer = await process.filter()

        assert answer is not None
        assert answer.error == DISABLED_ERROR
        assert await process.unready() == ""
        assert (await process.get("/readyz")).text == (
            f"ok; no instance leads: {ENABLED} is false in the ConfigMap "
            "longhorn-scheduler-extender"
        )


async def test_a_service_that_is_off_from_the_start_never_leads():
    async with Processes() as processes:
        processes.server.put(config_map(scheduler_extender_enabled="false"))
        processes.start(0)

        await processes.always(lambda: processes.lease() is None, seconds=10)

        assert processes.addresses() == []
