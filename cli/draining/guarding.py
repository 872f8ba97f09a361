"""Which nodes Longhorn lets go: when it removes the budgets of a node's instance managers.

Source: longhorn-manager controller/instance_manager_controller.go syncInstanceManagerPDB and
canDeleteInstanceManagerPDB, datastore ListVolumePDBProtectedHealthyReplicasRO; bodies the same from
v1.8 to v1.13. An error there lets nothing go.
"""

from collections.abc import Iterator

import msgspec

from cli.draining.cluster import Situation
from cli.draining.engines import staying, staying_in
from cli.draining.obstacles import Caution, Code, Obstacle
from cli.kube.draining.records import Copy, Guest, Manager
from longhorn import NodeName

POLICY = "node-drain-policy"
AUTOSCALER = "kubernetes-cluster-autoscaler-enabled"
_IMAGE = "default-instance-manager-image"
_MOVES_ALL, _MOVES_LAST = "block-for-eviction", "block-for-eviction-if-contains-last-replica"
_IF_STOPPED = "allow-if-replica-is-stopped"
_ALWAYS = "always-allow"
_TYPES = ("aio", "replica")
_MOST_LOGGED = 5


class Protection(msgspec.Struct, frozen=True, kw_only=True):
    """What protects the data of one replica on a node while that is drained."""

    copy: Copy
    peers: frozenset[NodeName]
    """Nodes with a healthy replica of the volume that no drain can take."""
    reasons: tuple[str, ...]
    """Why the other replicas do not count."""
    error: str
    """Why Longhorn cannot find out; "" if it can."""

    @property
    def suffices(self) -> bool:
        """Whether Longhorn lets the replica go."""
        unused = not self.copy.healthy_once and not self.copy.failed
        return not self.error and (unused or bool(self.peers))


def holding(node: NodeName, situation: Situation) -> Iterator[Obstacle | Caution]:
    """Say why Longhorn would not let all instance managers of a node go, once it is cordoned."""
    cluster = situation.cluster
    managers = [each for each in cluster.managers.get(node, ()) if not each.deleting]
    guarded = [each for each in managers if _is_guarded(each, situation)]
    asks_about_all = False
    for manager in guarded:
        if not manager.runs:
            yield from _not_running(manager, situation)
        elif manager.type == "engine":
            yield from staying_in(manager, cluster)
        elif manager.type in _TYPES:
            asks_about_all = True
        else:
            yield Obstacle(
                code=Code.MANAGER_OF_UNKNOWN_TYPE,
                object=f"InstanceManager {manager.name}",
                text=f"is of type {manager.type!r}",
                logged=f"the instance manager {manager.name} has invalid type: {manager.type}",
            )
    if asks_about_all:
        yield from staying(node, cluster)
        yield from _about_replicas(node, situation)


def protections(node: NodeName, situation: Situation) -> list[Protection]:
    """Return what protects each replica on a node that Longhorn asks about, by its policy."""
    policy = situation.cluster.settings.get(POLICY, "")
    copies = situation.cluster.copies_on.get(node, ())
    if policy in ("", _ALWAYS, _MOVES_ALL):
        return []
    if policy == _IF_STOPPED:
        copies = [each for each in copies if not each.stopped]
    return [_protection(each, node, situation) for each in copies]


def _about_replicas(node: NodeName, situation: Situation) -> Iterator[Obstacle]:
    policy = situation.cluster.settings.get(POLICY, "")
    copies = situation.cluster.copies_on.get(node, ())
    if not policy:
        yield Obstacle(
            code=Code.NO_POLICY, object=f"Setting {POLICY}", text="is missing or has no value"
        )
    if policy == _MOVES_ALL:
        names = " ".join(each.name for each in copies[:_MOST_LOGGED])
        for copy in copies:
            is_strict = _is_strict(copy, situation)
            yield Obstacle(
                code=Code.STRICT_LOCAL_REPLICA if is_strict else Code.REPLICA_TO_MOVE,
                object=f"Replica {copy.name}",
                text=f"of volume {situation.cluster.called(copy.volume)} is to move first",
                logged=f"some replicas block eviction count {len(copies)} {names}",
            )
    moves = policy == _MOVES_LAST
    for each in protections(node, situation):
        if not each.suffices:
            yield _unprotected(each, situation, moves=moves)


def _unprotected(found: Protection, situation: Situation, *, moves: bool) -> Obstacle:
    copy = found.copy
    name, volume = f"Replica {copy.name}", situation.cluster.called(copy.volume)
    if found.error:
        return Obstacle(
            code=Code.PEER_UNCLEAR, object=name, text=f"of volume {volume}: {found.error}"
        )
    why = "; ".join(found.reasons) or "it has no other replica"
    logged = f"replica {copy.name} has no pdb on another node"
    text = f"no healthy replica on another node is protected ({why})"
    if copy.failed:
        text = f"of volume {volume} has failed, and {text}"
        return Obstacle(code=Code.FAILED_REPLICA, object=name, text=text, logged=logged)
    text = f"of volume {volume}: {text}"
    code = Code.LAST_REPLICA_TO_MOVE if moves else Code.LAST_REPLICA
    if _is_strict(copy, situation):
        code, text = (
            Code.STRICT_LOCAL_REPLICA,
            f"of strict-local volume {volume}: Longhorn moves it to no other node",
        )
    return Obstacle(code=code, object=name, text=text, logged=logged)


