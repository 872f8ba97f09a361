"""What is left of a volume's data, judged a second time and as plainly as possible.

An oracle for property tests: it shares nothing with the product but the records, and every rule is
a loop or a chain of questions in Longhorn's order.

Sources: longhorn-manager controller/volume_controller.go isFirstAttachment, ReconcileVolumeState,
openVolumeDependentResources, canInstanceManagerLaunchReplica and IsReplicaUnavailable;
datastore/longhorn.go IsNodeDownOrDeleted, CheckInstanceManagersReadiness, CheckEngineImageReadiness
and GetInstanceManagerByInstanceRO; util/util.go TimestampWithinLimit.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta

import msgspec

from longhorn import Disk, EngineImage, InstanceManager, Node, NodeName, Replica, Volume

SALVAGE_LIMIT = timedelta(minutes=1)
"""AutoSalvageTimeLimit."""

Awaited = tuple[str, str, str]
"""What is awaited (node, manager, engine, image or disk), of which node, and which disk or ""."""


class PlainData(msgspec.Struct, frozen=True, kw_only=True):
    """The judgement of one volume's data."""

    states: dict[str, str]
    """By replica: deleting, inactive, unplaced, never-healthy, unknown, gone, salvageable, awaited
    or usable."""
    awaits: dict[str, Awaited]
    """By replica, of those alone that await something."""
    state: str
    """new, readable, unknown, awaited, faulted or lost."""
    salvaged: frozenset[str]
    """The replicas that auto-salvage takes."""
    last_on: frozenset[str]
    """The nodes of each of which the loss loses the data."""
    attaches: bool
    """Whether the volume can be attached anywhere; it says nothing of one that is attached."""


class _Around(msgspec.Struct, frozen=True, kw_only=True):
    """What the rules read besides the volume and its replicas."""

    nodes: Mapping[NodeName, Node]
    managers: Sequence[InstanceManager] | None
    images: Sequence[EngineImage] | None
    v2_off: Collection[NodeName]
    manager_image: str
    unreadable_nodes: Collection[NodeName]


def plain_data(
    volume: Volume,
    replicas: Sequence[Replica],
    *,
    nodes: Mapping[NodeName, Node],
    managers: Sequence[InstanceManager] | None,
    images: Sequence[EngineImage] | None,
    v2_off: Collection[NodeName],
    manager_image: str,
    auto_salvage: bool,
    unreadable_nodes: Collection[NodeName],
) -> PlainData:
    """Judge the data of *volume*.

    Args:
        replicas: All its replicas, or shards.
        managers: None if nothing is known of their kind.
        images: None if nothing is known of their kind.
        v2_off: The Kubernetes nodes whose label switches data engine v2 off.
        manager_image: What setting default-instance-manager-image says, "" if that is not known.
        auto_salvage: What setting auto-salvage says.
        unreadable_nodes: The nodes that exist and cannot be read; none of them is in *nodes*.
    """
    around = _Around(
        nodes=nodes,
        managers=managers,
        images=images,
        v2_off=v2_off,
        manager_image=manager_image,
        unreadable_nodes=unreadable_nodes,
    )
    has_data = False
    for replica in replicas:
        if replica.healthy_once:
            has_data = True
    states: dict[str, str] = {}
    awaits: dict[str, Awaited] = {}
    for replica in replicas:
        states[replica.name] = _state_of(replica, volume, around, has_data=has_data)
        if states[replica.name] in ("salvageable", "awaited"):
            awaited = _awaited_by(replica, volume, around)
            if awaited is not None:
                awaits[replica.name] = awaited
    needed = volume.data_chunks if volume.data_chunks > 0 else 1
    state = _state_of_all(list(states.values()), volume, needed, has_data=has_data)
    if state == "lost" and _is_leaving(replicas, states):
        state = "unknown"
    salvaged = set[str]()
    if state == "faulted" and auto_salvage:
        ready = _ready_to_be_salvaged(replicas, states, awaits)
        salvaged = _salvaged(ready)
    last_on = set[str]()
    if state != "new":
        last_on = _last_on(_pool(volume, replicas, states, needed), needed)
    return PlainData(
        states=states,
        awaits=awaits,
        state=state,
        salvaged=frozenset(salvaged),
        last_on=frozenset(last_on),
        attaches=_attaches(volume, replicas, state, around),
    )


