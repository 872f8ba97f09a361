"""Cordons, drains and evictions."""

from collections.abc import Mapping

import pytest

from tests.unit.actors.world import VIRTUAL_TIME, World, running, world_of

pytestmark = VIRTUAL_TIME

FOR_EVICTION = {"node-drain-policy": "block-for-eviction"}


def three_nodes(settings: Mapping[str, str] | None = None) -> World:
    return world_of(100, 100, 100, settings=settings)


def is_schedulable(world: World, node: str) -> bool:
    [found] = [each for each in world.nodes() if each["metadata"]["name"] == node]
    [condition] = [c for c in found["status"]["conditions"] if c["type"] == "Schedulable"]
    return bool(condition["status"] == "True")


async def test_a_cordoned_node_takes_no_replicas():
    async with running(three_nodes()) as world:
        world.cordon("node-1")
        await world.until(lambda: not is_schedulable(world, "node-1"), within=4)
        await world.use("data", "node-1")
        assert "node-1" not in world.places("data")

        world.cordon("node-1", cordoned=False)

        await world.until(lambda: world.places("data") == ["node-1"], within=60)


async def test_by_default_a_drain_waits_until_the_data_followed_the_pod():
    async with running(three_nodes()) as world:
        await world.use("data", "node-1")
        world.cordon("node-1")
        await world.leave("web", "data")
        await world.hold(lambda: world.longhorn.blocks_drain("node-1"), seconds=60)
        assert world.places("data") == ["node-1"]

        world.run_pod("next", "node-2", "data")

        await world.until(lambda: not world.longhorn.blocks_drain("node-1"), within=60)
        assert "node-2" in world.places("data")


@pytest.mark.parametrize("is_used", [True, False], ids=["by-a-pod", "detached"])
async def test_a_drain_for_eviction_moves_the_replicas(is_used):
    async with running(three_nodes(FOR_EVICTION)) as world:
        await world.use("data", "node-1")
        if not is_used:
            await world.leave("web", "data")

        world.cordon("node-1")
        await world.until(lambda: "node-1" not in world.places("data"), within=60)
        assert {"node-2", "node-3"} & {*world.places("data")}
        if is_used:
            assert world.longhorn.blocks_drain("node-1")
            world.end_pod("web")

        await world.until(lambda: world.state("data") == ("detached", ""), within=10)
        await world.until(lambda: not world.longhorn.blocks_drain("node-1"), within=10)
        await world.until(lambda: len(world.replicas("data")) == 1, within=10)
        await world.hold(lambda: world.state("data") == ("detached", ""), seconds=60)


async def test_a_pod_elsewhere_waits_for_the_end_of_an_eviction():
    async with running(three_nodes(FOR_EVICTION)) as world:
        await world.use("data", "node-1")
        await world.leave("web", "data")
        world.cordon("node-1")
        await world.attached("data", "node-1", within=15)

        world.run_pod("next", "node-2", "data")

        await world.attached("data", "node-2", within=60)
        await world.until(lambda: world.places("data") == ["node-2"], within=60)


async def test_nothing_is_attached_for_an_eviction_without_another_place():
    async with running(world_of(100, settings=FOR_EVICTION)) as world:
        await world.use("data", "node-1")
        await world.leave("web", "data")
        world.cordon("node-1")
        await world.hold(lambda: world.state("data") == ("detached", ""), seconds=60)
        assert world.longhorn.blocks_drain("node-1")

        world.add_node("node-2", 100)

        await world.until(lambda: world.places("data") == ["node-2"], within=60)


async def test_uncordoning_takes_an_eviction_back():
    async with running(three_nodes(FOR_EVICTION)) as world:
        await world.use("data", "node-1")
        world.cordon("node-1")
        await world.until(lambda: len(world.replicas("data")) == 2, within=5)

        world.cordon("node-1", cordoned=False)

        await world.until(lambda: world.places("data") == ["node-1"], within=60)
        assert not world.replicas("data")[0]["spec"]["evictionRequested"]


async def test_a_node_whose_manager_is_away_takes_nothing_and_keeps_its_numbers():
    async with running(three_nodes()) as world:
        await world.provision("data", "more")
        world.run_pod("web", "node-1", "data")
        await world.until(lambda: world.published_gib("node-1") == {"disk-1": 10}, within=10)
        await world.attached("data", "node-1")
        for name in ("node-1", "node-2", "node-3"):
            world.longhorn.set_ready(name, "ManagerPodDown")
        await world.until(lambda: world.ready_nodes() == [], within=4)
        world.run_pod("next", "node-2", "more")
        await world.hold(lambda: world.state("data") == ("attached", "node-1"), seconds=60)
        assert world.state("more") == ("detached", "")

        world.longhorn.set_ready("node-2")
        await world.attached("more", "node-2")
        world.end_pod("web")
        await world.longhorn.delete_volume("data")
        await world.hold(lambda: world.published_gib("node-1") == {"disk-1": 10}, seconds=10)
        world.longhorn.set_ready("node-1")

        await world.until(lambda: world.published_gib("node-1") == {"disk-1": 0}, within=4)
