"""What runs on nodes besides kubelets comes late, goes, is switched off, and is upgraded."""

import asyncio
from collections.abc import Callable
from random import Random
from typing import NoReturn

from longhorn import V2_OFF_LABEL
from tests.actors import api as kinds
from tests.actors.api import Object
from tests.actors.longhorn import (
    DRIVER,
    ENGINE_IMAGE,
    MANAGER_IMAGE,
    NAMESPACE,
    csi_node,
    engine_image,
    instance_manager,
    setting,
)
from tests.simulation.trace import Trace
from tests.simulation.truth import HOSTS, INSTANCE_MANAGERS
from tests.simulation.world import World

EVENTS_PER_SECOND = 0.5
LATE_SECONDS = (1.0, 20.0)
_AGAIN_SECONDS = 1.0


class Runners:
    """Takes away what runs on nodes, and brings it back.

    Args:
        world: The cluster; all runs there at first.
        random: What goes, and for how long.
        trace: Where that is noted.
    """

    def __init__(self, world: World, random: Random, trace: Trace) -> None:
        self._world = world
        self._truth = world.truth
        self._random = random
        self._trace = trace
        self._nodes = sorted(world.plan.nodes)
        self._manager_image = MANAGER_IMAGE
        self._versions = 1
        self._images = {ENGINE_IMAGE: dict.fromkeys(self._nodes, True)}
        self._away: set[str] = set()
        """Nodes that lack something."""
        self._later: set[asyncio.TimerHandle] = set()

    async def run(self) -> NoReturn:
        """Let things go wrong until cancelled."""
        ways = [self._crash, self._lose_image, self._lose_driver, self._lose_manager, self._cordon]
        if self._world.plan.blocks:
            ways += [self._crash_v2, self._crash_v2, self._switch_v2_off, self._switch_v2_off]
        while True:
            await asyncio.sleep(self._random.expovariate(EVENTS_PER_SECOND))
            node = self._random.choice(self._nodes)
            if node not in self._away:
                self._random.choice(ways)(node)
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
        self._put_manager(node, "v1", "starting")

    def _crash_v2(self, node: str) -> None:
        self._goes(node, "instance manager of data engine v2")
        self._delete_v2_managers(node)
        self._put_manager(node, "v2", "starting")

    def _lose_image(self, node: str) -> None:
        self._goes(node, "engine image")
        for image, nodes in self._images.items():
            nodes[node] = False
            self._world.put(kinds.ENGINE_IMAGES, engine_image(dict(nodes), image))

    def _lose_driver(self, node: str) -> None:
        self._goes(node, "driver")
        self._world.put(kinds.CSI_NODES, csi_node(node))

    def _lose_manager(self, node: str) -> None:
        self._goes(node, "manager")
        self._world.longhorn.set_ready(node, "ManagerPodDown")

    def _cordon(self, node: str) -> None:
        """Cordon a node, and take its instance manager: none is made there before it is not."""
        self._crash(node)
        self._trace.note(f"fault: {node} is cordoned")
        self._put_host(node, spec={"unschedulable": True})
        seconds = self._random.uniform(*LATE_SECONDS)
        self._call_later(seconds, lambda: self._put_host(node, spec={}))

    def _switch_v2_off(self, node: str) -> None:
        """Label a node, which Longhorn refuses while replicas or engines of v2 are there."""
        if self._truth.uses_v2(node):
            return
        self._goes(node, "data engine v2")
        self._put_host(node, labels={V2_OFF_LABEL: "true"})
        self._call_later(self._random.uniform(0.0, 1.0), lambda: self._delete_v2_managers(node))

    def _upgrade(self) -> None:
        """Upgrade Longhorn: all nodes get new instance managers and the new engine image, each at a
        time of its own; those of data engine v2 go on meanwhile."""
        self._versions += 1
        tag = f"v{self._versions}"
        self._manager_image = f"{MANAGER_IMAGE.rpartition(':')[0]}:{tag}"
        image = f"{ENGINE_IMAGE.rpartition(':')[0]}:{tag}"
        self._images[image] = dict.fromkeys(self._nodes, False)
        self._world.put(kinds.ENGINE_IMAGES, engine_image(dict(self._images[image]), image))
        for name, value in (
            ("default-instance-manager-image", self._manager_image),
            ("default-engine-image", image),
        ):
            self._world.put(kinds.SETTINGS, setting(name, value))
        for node in self._nodes:
            self._goes(node, f"instance manager and engine image {tag}")

    def _goes(self, node: str, what: str) -> None:
        self._trace.count("fault: something does not run on a node")
        self._trace.note(f"fault: no {what} on {node}")
        self._away.add(node)
        self._call_later(self._random.uniform(*LATE_SECONDS), lambda: self._comes(node))

    def _call_later(self, seconds: float, work: Callable[[], None]) -> None:
        self._later.add(asyncio.get_running_loop().call_later(seconds, work))

    def _comes(self, node: str) -> None:
        """Have everything run on a node that is not cordoned."""
        if self._host(node)["spec"].get("unschedulable"):
            self._call_later(_AGAIN_SECONDS, lambda: self._comes(node))
        else:
            self._runs(node)

    def _runs(self, node: str) -> None:
        """Have everything run on a node."""
        self._trace.note(f"all runs on {node}")
        for image, nodes in self._images.items():
            nodes[node] = True
            self._world.put(kinds.ENGINE_IMAGES, engine_image(dict(nodes), image))
        self._world.put(kinds.CSI_NODES, csi_node(node, DRIVER))
        self._world.longhorn.set_ready(node)
        self._put_manager(node, "v1", "running")
        if self._world.plan.blocks:
            self._put_host(node, labels={})
            self._delete_v2_managers(node)
            self._put_manager(node, "v2", "running")
        self._away.discard(node)

    def _put_manager(self, node: str, engine: str, state: str) -> None:
        manager = instance_manager(node, state, engine=engine, image=self._manager_image)
        self._world.put(kinds.INSTANCE_MANAGERS, manager)

    def _delete_v2_managers(self, node: str) -> None:
        for found in self._truth.all(INSTANCE_MANAGERS):
            if found["spec"]["nodeID"] == node and found["spec"]["dataEngine"] == "v2":
                name = found["metadata"]["name"]
                self._world.server.delete(INSTANCE_MANAGERS, name, NAMESPACE)

    def _put_host(self, node: str, **parts: Object) -> None:
        """Change a Kubernetes Node: its spec, its labels."""
        host = self._host(node)
        metadata = {**host["metadata"], "labels": parts.get("labels", self._labels(host))}
        changed = {**host, "metadata": metadata, "spec": parts.get("spec", host["spec"])}
        self._world.put(kinds.KUBERNETES_NODES, changed)

    def _labels(self, host: Object) -> Object:
        labels: Object = host["metadata"].get("labels") or {}
        return labels

    def _host(self, node: str) -> Object:
        found = self._truth.get(HOSTS, node)
        assert found is not None
        return found
