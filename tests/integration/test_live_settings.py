"""Settings change while replicas run; above all the one that turns the service off."""

import asyncio

import pytest
from prometheus_client import generate_latest

from app.config import NAME
from tests.integration.instances import (
    NAMESPACE,
    VIRTUAL_TIME,
    Replica,
    Replicas,
    config_map,
    setting,
)

pytestmark = VIRTUAL_TIME

ENABLED = "scheduler-extender-enabled"
DISABLED_ERROR = "the extender is disabled by the setting scheduler-extender-enabled"


async def is_off(replicas: Replicas) -> bool:
    return not replicas.leaders and replicas.holder == "" and replicas.addresses() == []


async def test_disabling_gives_back_the_lease_and_the_endpoints() -> None:
    async with Replicas() as replicas:
        await replicas.start_all(2)

        replicas.server.put(config_map(scheduler_extender_enabled="false"))

        await replicas.until(lambda: is_off(replicas), within=2)
        await replicas.always(lambda: is_off(replicas), seconds=20)


async def test_a_disabled_leader_refuses_as_soon_as_it_hears_of_it() -> None:
    async with Replicas() as replicas:
        await replicas.start_all(1)

        replicas.server.put(config_map(scheduler_extender_enabled="false"))
        await asyncio.sleep(0.01)
        answer = await replicas.ask()

        assert answer is not None
        assert (answer.error, answer.closes) == (DISABLED_ERROR, True)


async def test_a_disabled_replica_is_ready_and_names_the_setting() -> None:
    async with Replicas() as replicas:
        [replica] = await replicas.start_all(1)

        replicas.server.put(config_map(scheduler_extender_enabled="false"))
        await asyncio.sleep(5)
        answer = await replica.filter()

        assert answer is not None
        assert answer.error == DISABLED_ERROR
        assert await replica.unready() == ""


async def test_a_service_that_is_off_from_the_start_never_leads() -> None:
    async with Replicas() as replicas:
        replicas.server.put(config_map(scheduler_extender_enabled="false"))
        replicas.start(0)

        await replicas.always(lambda: replicas.lease() is None, seconds=10)

        assert replicas.addresses() == []


async def test_enabled_again_it_leads_again() -> None:
    async with Replicas() as replicas:
        await replicas.start_all(3)
        replicas.server.put(config_map(scheduler_extender_enabled="false"))
        await replicas.until(lambda: is_off(replicas), within=2)

        replicas.server.put(config_map(scheduler_extender_enabled="true"))

        await replicas.until(replicas.is_answered, within=2)


async def test_a_longhorn_setting_wins_over_the_config_map() -> None:
    async with Replicas() as replicas:
        await replicas.start_all(1)

        replicas.server.put(setting(ENABLED, "false"))
        await replicas.until(lambda: is_off(replicas), within=2)
        replicas.server.put(config_map(scheduler_extender_enabled="true"))
        await replicas.always(lambda: is_off(replicas), seconds=5)

        replicas.server.delete("settings.longhorn.io", ENABLED, NAMESPACE)
        await replicas.until(replicas.is_answered, within=2)


def settings_errors(replica: Replica) -> str:
    [line] = [
        line
        for line in generate_latest(replica.registry).decode().splitlines()
        if line.startswith("longhorn_scheduler_extender_settings_errors_total ")
    ]
    return line.split()[1]


@pytest.mark.parametrize("value", ["maybe", "", "off", "false!"])
async def test_nonsense_keeps_the_value_in_force_and_is_counted(value: str) -> None:
    async with Replicas() as replicas:
        [replica] = await replicas.start_all(1)

        replicas.server.put(config_map(scheduler_extender_enabled=value))

        await replicas.always(replicas.is_answered, seconds=5)
        assert settings_errors(replica) == "1.0"


async def test_nonsense_does_not_turn_on_what_is_off() -> None:
    async with Replicas() as replicas:
        await replicas.start_all(1)
        replicas.server.put(config_map(scheduler_extender_enabled="false"))
        await replicas.until(lambda: is_off(replicas), within=2)

        replicas.server.put(config_map(scheduler_extender_enabled="maybe"))

        await replicas.always(lambda: is_off(replicas), seconds=5)


async def test_without_the_config_map_the_defaults_hold() -> None:
    async with Replicas() as replicas:
        replicas.server.put(config_map(scheduler_extender_enabled="false"))
        replicas.start(0)
        await asyncio.sleep(3)

        replicas.server.delete("configmaps", NAME, NAMESPACE)

        await replicas.until(replicas.is_answered, within=2)


async def test_other_config_maps_of_the_namespace_do_not_matter() -> None:
    async with Replicas() as replicas:
        await replicas.start_all(1)
        other = config_map(scheduler_extender_enabled="false")
        other["metadata"]["name"] = "other"

        replicas.server.put(other)

        await replicas.always(replicas.is_answered, seconds=5)
