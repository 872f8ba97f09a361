"""What plans read of pods besides: how much a pod asks for, and what it shares a node with.

Source: kubernetes staging/src/k8s.io/component-helpers/resource/helpers.go PodRequests, and
pkg/apis/core/v1/defaults.go for what the API server fills in, which pods in files may lack.
"""

from collections.abc import Iterable, Mapping
from typing import Annotated

import msgspec
from msgspec import structs

from app.config import RESOURCE
from app.kube import objects
from app.quantity import parse_bytes, parse_thousandths
from cli.kube import placement, planned_rules
from planner.records import CPU, MEMORY, CloudDisk, HostPort, Wishes

Amounts = dict[str, str | int | float | None]
"""Of resources, as objects write them."""
Port = Annotated[int, msgspec.Meta(ge=0, le=65535)]

_OF_WHOLE_PODS = (CPU, MEMORY)
_HUGE_PAGES = "hugepages-"
_MIRROR = "kubernetes.io/config.mirror"
_LIMITED_VOLUMES = {
    "aws_elastic_block_store": "awsElasticBlockStore",
    "azure_disk": "azureDisk",
    "cinder": "cinder",
    "csi": "csi",
    "gce_persistent_disk": "gcePersistentDisk",
    "iscsi": "iscsi",
    "rbd": "rbd",
    "vsphere_volume": "vsphereVolume",
}
"""Without a claim: nodes take a limited number of them, or two pods cannot share one."""
_ALL_ADDRESSES = "0.0.0.0"  # noqa: S104 (what pods have)


class ContainerPort(objects.KubeStruct, frozen=True):
    container_port: Port | None = None
    host_port: Port | None = None
    host_ip: objects.Text = msgspec.field(default=None, name="hostIP")
    protocol: objects.Text = None


class Container(placement.Container, frozen=True, rename="camel"):
    ports: list[ContainerPort] | None = None
    restart_policy: objects.Text = None


class EmptyDir(objects.KubeStruct, frozen=True):
    pass


class AnyVolume(objects.KubeStruct, frozen=True):
    pass


class GcePersistentDisk(objects.KubeStruct, frozen=True):
    pd_name: objects.Text = None
    read_only: bool | None = None


class AwsElasticBlockStore(objects.KubeStruct, frozen=True):
    volume_id: objects.Text = msgspec.field(default=None, name="volumeID")
    read_only: bool | None = None


class ClaimTemplate(objects.KubeStruct, frozen=True):
    spec: objects.ClaimSpec | None = None


class EphemeralSource(objects.PodEphemeralSource, frozen=True, rename="camel"):
    volume_claim_template: ClaimTemplate | None = None


class PodVolume(objects.PodVolume, frozen=True, rename="camel"):
    ephemeral: EphemeralSource | None = None
    empty_dir: EmptyDir | None = None
    gce_persistent_disk: GcePersistentDisk | None = None
    aws_elastic_block_store: AwsElasticBlockStore | None = None
    azure_disk: AnyVolume | None = None
    cinder: AnyVolume | None = None
    csi: AnyVolume | None = None
    iscsi: AnyVolume | None = None
    rbd: AnyVolume | None = None
    vsphere_volume: AnyVolume | None = None


class PlannedMetadata(placement.WholeMetadata, frozen=True, rename="camel"):
    annotations: dict[str, objects.Text] | None = None


class PlannedPodSpec(placement.WholePodSpec, frozen=True, rename="camel"):
    volumes: list[PodVolume] | None = None
    containers: list[Container] | None = None
    init_containers: list[Container] | None = None
    affinity: planned_rules.Affinity | None = None
    topology_spread_constraints: list[planned_rules.SpreadConstraint] | None = None
    resources: placement.Resources | None = None
    overhead: Amounts | None = None
    host_network: bool | None = None
    resource_claims: list[placement.Named] | None = None
    runtime_class_name: objects.Text = None
    priority_class_name: objects.Text = None
    priority: objects.Integer | None = None
    preemption_policy: objects.Text = None


class PlannedPod(placement.WholePod, frozen=True, rename="camel"):
    """A pod with all that a plan takes into account."""

    metadata: PlannedMetadata
    spec: PlannedPodSpec | None = None


def planned_wishes(pod: PlannedPod) -> Wishes:
    """Return what *pod* asks of kube-scheduler, with amounts and what it shares.

    Raises:
        ValueError: An amount is no quantity, or negative, or a topology spread is incomplete.
    """
    spec, metadata = pod.spec or PlannedPodSpec(), pod.metadata
    labels = {name: value or "" for name, value in (metadata.labels or {}).items()}
    affinity = spec.affinity or planned_rules.Affinity()
    namespace, volumes = metadata.namespace or "default", spec.volumes or ()
    return structs.replace(
        placement.wishes_of(pod),
        requests=requests_of(spec),
        ports=tuple(_host_ports(spec)),
        cloud_disks=tuple(disk for each in volumes for disk in _cloud_disks(each)),
        affinity=planned_rules.required_pods(affinity.pod_affinity, namespace, labels),
        anti_affinity=planned_rules.required_pods(affinity.pod_anti_affinity, namespace, labels),
        preferred_nodes=planned_rules.preferred_nodes(affinity.node_affinity),
        preferred_pods=planned_rules.preferred_pods(affinity, namespace, labels),
        spreads=planned_rules.spreads(spec.topology_spread_constraints, labels),
        unplanned=unplanned(spec),
        priority=_priority(spec),
        has_local_data=any(each.empty_dir is not None for each in volumes),
        is_static=_MIRROR in (metadata.annotations or {}),
    )


