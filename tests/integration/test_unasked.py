"""Pods with the resource that got a node without a request are counted by the leader."""

import asyncio

from app.config import RESOURCE
from app.instance.unasked import PERIOD_SECONDS, REMEMBER_SECONDS
from tests.fakes import Answer, Call, Fault, Object
from tests.integration.instances import VIRTUAL_TIME, Process
from tests.integration.scheduling import ONE, World, serving

pytestmark = VIRTUAL_TIME


def starting(name: str, *, asks: bool = True, phase: str = "Pending", node: str = ONE) -> Object:
    """Build a pod that has a node."""
    resources = {"limits": {RESOURCE: "1"}} if asks else None
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
        "spec": {
            "nodeName": node,
            "containers": [{"name": "main"}],
            "initContainers": [{"name": "first", "resources": resources}],
        },
        "status": {"phase": phase},
    }


def counted(world: World) -> float:
    return world.count("unasked_pods_total")


async def test_each_pod_that_nobody_asked_about_is_counted_once():
    async with serving(2) as world:
        world.server.put(starting("one"))
        world.server.put(starting("two"))
        await asyncio.sleep(REMEMBER_SECONDS + 4 * PERIOD_SECONDS)

        assert counted(world) == 2
        others = [world.count("unasked_pods_total", each) for each in world.processes.standbys]
        assert others == [0]


async def test_other_pods_are_not_counted():
    async with serving() as world:
        world.server.put(starting("plain", asks=False))
        world.server.put(starting("runs", phase="Running"))
        world.server.put(starting("waits", node=""))
        await asyncio.sleep(2 * PERIOD_SECONDS)

        assert counted(world) == 0


async def test_a_pod_that_was_asked_about_may_take_long_to_be_bound_and_to_start():
    async with serving() as world:
        await world.add_pods("web")
        await world.accept("web")
        await asyncio.sleep(REMEMBER_SECONDS - 2 * PERIOD_SECONDS)
        pod = world.of("pods", "web")

        world.server.put({**starting("web"), "metadata": pod["metadata"]})
        await asyncio.sleep(REMEMBER_SECONDS + 2 * PERIOD_SECONDS)
        await world.add_pods("later")
        await world.accept("later")
        await asyncio.sleep(2 * PERIOD_SECONDS)

        assert counted(world) == 0


async def test_a_new_leader_does_not_count_whom_the_one_before_was_asked_about():
    async with serving(2) as world:
        await world.add_pods("web")
        await world.accept("web")
        await world.replace_leader(Process.kill)
        pod = world.of("pods", "web")

        world.server.put({**starting("web"), "metadata": pod["metadata"]})
        await asyncio.sleep(2 * PERIOD_SECONDS)

        assert counted(world) == 0


async def test_a_list_that_fails_is_tried_again():
    async with serving() as world:
        world.server.faults.append(Fault(Answer(500), is_of_the_look))
        world.server.put(starting("one"))
        await asyncio.sleep(PERIOD_SECONDS + 1)
        assert counted(world) == 0

        await asyncio.sleep(PERIOD_SECONDS)

        assert counted(world) == 1


def is_of_the_look(call: Call) -> bool:
    return call.resource == "pods" and call.verb == "list"
