"""Longhorn is upgraded while pods come: new instance managers and engine images, node by node."""

import asyncio
import time
from statistics import median

import msgspec
import pytest

from tests.actors import api as kinds
from tests.actors.api import key_of
from tests.actors.longhorn import ENGINE_IMAGE, MANAGER_IMAGE, engine_image, instance_manager
from tests.e2e.effort import FOR_REPORT
from tests.e2e.test_attaching import set_images, start
from tests.e2e.waiting import until
from tests.e2e.world import World

NODES = tuple(f"node-{number}" for number in range(1, 5))
CLASSES = ("strict-local", "best-effort", "disabled")
NEW_ENGINE = ENGINE_IMAGE.replace("v1.12.1", "v1.12.2")
NEW_MANAGER = MANAGER_IMAGE.replace("v1.12.1", "v1.12.2")
BEFORE_SECONDS = 8.0
NODE_SECONDS = 5.0
MANAGER_SECONDS = 2.0
"""From the engine image on a node to its instance manager."""
AFTER_SECONDS = 5.0
PAUSE_SECONDS = 0.5
HEARD_SECONDS = 1.0
"""What happened before is known to the service: an answer may not be wrong about it."""
RUNNING_SECONDS = 120.0
HANGING_SECONDS = 10.0
"""More than a pod takes from its node to running when nothing is upgraded."""


class Upgrade(msgspec.Struct):
    """What was done when, in seconds since the epoch.

    Attributes:
        begins: From when on nothing is sure to attach: the settings are about to change.
        began: When they had changed.
        attaches: From when on a volume may be attached to a node again.
    """

    begins: float = 0.0
    began: float = 0.0
    attaches: dict[str, float] = {}


async def upgrade(world: World, done: Upgrade) -> None:
    """Do what longhorn-manager does to the objects; what is old stays where it is."""
    await world.api.create(engine_image({}, NEW_ENGINE), kinds.ENGINE_IMAGES)
    for node in NODES:
        starting = instance_manager(node, "starting", image=NEW_MANAGER)
        await world.api.create(starting, kinds.INSTANCE_MANAGERS)
    done.begins = time.time()
    await set_images(world, NEW_ENGINE, NEW_MANAGER)
    done.began = time.time()
    for node in NODES:
        await asyncio.sleep(NODE_SECONDS - MANAGER_SECONDS)
        there = {"status": {"nodeDeploymentMap": {node: True}}}
        await world.api.patch(kinds.ENGINE_IMAGES, key_of(engine_image({}, NEW_ENGINE)), there)
        await asyncio.sleep(MANAGER_SECONDS)
        done.attaches[node] = time.time()
        running = {"status": {"currentState": "running"}}
        key = key_of(instance_manager(node, image=NEW_MANAGER))
        await world.api.patch(kinds.INSTANCE_MANAGERS, key, running)


async def burst(world: World, created: dict[str, float], *, extender: bool) -> None:
    """Create one pod after another until cancelled, with volumes of every locality in turn.

    Args:
        world: Where.
        created: Filled with when each was created, by name.
        extender: Whether the pods ask for it.
    """
    while True:
        name, class_ = f"pod-{len(created)}", CLASSES[len(created) % len(CLASSES)]
        created[name] = time.time()
        await start(world, name, extender=extender, class_=class_)
        await asyncio.sleep(PAUSE_SECONDS)


def wrongly_accepted(world: World, done: Upgrade) -> list[str]:
    """Name what was accepted though it was known for a while that nothing attaches there."""
    return [
        f"{node} for {call.pod}, {call.at - done.began:.2f} s after the settings"
        for call in world.extender.calls()
        if call.at > done.began + HEARD_SECONDS
        for node in call.accepted
        if call.at + call.seconds < done.attaches[node]
    ]


class Fate(msgspec.Struct, frozen=True, kw_only=True):
    """How a pod of the burst fared; in seconds since the epoch."""

    created: float
    bound: float
    ran: float

    @property
    def hung_seconds(self) -> float:
        """From its node to running."""
        return self.ran - self.bound


def fates(world: World, created: dict[str, float]) -> list[Fate]:
    """Return how all pods fared; all of them run."""
    seen = world.seen
    uids = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in seen.pods()}
    return [
        Fate(created=at, bound=seen.bound_at[uids[name]], ran=seen.ran_at[uids[name]])
        for name, at in created.items()
    ]


def hung(pods: list[Fate]) -> str:
    """Say how long pods hung where they were bound."""
    seconds = [each.hung_seconds for each in pods]
    return f"{len(pods)}, hang {median(seconds):.1f} s (median), {max(seconds):.1f} s (longest)"


@pytest.mark.alone
@pytest.mark.parametrize(
    "extender",
    [pytest.param(True, id="extender"), pytest.param(False, id="none", marks=FOR_REPORT)],
)
async def test_longhorn_is_upgraded_while_pods_come(make_world, report, *, extender):
    """Pods wait for a node that can attach their volumes, and do not hang on one that cannot.

    Those that had their node when the settings changed are beyond help: their volumes need an
    instance manager of the new image all the same.
    """
    async with make_world() as world:
        await world.add_nodes(*[{"disk": 400}] * len(NODES))
        for class_ in CLASSES:
            await world.add_class(class_, dataLocality=class_, numberOfReplicas="1")
        await set_images(world, ENGINE_IMAGE, MANAGER_IMAGE)
        await asyncio.sleep(HEARD_SECONDS)
        created: dict[str, float] = {}
        done = Upgrade()

        coming = asyncio.create_task(burst(world, created, extender=extender))
        await asyncio.sleep(BEFORE_SECONDS)
        await upgrade(world, done)
        await asyncio.sleep(AFTER_SECONDS)
        coming.cancel()
        await asyncio.wait([coming])
        late = await until(lambda: all(map(world.seen.is_running, created)), within=RUNNING_SECONDS)

        pods = fates(world, created)
        calm = [each for each in pods if each.ran < done.begins]
        after = [each for each in pods if each.created > done.began + HEARD_SECONDS]
        between = [each for each in pods if each not in calm and each not in after]
        name = f"Longhorn is upgraded on {len(NODES)} nodes, one each {NODE_SECONDS:g} s, "
        name += f"with{'' if extender else 'out'} extender"
        report.measured(f"{name}: pods that ran before", hung(calm))
        report.measured(f"{name}: pods on their way", hung(between))
        report.measured(f"{name}: pods created since", hung(after))
        running = max(each.ran - each.created for each in after)
        report.measured(
            f"{name}: until they run",
            f"{running:.1f} s since they were created (longest); all {len(pods)} run "
            f"{late:.1f} s after the last was created",
        )
        assert calm
        if extender:
            assert wrongly_accepted(world, done) == []
            assert max(each.hung_seconds for each in after) < HANGING_SECONDS
        else:
            assert max(each.hung_seconds for each in after) > HANGING_SECONDS
