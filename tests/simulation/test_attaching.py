"""What a volume lacks on a node, and since when, as the judge sees it."""

from random import Random

import pytest

from longhorn import V2_OFF_LABEL, Locality
from tests.actors import api as kinds
from tests.actors.api import Kind, Object
from tests.actors.longhorn import (
    DRIVER,
    ENGINE_IMAGE,
    MANAGER_IMAGE,
    csi_node,
    engine_image,
    instance_manager,
    longhorn_node,
    setting,
)
from tests.actors.longhorn.creation import replica_object
from tests.actors.longhorn.objects import condition
from tests.actors.longhorn.standing import placed
from tests.builders import volume
from tests.fakes import FakeApiServer
from tests.simulation.attaching import Attaching
from tests.simulation.truth import Truth

NODE, OTHER = "node-1", "node-2"
V1, V2 = volume(engine_image=ENGINE_IMAGE), volume(disk_type="block")
ANYWHERE = volume(locality=Locality.DISABLED, engine_image=ENGINE_IMAGE)


class Watched:
    """Two nodes where all runs, and a replica of *ANYWHERE* on the second one."""

    def __init__(self) -> None:
        self.now = 1.0
        self.server = FakeApiServer(Random(1))
        truth = Truth(self.server)
        for node in (NODE, OTHER):
            self.put(kinds.LONGHORN_NODES, longhorn_node(node, {"disk-1": 2**30}))
            self.put(kinds.KUBERNETES_NODES, {"metadata": {"name": node}, "spec": {}})
            self.put(kinds.CSI_NODES, csi_node(node, DRIVER))
            for engine in ("v1", "v2"):
                self.put(kinds.INSTANCE_MANAGERS, instance_manager(node, engine=engine))
        self.put(kinds.ENGINE_IMAGES, engine_image({NODE: True, OTHER: True}))
        self.put(kinds.SETTINGS, setting("default-instance-manager-image", MANAGER_IMAGE))
        self.put(kinds.REPLICAS, replica())
        self.attaching = Attaching(truth, lambda: self.now)
        self.server.observers.append(self.attaching.changed)

    def put(self, kind: Kind, obj: Object) -> None:
        self.server.put({"apiVersion": kind.api_version, "kind": kind.kind, **obj})


def replica() -> Object:
    of: Object = {
        "metadata": {"name": ANYWHERE.name, "namespace": "longhorn-system", "uid": "u"},
        "spec": {"dataEngine": "v1", "image": ENGINE_IMAGE, "backingImage": ""},
        "status": {"state": "detached"},
    }
    return placed(replica_object(of, 2**20, "", Random(1)), OTHER, "disk-1", "", runs=False)


def unready() -> Object:
    node = longhorn_node(NODE, {"disk-1": 2**30})
    return {**node, "status": {**node["status"], "conditions": [condition("Ready", "False")]}}


LABELLED: Object = {"metadata": {"name": NODE, "labels": {V2_OFF_LABEL: "true"}}, "spec": {}}
UPGRADED = setting("default-instance-manager-image", "another:v2")
STARTS_V1, STARTS_V2 = (instance_manager(NODE, "starting", engine=each) for each in ("v1", "v2"))


@pytest.mark.parametrize(
    ("kind", "obj", "lacking", "what"),
    [
        pytest.param(kinds.CSI_NODES, csi_node(NODE), [V1, V2, ANYWHERE], "driver", id="a"),
        pytest.param(kinds.LONGHORN_NODES, unready(), [V1, V2, ANYWHERE], "manager", id="c"),
        pytest.param(
            kinds.ENGINE_IMAGES,
            engine_image({NODE: False, OTHER: True}),
            [V1, ANYWHERE],
            ENGINE_IMAGE,
            id="e",
        ),
        pytest.param(
            kinds.ENGINE_IMAGES,
            engine_image({NODE: True, OTHER: False}),
            [ANYWHERE],
            f"{ENGINE_IMAGE} beside all replicas",
            id="e-where-replicas-are",
        ),
        pytest.param(kinds.INSTANCE_MANAGERS, STARTS_V1, [V1, ANYWHERE], "engine v1", id="h-v1"),
        pytest.param(kinds.SETTINGS, UPGRADED, [V1, ANYWHERE], "engine v1", id="h-v1-image"),
        pytest.param(kinds.INSTANCE_MANAGERS, STARTS_V2, [V2], "engine v2", id="h-v2"),
        pytest.param(kinds.KUBERNETES_NODES, LABELLED, [V2], "v2 is on", id="i"),
    ],
)
def test_what_volumes_lack_on_a_node_since_it_went(kind, obj, lacking, what):
    watched = Watched()
    lacks_since = watched.attaching.lacks_since
    assert [lacks_since(each, NODE) for each in (V1, V2, ANYWHERE)] == [None] * 3

    watched.now = 5.0
    watched.put(kind, obj)
    watched.now = 9.0
    watched.put(kinds.CSI_NODES, csi_node("node-3", DRIVER))

    expected = [(what, 5.0) if each in lacking else None for each in (V1, V2, ANYWHERE)]
    assert [lacks_since(each, NODE) for each in (V1, V2, ANYWHERE)] == expected
    assert watched.attaching.ceased_since(4.0)
    assert not watched.attaching.ceased_since(5.0)