def _is_strict(copy: Copy, situation: Situation) -> bool:
    """Whether a replica goes to no other node.

    Source: longhorn-manager controller/volume_controller.go reconcileVolumeCondition, which binds
    it to the node that the volume is to be attached to.
    """
    use = situation.cluster.uses.get(copy.volume)
    return use is not None and use.is_strict


def _protection(copy: Copy, node: NodeName, situation: Situation) -> Protection:
    """Say what protects a replica; those on *node* itself do not, as it is cordoned."""
    peers, reasons, error = set[NodeName](), list[str](), ""
    for peer in situation.cluster.copies.get(copy.volume, ()):
        why = _why_unprotected(peer, situation)
        if isinstance(why, _Error):
            error = error or f"{peer.name} on {peer.node or 'no node'}: {why}"
        elif not why:
            peers.add(peer.node)
        elif peer.node != node:
            reasons.append(f"{peer.name} on {peer.node or 'no node'} {why}")
    return Protection(copy=copy, peers=frozenset(peers), reasons=tuple(reasons), error=error)


class _Error(str):
    """Why Longhorn cannot find out whether a replica is protected."""

    __slots__ = ()


def _why_unprotected(peer: Copy, situation: Situation) -> str:
    """Say why a replica does not protect the data of its volume; "" if it does."""
    cluster = situation.cluster
    if peer.failed:
        return "has failed"
    if not peer.healthy_once:
        return "has no data yet"
    if peer.node not in cluster.hosts:
        return _Error(f"there is no Kubernetes Node {peer.node or 'of an empty name'}")
    if peer.node in situation.cordoned:
        return "is on a cordoned node"
    manager = _manager_of(peer, situation)
    if isinstance(manager, _Error):
        return manager
    if manager is None:
        return f"has no instance manager: {peer.manager} is not there"
    if not manager.runs:
        return f"has an instance manager that does not run: {manager.name} is {manager.state!r}"
    if manager.key in cluster.guards or _will_be_guarded(peer, situation):
        return ""
    return f"has an instance manager without a PodDisruptionBudget: {manager.name}"


def _manager_of(peer: Copy, situation: Situation) -> Manager | _Error | None:
    """Return the instance manager of a replica; None if the one that it names is not there.

    Source: longhorn-manager datastore getRunningReplicaInstanceManagerRO and
    GetInstanceManagerByInstanceRO.
    """
    cluster = situation.cluster
    if peer.manager:
        return cluster.manager_names.get(peer.manager)
    there = [
        each
        for each in cluster.managers.get(peer.node, ())
        if each.type == "aio" and each.is_v2 == peer.is_v2
    ]
    if peer.is_v2:
        found = there if len(there) == 1 else [each for each in there if each.runs]
    else:
        image = cluster.settings.get(_IMAGE, "")
        found = [each for each in there if each.image == image]
    if len(found) == 1:
        return found[0]
    count = "no" if not found else f"not one but {len(found)}"
    return _Error(f"it names no instance manager, and its node has {count} for it")


def _is_guarded(manager: Manager, situation: Situation) -> bool:
    """Whether there is a budget that keeps an instance manager.

    Until its node is cordoned, Longhorn makes one for each that runs, unless the autoscaler's
    setting has it make the least.
    """
    settings, hosts = situation.cluster.settings, situation.cluster.hosts
    is_made = manager.runs and settings.get(AUTOSCALER) != "true"
    is_open = manager.node in hosts and not hosts[manager.node].cordoned
    return manager.key in situation.cluster.guards or (is_made and is_open)


def _will_be_guarded(peer: Copy, situation: Situation) -> bool:
    """Whether Longhorn makes a budget for the instance manager of *peer* after the cordon.

    With the autoscaler's setting it makes one where a volume needs it. As soon as the nodes in
    question are cordoned, one of the other replicas of a volume gets it.
    """
    cluster = situation.cluster
    is_asked_about = not peer.stopped or cluster.settings.get(POLICY) != _IF_STOPPED
    return (
        situation.cordoned > cluster.cordoned
        and cluster.settings.get(AUTOSCALER) == "true"
        and is_asked_about
    )


def _not_running(manager: Manager, situation: Situation) -> Iterator[Obstacle]:
    """Say that a budget stays; a pod that is Pending, has ended or is ending goes all the same."""
    pod, guard = pod_of(manager, situation), situation.cluster.guards.get(manager.key)
    text = f"does not run (its state is {manager.state!r}), and "
    if pod is not None and not pod.is_unguarded:
        text += f"its pod is {pod.phase}"
    elif pod is None and guard is not None and guard.has_pods and not guard.allowed:
        text += "its PodDisruptionBudget counts a pod and lets none go"
    else:
        return
    yield Obstacle(
        code=Code.MANAGER_NOT_RUNNING, object=f"InstanceManager {manager.name}", text=text
    )


def pod_of(manager: Manager, situation: Situation) -> Guest | None:
    """Return the pod of an instance manager, None if it is not on its node."""
    there = situation.cluster.guests.get(manager.node, ())
    return next((each for each in there if each.key == manager.key), None)
