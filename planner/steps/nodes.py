"""Cordon a node, add one like another, or lose one for good."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec import structs

from extender.kubernetes import Claim, CsiNode
from longhorn import (
    Condition,
    Disk,
    DiskId,
    EngineImage,
    InstanceManager,
    Node,
    NodeName,
    Replica,
    VolumeName,
)
from planner.cluster import Cluster, Record
from planner.errors import PlanError
from planner.naming import first_of, natural
from planner.picture import Event, Kind
from planner.plan import Plan
from planner.records import KubernetesNode, Pod
from planner.steps.finding import (
    come_back,
    keeps_to_node,
    kubernetes_node,
    note_unknown_pods,
    pods_on,
    put_cordon,
)

HOSTNAME = "kubernetes.io/hostname"
_SHOWN = 3
_OF_KUBERNETES = "node.kubernetes.io/"
"""Begins the keys of taints by which Kubernetes says what is wrong with a node."""


class Cordon(msgspec.Struct, frozen=True, kw_only=True):
    """Cordon nodes, so that they get no pods, or end that."""

    nodes: tuple[str, ...]
    is_cordoned: bool = True

    @property
    def title(self) -> str:
        """What is done."""
        return f"{'cordon' if self.is_cordoned else 'uncordon'} {', '.join(self.nodes)}"

    def take(self, plan: Plan) -> list[Event]:
        """Do it, and return what happened."""
        nodes = [kubernetes_node(plan, name) for name in self.nodes]
        for node in nodes:
            put_cordon(plan, node, is_cordoned=self.is_cordoned)
        return plan.settle()


class AddNode(msgspec.Struct, frozen=True, kw_only=True):
    """Add a node that is as another one, with empty disks."""

    name: str
    like: str

    @property
    def title(self) -> str:
        """What is done."""
        return f"add node {self.name} like {self.like}"

    def take(self, plan: Plan) -> list[Event]:
        """Do it, and return what happened."""
        name = NodeName(self.name)
        if name in plan.cluster.nodes or plan.cluster.get(Node, name) is not None:
            raise PlanError(f"there is a node {name} already; choose another name")
        model = kubernetes_node(plan, self.like)
        known = plan.cluster.get(Node, self.like)
        if known is not None:
            plan.cluster.put(self._longhorn_node(known))
            for record in _running_on(name, plan.cluster):
                plan.cluster.put(record)
        plan.cluster.put_node(_like(model, name))
        for pod in sorted(plan.cluster.pods_on(model.name).values(), key=lambda each: each.key):
            if pod.wishes.of_daemon_set or pod.wishes.is_static:
                plan.cluster.put_pod(_copy(pod, name))
        return plan.settle()

    def _longhorn_node(self, model: Node) -> Node:
        for disk in model.disks:
            if disk.maximum_bytes <= 0:
                raise PlanError(
                    f"disk {disk.name} of node {model.name} shows no size, as it is not ready; "
                    f"name another node"
                )
        name = NodeName(self.name)
        return structs.replace(
            model,
            name=name,
            allow_scheduling=True,
            evicting=False,
            deleting=False,
            ready=Condition("True"),
            schedulable=Condition("True"),
            disks=tuple(empty(disk, name) for disk in model.disks),
        )


def _running_on(name: NodeName, cluster: Cluster) -> Iterator[Record]:
    """Yield what comes to run on a new node: all that runs on others, where that is known."""
    for image in [*cluster.all(EngineImage).values()]:
        yield structs.replace(image, nodes=image.nodes | {name})
    managers = [each for each in cluster.all(InstanceManager).values() if each.is_running]
    kinds = {(each.is_v2, each.image) for each in managers}
    for number, (is_v2, image_name) in enumerate(sorted(kinds)):
        yield InstanceManager(
            name=f"instance-manager-{name}-{number}",
            node=name,
            is_v2=is_v2,
            image=image_name,
            is_running=True,
        )
    if cluster.all(CsiNode):
        yield CsiNode(name=name, has_longhorn=True)


def _like(model: KubernetesNode, name: NodeName) -> KubernetesNode:
    """Return a new node with labels, taints and size of another one, which may be in trouble."""
    labels = {**model.labels, HOSTNAME: str(name)} if HOSTNAME in model.labels else model.labels
    taints = tuple(each for each in model.taints if not each.key.startswith(_OF_KUBERNETES))
    return structs.replace(model, name=name, labels=labels, taints=taints, cordoned=False)


def _copy(pod: Pod, node: NodeName) -> Pod:
    """Return the pod that a new node gets, as each node has one."""
    name = f"{pod.wishes.owner[1] if pod.wishes.owner else pod.ref.name}-{node}"
    uid = f"{pod.ref.namespace}/{name}"
    ref = structs.replace(pod.ref, name=name, uid=uid, claims=())
    return structs.replace(pod, ref=ref, node=node)


class LoseNode(msgspec.Struct, frozen=True, kw_only=True):
    """Lose nodes for good: what was on their disks is gone, and their pods are made again."""

    nodes: tuple[str, ...]

    @property
    def title(self) -> str:
        """What is done."""
        return f"lose {', '.join(self.nodes)}"

    def take(self, plan: Plan) -> list[Event]:
        """Do it, and return what happened."""
        lost = [kubernetes_node(plan, name) for name in self.nodes]
        note_unknown_pods(plan)
        users = _users(plan)
        pods = [pod for node in lost for pod in pods_on(plan, node.name)]
        gone = {node.name for node in lost}
        events, back = list[Event](), []
        for pod in pods:
            plan.forget(pod.key)
            if keeps_to_node(pod):
                continue
            if pod.wishes.owner is None:
                text = "has no controller that makes it again"
                events.append(Event(kind=Kind.LOST, object=pod.key, node=pod.node, text=text))
            else:
                back.append(pod)
        for node in lost:
            self._remove(plan, node)
        volumes = [*plan.cluster.view.volumes.values()]
        plan.volumes.leave(each for each in volumes if each.node in gone)
        replicas = [
            each
            for of_volume in [*plan.cluster.view.replicas.values()]
            for each in of_volume
            if each.node in gone
        ]
        events += _lose_volumes(plan, replicas, users)
        plan.follow()
        return [*events, *come_back(plan, back)]

    def _remove(self, plan: Plan, node: KubernetesNode) -> None:
        """Remove a node; claims that wait to be made there may be made elsewhere."""
        plan.cluster.remove_node(node.name)
        known = plan.cluster.get(Node, node.name)
        if known is not None:
            down = Condition("False", "KubernetesNodeGone")
            plan.cluster.put(structs.replace(known, ready=down, schedulable=down))
        for claim in [*plan.cluster.all(Claim).values()]:
            if claim.selected_node == node.name and not claim.persistent_volume:
                plan.cluster.put(structs.replace(claim, selected_node=None))


def _users(plan: Plan) -> dict[VolumeName, list[str]]:
    """Return the pods that use each volume, in the order of their names."""
    found = dict[VolumeName, list[str]]()
    for key in sorted(plan.cluster.pods, key=natural):
        for volume in plan.volumes.of_pod(plan.cluster.pods[key]):
            found.setdefault(volume.name, []).append(key)
    return found


def _lose_volumes(
    plan: Plan, replicas: Sequence[Replica], users: Mapping[VolumeName, Sequence[str]]
) -> list[Event]:
    """Lose replicas for good, and say which volumes are lost with them, and who suffers from it."""
    names, events = plan.names(), list[Event]()
    without = {volume.name for volume in plan.volumes.fail(replicas)}
    for volume in sorted(without, key=lambda each: natural(str(names.get(each, each)))):
        nodes = _nodes_with_data(each for each in replicas if each.volume == volume)
        text = f"its only replicas with data were on {', '.join(nodes)}"
        if volume in users:
            text += f"; {first_of(users[volume], _SHOWN)} cannot start without it"
        named = str(names.get(volume, volume))
        events.append(Event(kind=Kind.VOLUME_LOST, object=named, text=text))
    return events


def _nodes_with_data(replicas: Iterable[Replica]) -> list[NodeName]:
    """Return the nodes of those replicas of a volume that have its data, as far as any has."""
    replicas = [*replicas]
    with_data = [each for each in replicas if each.healthy_once] or replicas
    return sorted({each.node for each in with_data if each.node is not None}, key=natural)


def empty(disk: Disk, node: NodeName) -> Disk:
    """Return a disk as *disk* was when it was new, on another node."""
    return structs.replace(
        disk,
        id=DiskId(f"{node}-{disk.name}"),
        allow_scheduling=True,
        evicting=False,
        ready=Condition("True"),
        schedulable=Condition("True"),
        available_bytes=disk.maximum_bytes,
        scheduled_bytes=0,
        listed={},
        listed_images={},
    )
