"""Since when which node lacks what volumes need to be attached there, by the objects as they are.

Source: longhorn-manager csi/controller_server.go ControllerPublishVolume, manager/volume.go Attach,
and what starts engines; Kubernetes' external-attacher. Where a volume is, it needs none of it.
"""

from collections.abc import Callable, Iterator, Mapping

from longhorn import V2_OFF_LABEL, Locality, Volume
from tests.actors.api import Object
from tests.actors.longhorn import DRIVER
from tests.actors.longhorn.accounts import disks
from tests.actors.longhorn.records import condition_status
from tests.fakes import Change, Resource
from tests.simulation.truth import (
    CSI_NODES,
    ENGINE_IMAGES,
    HOSTS,
    INSTANCE_MANAGERS,
    LONGHORN_NODES,
    SETTINGS,
    Truth,
)

_KINDS = {CSI_NODES, ENGINE_IMAGES, HOSTS, INSTANCE_MANAGERS, LONGHORN_NODES, SETTINGS}
_DRIVER, _READY, _V1, _V2, _V2_ON = "driver", "manager", "engine v1", "engine v2", "v2 is on"


class Attaching:
    """Follows what runs on nodes.

    Args:
        truth: The objects as they are.
        now: Returns the time.
    """

    def __init__(self, truth: Truth, now: Callable[[], float]) -> None:
        self._truth = truth
        self._now = now
        self._since: dict[tuple[str, str], float] = {}
        """Since when a node lacks something, by both."""
        self._look()

    def changed(self, resource: Resource, _: Change) -> None:
        """Take in what has changed."""
        if resource.key in _KINDS:
            self._look()

    def lacks_since(self, volume: Volume, node: str) -> tuple[str, float] | None:
        """Return what a volume lacks on a node, and since when; None if it can be attached."""
        wanted = [_DRIVER, _READY, *([_V2, _V2_ON] if volume.is_v2 else [_V1, volume.engine_image])]
        lacking = [
            (self._since[node, each], each) for each in wanted if (node, each) in self._since
        ]
        is_detached = volume.attached_to is None  # else that is not foretold: decision 24
        if is_detached and not volume.is_v2 and volume.locality is Locality.DISABLED:
            lacking += self._lacks_everywhere(volume)
        return min(((each, since) for since, each in lacking), key=lambda it: it[1], default=None)

    def ceased_since(self, at: float) -> bool:
        """Say whether something ceased to run on some node after *at*, and does not run now."""
        return any(since > at for since in self._since.values())

    def lacks(self, node: str) -> bool:
        """Say whether something does not run on a node, or its disks cannot be read for that."""
        found = self._truth.longhorn_node(node)
        assert found is not None
        unread = (condition_status(each, "Ready") != "True" for _, _, each in disks(found))
        return any(unread) or any(name == node for name, _ in self._since)

    def _lacks_everywhere(self, volume: Volume) -> Iterator[tuple[float, str]]:
        """Without a local replica, Longhorn wants the engine image where one of the replicas is."""
        at = {each["spec"]["nodeID"] for each in self._truth.placed_of([volume.name])}
        since = [self._since.get((node, volume.engine_image)) for node in sorted(at)]
        lacking = [each for each in since if each is not None]
        if at and len(lacking) == len(since):
            yield max(lacking), f"{volume.engine_image} beside all replicas"

    def _look(self) -> None:
        lacking = {
            (node, what) for node, runs in self._running() for what in runs if not runs[what]
        }
        now = self._now()
        self._since = {each: self._since.get(each, now) for each in sorted(lacking)}

    def _running(self) -> Iterator[tuple[str, Mapping[str, bool]]]:
        """Say of each node what there may be, and whether it runs."""
        truth = self._truth
        image = truth.settings()["default-instance-manager-image"]
        managers = truth.all(INSTANCE_MANAGERS)
        drivers = {each["metadata"]["name"]: _drivers(each) for each in truth.all(CSI_NODES)}
        for node in truth.all(LONGHORN_NODES):
            name = node["metadata"]["name"]
            here = [each for each in managers if each["spec"]["nodeID"] == name]
            v1 = [each for each in here if each["spec"]["dataEngine"] == "v1"]
            v2 = [each for each in here if each["spec"]["dataEngine"] == "v2"]
            yield (
                name,
                {
                    _DRIVER: DRIVER in drivers.get(name, ()),
                    _READY: condition_status(node["status"], "Ready") == "True",
                    _V1: any(_runs(each) for each in v1 if each["spec"]["image"] == image),
                    _V2: any(map(_runs, v2)),
                    _V2_ON: not _is_v2_off(truth.get(HOSTS, name)),
                    **{
                        each["spec"]["image"]: each["status"]["nodeDeploymentMap"].get(name, False)
                        for each in truth.all(ENGINE_IMAGES)
                    },
                },
            )


def _drivers(csi_node: Object) -> list[str]:
    return [each["name"] for each in csi_node["spec"]["drivers"]]


def _is_v2_off(host: Object | None) -> bool:
    labels = (host["metadata"].get("labels") or {}) if host else {}
    return labels.get(V2_OFF_LABEL) == "true"


def _runs(manager: Object) -> bool:
    return bool(manager["status"]["currentState"] == "running")
