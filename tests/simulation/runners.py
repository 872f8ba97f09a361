"""What runs on nodes besides Longhorn's manager comes late, goes, and is upgraded."""

import asyncio
from collections.abc import Callable
from random import Random
from typing import NoReturn

from tests.actors import api as kinds
from tests.actors.longhorn import (
    DRIVER,
    MANAGER_IMAGE,
    csi_node,
    engine_image,
    instance_manager,
    setting,
)
from tests.simulation.trace import Trace
from tests.simulation.world import World

EVENTS_PER_SECOND = 0.5
LATE_SECONDS = (1.0, 20.0)


class Runners:
    """Takes away what runs on nodes, and brings it back.

    Args:
        world: The cluster; all runs there at first.
        random: What goes, and for how long.
        trace: Where that is noted.
    """

    def __init__(self, world: World, random: Random, trace: Trace) -> None:
        self._world = world
        self._random = random
        self._trace = trace
        self._nodes = sorted(world.plan.nodes)
        self._image = MANAGER_IMAGE
        self._versions = 1
        self._images = dict.fromkeys(self._nodes, True)
        self._since: dict[str, float] = {}
        """Since when something does not run on a node."""
        self._later: set[asyncio.TimerHandle] = set()

    def lacks_since(self, node: str) -> float | None:
        """Return since when no volume can be attached to a node, None if it can."""
        return self._since.get(node)

    async def run(self) -> NoReturn:
        """Let things go wrong until cancelled."""
        while True:
            await asyncio.sleep(self._random.expovariate(EVENTS_PER_SECOND))
            node = self._random.choice(self._nodes)
            if node not in self._since:
                self._random.choice([self._crash, self._lose_image, self._lose_driver])(node)
            if self._random.random() < 0.05:
                self._upgrade()

    def mend(self) -> None:
        """Bring all back."""
        for handle in self._later:
            handle.cancel()
        for node in self._nodes:
            self._runs(node)

    def _crash(self, node: str) -> None:
        self._goes(node, "instance manager")
        self._world.put(
            kinds.INSTANCE_MANAGERS, instance_manager(node, "starting", image=self._image)
        )

    def _lose_image(self, node: str) -> None:
        self._goes(node, "engine image")
        self._images[node] = False
        self._world.put(kinds.ENGINE_IMAGES, engine_image(dict(self._images)))

    def _lose_driver(self, node: str) -> None:
        self._goes(node, "driver")
        self._world.put(kinds.CSI_NODES, csi_node(node))

    def _upgrade(self) -> None:
        """Longhorn is upgraded: each node gets a new instance manager, one after another."""
        self._versions += 1
        self._image = f"{MANAGER_IMAGE.rpartition(':')[0]}:v{self._versions}"
        self._world.put(kinds.SETTINGS, setting("default-instance-manager-image", self._image))
        for node in self._nodes:
            self._goes(node, f"instance manager of {self._image}")

    def _goes(self, node: str, what: str) -> None:
        self._trace.count("fault: something does not run on a node")
        self._trace.note(f"fault: no {what} on {node}")
        self._since.setdefault(node, self._trace.seconds)
        self._call_later(self._random.uniform(*LATE_SECONDS), lambda: self._runs(node))

    def _call_later(self, seconds: float, work: Callable[[], None]) -> None:
        self._later.add(asyncio.get_running_loop().call_later(seconds, work))

    def _runs(self, node: str) -> None:
        """Have everything run on a node."""
        self._images[node] = True
        self._world.put(kinds.ENGINE_IMAGES, engine_image(dict(self._images)))
        self._world.put(kinds.CSI_NODES, csi_node(node, DRIVER))
        self._world.put(kinds.INSTANCE_MANAGERS, instance_manager(node, image=self._image))
        self._since.pop(node, None)
