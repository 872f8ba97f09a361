"""What runs on nodes besides Longhorn's manager, as Longhorn itself takes account of it.

Without a single InstanceManager or EngineImage all of it runs everywhere: most tests are not about
that. Sources: longhorn-manager datastore CheckInstanceManagersReadiness and
CheckDataEngineImageReadiness.
"""

from longhorn import EngineImage, Engines, InstanceManager, NodeName, images_on, runs
from tests.actors.api import Informer, Key, Object, key_of
from tests.actors.longhorn.objects import NAMESPACE
from tests.actors.longhorn.records import recorded

ENGINE_IMAGE = "longhornio/longhorn-engine:v1.12.1"
MANAGER_IMAGE = "longhornio/longhorn-instance-manager:v1.12.1"
_MANAGER_IMAGE = "default-instance-manager-image"


def engine_image(nodes: dict[str, bool], image: str = ENGINE_IMAGE) -> Object:
    """Build the EngineImage, which is ready on some of the nodes that it shall be on."""
    state = "deployed" if all(nodes.values()) else "deploying"
    return {
        "metadata": {"name": "ei-62d20cb1", "namespace": NAMESPACE},
        "spec": {"image": image},
        "status": {"state": state, "nodeDeploymentMap": nodes},
    }


def instance_manager(
    node: str, state: str = "running", *, engine: str = "v1", image: str = MANAGER_IMAGE
) -> Object:
    """Build an InstanceManager of a node; those of other images have other names."""
    name = f"instance-manager-{node}-{engine}-{image.rpartition(':')[2].replace('.', '-')}"
    return {
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"nodeID": node, "dataEngine": engine, "image": image, "type": "aio"},
        "status": {"currentState": state},
    }


def csi_node(node: str, *drivers: str) -> Object:
    """Build the CSINode of a node, which knows these drivers."""
    known = [{"name": each, "nodeID": node, "topologyKeys": None} for each in drivers]
    return {"metadata": {"name": node}, "spec": {"drivers": known}}


class Runners:
    """Says what runs on a node, by what is heard of it.

    Args:
        managers: The InstanceManagers.
        images: The EngineImages.
        settings: Longhorn's settings.
    """

    def __init__(self, managers: Informer, images: Informer, settings: Informer) -> None:
        self._managers: dict[str, dict[Key, InstanceManager]] = {}
        """By node: there are hundreds, and each placement asks about each node."""
        self._images: dict[Key, EngineImage] = {}
        self._settings = settings
        managers.handlers.append(self._hear_of_manager)
        images.handlers.append(self._hear_of_image)

    def _hear_of_manager(self, old: Object | None, new: Object | None) -> None:
        if old is not None:
            there = self._managers[old["spec"]["nodeID"]]
            del there[key_of(old)]
            if not there:
                del self._managers[old["spec"]["nodeID"]]
        if new is not None:
            manager = recorded(new, InstanceManager)
            self._managers.setdefault(manager.node, {})[key_of(new)] = manager

    def _hear_of_image(self, old: Object | None, new: Object | None) -> None:
        if old is not None:
            del self._images[key_of(old)]
        if new is not None:
            self._images[key_of(new)] = recorded(new, EngineImage)

    def engines(self, node: str) -> Engines:
        """Return what runs on a node, but for the CSI driver."""
        setting = self._settings.get(_MANAGER_IMAGE, NAMESPACE)
        image = setting["value"] if setting else ""
        here = [*self._managers.get(node, {}).values()]
        return Engines(
            runs_v1=not self._managers or runs(here, image, is_v2=False),
            runs_v2=not self._managers or runs(here, "", is_v2=True),
            images=images_on(NodeName(node), [*self._images.values()]),
        )

    def attaches(self, volume: Object, node: str) -> bool:
        """Say whether a volume can be attached to a node that is ready."""
        engines = self.engines(node)
        if volume["spec"].get("dataEngine") == "v2":
            return engines.runs_v2
        return engines.runs_v1 and engines.has_image(volume["spec"].get("image", ""))
