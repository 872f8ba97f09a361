"""DiskSchedules in a living instance: they come and go at run time, and holds wait for grants.

Each node has one disk of 100 GiB, and a claim is of 60 GiB. All disks have one UUID, so that only
the first node's disk has a DiskSchedule.
"""

import asyncio
from collections.abc import Mapping

from extender.holds import End
from tests.builders import GIB, conditions, document
from tests.fakes import DISK_SCHEDULES
from tests.integration.instances import VIRTUAL_TIME
from tests.integration.scheduling import ONE, THREE, TWO, World, serving

pytestmark = VIRTUAL_TIME

NOTICED_SECONDS = 32.0
"""An absent kind is asked for every half minute."""
OTHERS = [TWO, THREE]


def put(
    world: World, asks: Mapping[str, int], granted: Mapping[str, int], refused: str = ""
) -> None:
    """Write the DiskSchedule of the first node; sizes are GiB by replica."""
    entries = {
        name: {"state": "scheduled", "scheduledSize": size * GIB} for name, size in granted.items()
    }
    if refused:
        entries[refused] = {"state": "rejected", "scheduledSize": 0}
    world.server.put(
        document(
            "DiskSchedule",
            "uuid-disk-1",
            spec={
                "name": "disk-1",
                "nodeID": ONE,
                "replicas": {name: size * GIB for name, size in asks.items()},
            },
            status={"replicas": entries, "conditions": conditions(Ready="True")},
        )
    )


def install(world: World) -> None:
    """Install the definition, and an object by which the first node is full."""
    world.server.add_resource(DISK_SCHEDULES)
    put(world, {"x": 60}, {"x": 60})


def uninstall(world: World) -> None:
    world.server.remove_resource("longhorn.io", "diskschedules")
    world.server.compact()


async def accepted(world: World) -> list[str]:
    return (await world.ask("first")).accepted


async def test_disks_are_counted_by_them_while_they_are_served():
    async with serving(2) as world:
        await world.add_pods("first")
        assert await accepted(world) == [ONE, *OTHERS]

        for _ in range(2):
            install(world)
            await asyncio.sleep(NOTICED_SECONDS)
            assert await accepted(world) == OTHERS

            uninstall(world)
            await asyncio.sleep(NOTICED_SECONDS)
            assert await accepted(world) == [ONE, *OTHERS]

        assert [await each.unready() for each in world.processes.all] == ["", ""]


async def test_an_old_role_does_no_harm_until_the_kind_is_served():
    async with serving() as world:
        world.processes.denied = {"diskschedules.longhorn.io"}
        await asyncio.sleep(300)
        assert await world.leader.is_ready()

        install(world)
        await asyncio.sleep(NOTICED_SECONDS + 121)

        [process] = world.processes.all
        unready = await process.unready()
        assert unready.startswith(
            "diskschedules.longhorn.io: not heard of for more than 120 s: 403"
        )
        world.processes.denied = set()
        await world.processes.until(process.is_ready, within=9)


async def test_a_hold_stands_until_its_replica_is_granted():
    async with serving() as world:
        world.set_config(node_reservation_timeout="60")
        install(world)
        put(world, {}, {})
        await asyncio.sleep(NOTICED_SECONDS)
        await world.add_pods("first", "second")
        replica = f"{world.volume('first')}-r-1"
        await world.accept("first")
        world.bind("first", ONE)
        world.provision("first")
        world.place("first", ONE)

        put(world, {replica: 60}, {})
        await world.settled()
        assert await world.held_nodes("first") == (ONE,)
        assert (await world.ask("second")).accepted == OTHERS

        put(world, {replica: 60, "x": 50}, {"x": 50}, refused=replica)
        await world.settled()
        assert await world.held_nodes("first") == (ONE,)
        assert (await world.ask("second")).accepted == OTHERS

        put(world, {replica: 60}, {replica: 60})
        await world.settled()
        assert await world.held_nodes("first") == ()
        assert world.ended(End.CONFIRMED) == 1