def _state_of(replica: Replica, volume: Volume, around: _Around, *, has_data: bool) -> str:
    if replica.deleting:
        return "deleting"
    if not replica.active:
        return "inactive"
    if replica.node is None or replica.disk is None:
        return "unplaced"
    if (replica.failed or has_data) and not replica.healthy_once:
        return "never-healthy"
    if replica.node in around.unreadable_nodes:
        return "unknown"
    if replica.node not in around.nodes:
        return "gone"
    if _disk_of(replica, around.nodes[replica.node]) is None:
        return _without_disk(around.nodes[replica.node])
    if replica.failed:
        return "salvageable"
    if _awaited_by(replica, volume, around) is not None:
        return "awaited"
    return "usable"


def _without_disk(node: Node) -> str:
    """Say what a replica is whose disk the node does not list: another one may yet get its UUID."""
    for disk in node.disks:
        if disk.id is None:
            return "unknown"
    return "gone"


def _awaited_by(replica: Replica, volume: Volume, around: _Around) -> Awaited | None:
    """Say what a replica awaits that is on a known disk of a known node."""
    assert replica.node is not None
    node = around.nodes[replica.node]
    disk = _disk_of(replica, node)
    assert disk is not None
    if _is_down(node):
        return ("node", node.name, "")
    if replica.failed:
        if disk.schedulable.status != "True":
            return ("disk", node.name, disk.name)
        return None
    if not _manager_runs(node.name, volume, around):
        return ("manager", node.name, "")
    if volume.disk_type == "block" and node.name in around.v2_off:
        return ("engine", node.name, "")
    if volume.disk_type != "block" and not _image_is_ready(node.name, volume, around):
        return ("image", node.name, "")
    if disk.ready.status != "True" and disk.ready.reason != "NodeNotReady":
        return ("disk", node.name, disk.name)
    return None


def _disk_of(replica: Replica, node: Node) -> Disk | None:
    for disk in node.disks:
        if disk.id is not None and disk.id == replica.disk:
            return disk
    return None


def _is_down(node: Node) -> bool:
    """IsNodeDownOrDeleted, of a node that is there."""
    if node.ready.status != "False":
        return False
    if node.ready.reason == "KubernetesNodeGone":
        return True
    return node.ready.reason == "KubernetesNodeNotReady"


def _managers_for(node: NodeName, volume: Volume, around: _Around) -> list[InstanceManager]:
    """List what GetInstanceManagerByInstanceRO chooses from: of v1, those of the default image."""
    assert around.managers is not None
    found = []
    for manager in around.managers:
        if manager.node != node:
            continue
        if manager.is_v2 != (volume.disk_type == "block"):
            continue
        if not manager.is_v2 and around.manager_image:
            if manager.image == around.manager_image:
                found.append(manager)
        else:
            found.append(manager)
    return found


def _manager_runs(node: NodeName, volume: Volume, around: _Around) -> bool:
    """CheckInstanceManagersReadiness: one of v1 that is being deleted passes for running."""
    if around.managers is None:
        return True
    for manager in _managers_for(node, volume, around):
        if manager.is_running:
            return True
        if manager.deleting and not manager.is_v2:
            return True
    return False


def _image_is_ready(node: NodeName, volume: Volume, around: _Around) -> bool:
    wanted = volume.current_image
    if wanted == "":
        wanted = volume.engine_image
    if wanted == "":
        return True
    if around.images is None or len(around.images) == 0:
        return True
    return any(image.image == wanted and node in image.nodes for image in around.images)


