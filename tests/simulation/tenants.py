"""Volumes that are there before a run begins: attached, with a pod each, and all their replicas."""

from collections.abc import Mapping, Sequence
from random import Random

import msgspec

from tests.actors import api as kinds
from tests.actors.api import Object
from tests.actors.longhorn import NAMESPACE as LONGHORN
from tests.actors.longhorn import standing
from tests.actors.longhorn.accounts import by_disk
from tests.actors.longhorn.creation import replica_object, volume_object
from tests.actors.longhorn.placement import counting
from tests.actors.provisioner import persistent_volume
from tests.simulation.plan import longhorn_nodes, settings, storage_classes
from tests.simulation.truth import CLAIMS, PODS, REPLICAS, WORKLOADS
from tests.simulation.users import marked_deleted
from tests.simulation.world import World

NAMESPACE = "tenants"
"""Of those whose pods run."""
LONG_AGO = "2025-12-01T00:00:00Z"


class Tenant(msgspec.Struct, frozen=True, kw_only=True):
    """One volume.

    Attributes:
        name: Of its pod.
        storage_class: Of its claim.
        replicas: By node, the disk that one is on.
        node: Where the pod runs; "" if it is about to be created again.
    """

    name: str
    storage_class: str
    size_bytes: int
    replicas: Mapping[str, str]
    node: str

    @property
    def claim(self) -> str:
        """The name of its claim: as of a StatefulSet of one pod."""
        return f"data-0-{self.name}-0"


def put_tenants(world: World, tenants: Sequence[Tenant], random: Random) -> None:
    """Put all objects of *tenants* there, and the nodes of the plan that count their replicas."""
    plan = world.plan
    classes = {each["metadata"]["name"]: each for each in storage_classes(plan)}
    for tenant in tenants:
        _put_tenant(world, tenant, classes[tenant.storage_class], random)
    assigned = by_disk(world.server.list(REPLICAS))
    for node in longhorn_nodes(plan):
        world.put(kinds.LONGHORN_NODES, counting(node, assigned))


def remove_tenants(world: World, tenants: Sequence[Tenant]) -> None:
    """Delete the pods of *tenants*, and their claims with all that is behind these."""
    for tenant in tenants:
        world.trace.note(f"users: delete {tenant.name} and its claim")
        world.server.delete(PODS, f"{tenant.name}-0", NAMESPACE)
        claim = world.truth.get(CLAIMS, tenant.claim, NAMESPACE)
        assert claim is not None
        world.put(kinds.CLAIMS, marked_deleted(claim))


def _put_tenant(world: World, tenant: Tenant, storage_class: Object, random: Random) -> None:
    namespace = NAMESPACE if tenant.node else WORKLOADS
    claim = world.put(kinds.CLAIMS, _claim(tenant, namespace))
    name = f"pvc-{claim['metadata']['uid']}"
    pv = persistent_volume(name, claim, storage_class)
    world.put(kinds.PERSISTENT_VOLUMES, {**pv, "status": {"phase": "Bound"}})
    world.put(kinds.CLAIMS, {**claim, "spec": {**claim["spec"], "volumeName": name}})
    new = volume_object(
        name,
        tenant.size_bytes,
        storage_class["parameters"],
        settings(world.plan),
        namespace=LONGHORN,
        owner=tenant.node or min(tenant.replicas),
    )
    volume = standing.attached(new, tenant.node) if tenant.node else standing.detached(new)
    volume = world.put(kinds.VOLUMES, volume)
    for node, disk in tenant.replicas.items():
        blank = replica_object(volume, tenant.size_bytes, "", random)
        replica = standing.placed(blank, node, disk, LONG_AGO, runs=bool(tenant.node))
        world.put(kinds.REPLICAS, replica)
    if tenant.node:
        world.put(kinds.PODS, _pod(tenant))


def _claim(tenant: Tenant, namespace: str) -> Object:
    return {
        "metadata": {"name": tenant.claim, "namespace": namespace},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": tenant.storage_class,
            "resources": {"requests": {"storage": f"{tenant.size_bytes}"}},
        },
        "status": {"phase": "Bound"},
    }


def _pod(tenant: Tenant) -> Object:
    source = {"name": "data", "persistentVolumeClaim": {"claimName": tenant.claim}}
    return {
        "metadata": {"name": f"{tenant.name}-0", "namespace": NAMESPACE},
        "spec": {
            "nodeName": tenant.node,
            "containers": [{"name": "main", "image": "any"}],
            "volumes": [source],
        },
        "status": {"phase": "Running"},
    }
