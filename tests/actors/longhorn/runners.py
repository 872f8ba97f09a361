"""What runs on nodes besides Longhorn's manager, as Longhorn itself takes account of it.

It reads the objects by rules of its own, so that a mistake of the product shows. Without a single
InstanceManager, EngineImage or CSINode all of that kind runs everywhere: most tests are not about
it. Sources: longhorn-manager datastore CheckInstanceManagersReadiness and
CheckDataEngineImageReadiness; manager/volume.go Attach; isResponsibleFor of the controllers.
"""

from hashlib import sha512

from longhorn import Engines
from tests.actors.api import Informer, Key, Object, key_of
from tests.actors.longhorn.objects import DRIVER, NAMESPACE
from tests.actors.longhorn.settings import DEFAULT_ENGINE_IMAGE, DEFAULT_MANAGER_IMAGE, DEFAULTS

ENGINE_IMAGE = DEFAULTS[DEFAULT_ENGINE_IMAGE]
MANAGER_IMAGE = DEFAULTS[DEFAULT_MANAGER_IMAGE]
_V2_OFF = "node.longhorn.io/disable-v2-data-engine"


def engine_image(nodes: dict[str, bool], image: str = ENGINE_IMAGE) -> Object:
    """Build the EngineImage, which is ready on some of the nodes that it shall be on."""
    state = "deployed" if all(nodes.values()) else "deploying"
    checksum = sha512(image.encode()).hexdigest()
    return {
        "metadata": {"name": f"ei-{checksum[:8]}", "namespace": NAMESPACE},
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
        drivers: The CSINodes.
        hosts: The Nodes of Kubernetes.
    """

    def __init__(
        self,
        managers: Informer,
        images: Informer,
        settings: Informer,
        *,
        drivers: Informer,
        hosts: Informer,
    ) -> None:
        self._managers: dict[str, dict[Key, Object]] = {}
        """By node: there are hundreds, and each placement asks about each node."""
        self._images = images
        self._settings = settings
        self._drivers = drivers
        self._hosts = hosts
        managers.handlers.append(self._hear_of_manager)

    def _hear_of_manager(self, old: Object | None, new: Object | None) -> None:
        if old is not None:
            there = self._managers[old["spec"]["nodeID"]]
            del there[key_of(old)]
            if not there:
                del self._managers[old["spec"]["nodeID"]]
        if new is not None:
            self._managers.setdefault(new["spec"]["nodeID"], {})[key_of(new)] = new

    def engines(self, node: str) -> Engines:
        """Return what counts for new replicas on a node."""
        return Engines(
            runs_v1=self._runs(node, "v1"),
            runs_v2=self._runs(node, "v2"),
            allows_v2=not self._switches_v2_off(node),
            images=self._images_on(node),
        )

    def has_driver(self, node: str) -> bool:
        """Say whether the CSI driver is registered: nothing is made for pods or mounted before.

        Source: external-provisioner GenerateAccessibilityRequirements; external-attacher and
        kubelet look for the driver in the CSINode.
        """
        if not self._drivers.objects:
            return True
        found = self._drivers.get(node)
        drivers = (found["spec"].get("drivers") or ()) if found else ()
        return any(each["name"] == DRIVER for each in drivers)

    def has_image(self, volume: Object, node: str) -> bool:
        """Say whether the engine image of a volume is ready on a node: the attach API asks that."""
        images = self._images_on(node)
        return _is_v2(volume) or images is None or volume["spec"]["image"] in images

    def starts_engine(self, volume: Object, node: str) -> bool:
        """Say whether an engine can start on a node; nobody asks that before it shall.

        Of a replica it says whether its process can.
        """
        return self._runs(node, "v2" if _is_v2(volume) else "v1")

    def launches(self, volume: Object, node: str) -> bool | None:
        """Say whether the instance manager for a volume's replicas runs or starts; None if there is
        none, or more than one (datastore/longhorn.go filterInstanceManagers)."""
        if not self._managers:
            return True
        found = self._managers_on(node, "v2" if _is_v2(volume) else "v1")
        states = [each["status"]["currentState"] for each in found]
        if len(states) > 1 and _is_v2(volume):
            states = [each for each in states if each == "running"]
        return states[0] in ("running", "starting") if len(states) == 1 else None

    def is_declined(self, volume: Object, node: str) -> bool:
        """Say whether no manager works on a volume that is wished on a node.

        The node's own declines volumes of data engine v2 while the label switches that off, and
        the others leave it to that one.
        """
        return _is_v2(volume) and bool(node) and self._switches_v2_off(node)

    def _runs(self, node: str, engine: str) -> bool:
        """Say whether an instance manager takes new processes.

        One of v1 that is being deleted counts as ready, whatever its state.
        """
        if not self._managers:
            return True
        return any(
            manager["status"]["currentState"] == "running"
            or (engine == "v1" and manager["metadata"].get("deletionTimestamp"))
            for manager in self._managers_on(node, engine)
        )

    def _managers_on(self, node: str, engine: str) -> list[Object]:
        """List the instance managers of a node that count: of v1 those of the default image."""
        setting = self._settings.get(DEFAULT_MANAGER_IMAGE, NAMESPACE)
        image = setting["value"] if setting and engine == "v1" else None
        return [
            manager
            for manager in self._managers.get(node, {}).values()
            if manager["spec"]["dataEngine"] == engine and image in (None, manager["spec"]["image"])
        ]

    def _images_on(self, node: str) -> frozenset[str] | None:
        if not self._images.objects:
            return None
        return frozenset(
            each["spec"]["image"]
            for each in self._images.objects.values()
            if each["status"]["state"] in ("deployed", "deploying")
            and each["status"]["nodeDeploymentMap"].get(node)
        )

    def _switches_v2_off(self, node: str) -> bool:
        found = self._hosts.get(node)
        return found is not None and (found["metadata"].get("labels") or {}).get(_V2_OFF) == "true"


def _is_v2(volume: Object) -> bool:
    return bool(volume["spec"].get("dataEngine") == "v2")