def _state_of_all(states: list[str], volume: Volume, needed: int, *, has_data: bool) -> str:
    usable, unknown = states.count("usable"), states.count("unknown")
    awaited, salvageable = states.count("awaited"), states.count("salvageable")
    if not has_data:
        return "new"
    if usable >= needed:
        return "readable"
    if usable + unknown >= needed:
        return "unknown"
    if usable + unknown + awaited >= needed:
        return "awaited"
    if salvageable > 0 and volume.data_chunks == 0:
        return "faulted"
    return "lost"


def _ready_to_be_salvaged(
    replicas: Sequence[Replica], states: dict[str, str], awaits: dict[str, Awaited]
) -> list[Replica]:
    """List those that nothing keeps Longhorn from taking again.

    None while one has not failed (isAutoSalvageNeeded): Longhorn does not know yet that it cannot
    be used.
    """
    ready = []
    for replica in replicas:
        if replica.healthy_once and replica.active and not replica.failed:
            return []
        if states[replica.name] == "salvageable" and replica.name not in awaits:
            ready.append(replica)
    return ready


def _salvaged(ready: list[Replica]) -> set[str]:
    """Say which of those that could be salvaged are.

    The limit itself is too long ago: TimestampWithinLimit asks for a deadline after the latest.
    """
    latest: datetime | None = None
    for replica in ready:
        if replica.failed_at is not None and (latest is None or replica.failed_at > latest):
            latest = replica.failed_at
    found = set[str]()
    for replica in ready:
        if replica.failed_at is None:
            continue
        assert latest is not None
        if replica.failed_at + SALVAGE_LIMIT > latest:
            found.add(replica.name)
    return found


def _is_leaving(replicas: Sequence[Replica], states: dict[str, str]) -> bool:
    """Say whether a replica has the data that is being deleted, or the second of a migration."""
    for replica in replicas:
        leaves = states[replica.name] in ("deleting", "inactive")
        if leaves and replica.healthy_once and not replica.failed:
            return True
    return False


def _newest(failed: list[Replica]) -> list[Replica]:
    """List those that failed together with the last one; one without a time may be of them."""
    moments = [each.failed_at for each in failed if each.failed_at is not None]
    found = []
    for replica in failed:
        if replica.failed_at is None or replica.failed_at + SALVAGE_LIMIT > max(moments):
            found.append(replica)
    return found


def _pool(
    volume: Volume, replicas: Sequence[Replica], states: dict[str, str], needed: int
) -> list[Replica]:
    """Return the replicas that the data rests on."""
    usable, perhaps, salvageable = [], [], []
    for replica in replicas:
        state = states[replica.name]
        if state == "usable":
            usable.append(replica)
        if state in ("usable", "unknown", "awaited"):
            perhaps.append(replica)
        if state == "salvageable":
            salvageable.append(replica)
    if len(usable) >= needed:
        return usable
    if len(perhaps) >= needed:
        return perhaps
    if volume.data_chunks == 0:
        return _newest(salvageable)
    return []


def _last_on(pool: list[Replica], needed: int) -> set[str]:
    found = set[str]()
    for replica in pool:
        elsewhere = 0
        for other in pool:
            if other.node != replica.node:
                elsewhere += 1
        if elsewhere < needed:
            assert replica.node is not None
            found.add(replica.node)
    return found


def _attaches(
    volume: Volume,
    replicas: Sequence[Replica],
    state: str,
    around: _Around,
) -> bool:
    """Follow openVolumeDependentResources to the first replica that makes it give up.

    An instance manager that does not run is enough here; only if there is none it gives up.
    """
    if state in ("awaited", "faulted", "lost"):
        return False
    if volume.data_chunks > 0 or around.managers is None:
        return True
    for replica in replicas:
        if replica.node is None:
            continue
        if replica.node not in around.nodes or _is_down(around.nodes[replica.node]):
            continue
        if len(_managers_for(replica.node, volume, around)) == 0:
            return False
    return True