def requests_of(spec: PlannedPodSpec) -> dict[str, int]:
    """Return how much of each resource a pod asks for, as kube-scheduler adds it up.

    Containers and sidecars run together. Each other init container runs before the containers,
    beside the sidecars that are named before it: of these moments the largest counts. What the
    pod as a whole asks for comes in place of that, and the overhead comes on top. The resource
    that makes kube-scheduler ask the extender is left out, as kube-scheduler passes over it. A
    resize that is under way does not count.

    Example: a container and a sidecar of 1 core each, and before the sidecar an init container of
    3 cores: the pod asks for 3. After the sidecar: for 4.

    Raises:
        ValueError: An amount is no quantity, or negative.
    """
    sums = _sum(_requested(each.resources) for each in spec.containers or ())
    sidecars: dict[str, int] = {}
    most: dict[str, int] = {}
    for container in spec.init_containers or ():
        asked = _sum([_requested(container.resources), sidecars])
        if _is_sidecar(container):
            sidecars = asked
        most = {name: max(asked.get(name, 0), most.get(name, 0)) for name in [*most, *asked]}
    sums = _sum([sums, sidecars])
    sums |= {name: max(amount, sums.get(name, 0)) for name, amount in most.items()}
    whole = spec.resources or placement.Resources()
    limits = {k: v for k, v in amounts(whole.limits).items() if k not in sums}
    for name, amount in (limits | amounts(whole.requests)).items():
        if name in _OF_WHOLE_PODS or name.startswith(_HUGE_PAGES):
            sums[name] = amount
    sums = _sum([sums, amounts(spec.overhead)])
    return {name: amount for name, amount in sums.items() if amount and name != RESOURCE}


def unplanned(spec: PlannedPodSpec) -> tuple[str, ...]:
    """Return what a pod asks for and no plan goes by: the field, and what is not known.

    Source: the fields that the plugins of kubernetes 1.36 pkg/scheduler/apis/config/v1/
    default_plugins.go read to leave nodes out.
    """
    found = list[str]()
    if spec.resource_claims:
        found.append("resourceClaims (which nodes have such devices is not known)")
    if spec.scheduling_gates:
        found.append("schedulingGates (it is planned as if they were removed)")
    if spec.scheduling_group:
        found.append("schedulingGroup (each pod of the group is placed by itself)")
    if spec.runtime_class_name and spec.overhead is None:
        found.append("runtimeClassName (what a RuntimeClass adds to its pods is not known)")
    terms = spec.affinity.pod_terms if spec.affinity else ()
    if any(planned_rules.asks_for_some(each.namespace_selector) for each in terms):
        found.append("namespaceSelector of its affinity (it is taken to select all namespaces)")
    for field, name in _LIMITED_VOLUMES.items():
        if any(getattr(each, field) is not None for each in spec.volumes or ()):
            found.append(f"{name} volumes (how many of them nodes take is not known)")
    return tuple(found)


def amounts(given: Mapping[str, str | int | float | None] | None) -> dict[str, int]:
    """Return how much there is of each resource: CPU in thousandths, all else in its unit.

    Raises:
        ValueError: An amount is no quantity, or negative; the text names the resource.
    """
    return {name: _amount(name, quantity) for name, quantity in (given or {}).items()}


def _amount(name: str, quantity: str | float | None) -> int:
    text = "0" if quantity is None else str(quantity)
    try:
        amount = parse_thousandths(text) if name == CPU else parse_bytes(text)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    if amount < 0:
        raise ValueError(f"{name}: {text[:60]!r} is negative")
    return amount


def _requested(resources: placement.Resources | None) -> dict[str, int]:
    """Return what a container requests; the API server takes the limit where it says nothing."""
    given = resources or placement.Resources()
    return amounts(given.limits) | amounts(given.requests)


def _sum(parts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for part in parts:
        for name, amount in part.items():
            sums[name] = sums.get(name, 0) + amount
    return sums


def _is_sidecar(init_container: Container) -> bool:
    return init_container.restart_policy == "Always"


def _priority(spec: PlannedPodSpec) -> str:
    """Return by what a pod may have others evicted."""
    if spec.preemption_policy == "Never":
        return ""
    return spec.priority_class_name or (str(spec.priority) if (spec.priority or 0) > 0 else "")


def _host_ports(spec: PlannedPodSpec) -> Iterable[HostPort]:
    """Return the ports that a pod takes of its node.

    Source: kubernetes pkg/scheduler/util GetHostPorts; on the network of its node a pod takes each
    port of its containers (SetDefaults_HostNetworkPorts).
    """
    sidecars = [each for each in spec.init_containers or () if _is_sidecar(each)]
    for container in [*(spec.containers or ()), *sidecars]:
        for each in container.ports or ():
            port = each.host_port or (each.container_port if spec.host_network else 0)
            if port:
                address = "" if each.host_ip == _ALL_ADDRESSES else each.host_ip or ""
                yield HostPort(port=port, protocol=each.protocol or "TCP", address=address)


def _cloud_disks(volume: PodVolume) -> Iterable[CloudDisk]:
    if (gce := volume.gce_persistent_disk) is not None:
        yield CloudDisk("gcePersistentDisk", gce.pd_name or "", bool(gce.read_only))
    if (aws := volume.aws_elastic_block_store) is not None:
        yield CloudDisk("awsElasticBlockStore", aws.volume_id or "", bool(aws.read_only))
