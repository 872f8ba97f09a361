"""What to do next about a volume and its replicas. Pure.

    "" -> creating -> detached -> attaching -> attached -> detaching -> detached
                                      `------ wish withdrawn -----^

Source: longhorn-manager controller/volume_controller.go. Each step brings the volume a little
nearer to what is wished for; whoever acts on it reads both anew and asks again.
"""

from collections.abc import Collection, Sequence

import msgspec

from tests.actors.longhorn.records import BEST_EFFORT, DISABLED, STRICT_LOCAL, Replica, Volume


class CreateReplica(msgspec.Struct, frozen=True):
    """Write one more Replica object; without *hard_node* only if some disk would take it now."""

    hard_node: str


class PlaceReplica(msgspec.Struct, frozen=True):
    """Find a disk for a replica, on *hard_node* alone unless that is ""."""

    replica: str
    hard_node: str


class DeleteReplica(msgspec.Struct, frozen=True):
    """Remove a replica and its data."""

    replica: str


class RunReplica(msgspec.Struct, frozen=True):
    """Start the process of a replica."""

    replica: str


class FinishRebuild(msgspec.Struct, frozen=True):
    """Take a replica for healthy: it was filled from another one."""

    replica: str


class Become(msgspec.Struct, frozen=True):
    """Enter the next state."""

    state: str


class DeleteVolume(msgspec.Struct, frozen=True):
    """Remove the volume; its replicas are gone."""


class Judge(msgspec.Struct, frozen=True):
    """Write down how healthy the attached volume is."""

    robustness: str


Step = (
    CreateReplica
    | PlaceReplica
    | DeleteReplica
    | RunReplica
    | FinishRebuild
    | Become
    | DeleteVolume
    | Judge
)

PRECHECK = "precheck"
"""Stands for a replica that is not even written, in what failed."""


def next_steps(
    volume: Volume, replicas: Sequence[Replica], failed: Collection[str]
) -> tuple[Step, ...]:
    """List what may be done now; steps that take time do not keep the later ones waiting.

    Args:
        volume: The volume.
        replicas: All of its replicas.
        failed: Replicas that found no place just now; they wait for another time.
    """
    staying = [each for each in replicas if not each.is_leaving]
    if volume.state == "deleting":
        if not replicas:
            return (DeleteVolume(),)
        return tuple(DeleteReplica(each.name) for each in staying)
    replicas = staying
    return (
        *(DeleteReplica(name) for name in _surplus(volume, replicas)),
        *_missing(volume, replicas, failed),
        *_placements(volume, replicas, failed),
        *_running(volume, replicas),
        *_transition(volume, replicas),
    )


def robustness(volume: Volume, replicas: Sequence[Replica]) -> str:
    """Judge an attached volume by its healthy replicas."""
    healthy = sum(replica.is_healthy for replica in replicas)
    return "healthy" if healthy >= volume.wanted_replicas else "degraded"


def _surplus(volume: Volume, replicas: Sequence[Replica]) -> Sequence[str]:
    """Name a replica that is no longer needed."""
    staying = [each for each in replicas if each.is_healthy and not each.is_evicting]
    evicting = [each for each in replicas if each.is_evicting]
    enough = len(staying) >= volume.wanted_replicas
    if not enough:
        return ()
    pending = [each for each in replicas if not each.node and _is_pointless(volume, each, replicas)]
    spare: list[Replica] = []
    if volume.state == "attached" and len(staying) > volume.wanted_replicas:
        local = volume.current_node if volume.locality == BEST_EFFORT else ""
        spare = [each for each in staying if each.node != local]
    return [each.name for each in (*evicting, *pending, *spare)[:1]]


def _is_pointless(volume: Volume, pending: Replica, replicas: Sequence[Replica]) -> bool:
    """Say whether a replica without a place needs none any more, with enough others healthy."""
    if not pending.hard_node or volume.locality == DISABLED:
        return True
    has_local = any(each.node == pending.hard_node for each in replicas)
    return has_local or pending.hard_node != volume.current_node


def _missing(
    volume: Volume, replicas: Sequence[Replica], failed: Collection[str]
) -> Sequence[Step]:
    attached = volume.state == "attached"
    has_data = any(each.is_healthy for each in replicas)
    regular = [
        each
        for each in replicas
        if not each.is_evicting
        and (each.node or not each.hard_node or volume.locality == STRICT_LOCAL)
    ]
    if not volume.state:
        return ()
    if len(regular) < volume.wanted_replicas and (attached or not has_data):
        return () if PRECHECK in failed else (CreateReplica(""),)
    if attached and volume.is_for_pods and volume.locality == BEST_EFFORT:
        here = volume.current_node
        is_local = any(here in (each.node, each.hard_node) for each in replicas)
        if not is_local and robustness(volume, replicas) == "healthy":
            return (CreateReplica(here),)
    return ()


def _placements(
    volume: Volume, replicas: Sequence[Replica], failed: Collection[str]
) -> Sequence[Step]:
    if volume.waits_for_node and not volume.wished_node:
        return ()
    strict = volume.wished_node if volume.locality == STRICT_LOCAL else ""
    return [
        PlaceReplica(each.name, each.hard_node or strict)
        for each in replicas
        if not each.node and each.name not in failed
    ]


def _running(volume: Volume, replicas: Sequence[Replica]) -> Sequence[Step]:
    if volume.state != "attached":
        return ()
    placed = [each for each in replicas if each.node]
    return [
        *(RunReplica(each.name) for each in placed if not each.is_running),
        *(FinishRebuild(each.name) for each in placed if not each.is_healthy),
    ]


def _transition(volume: Volume, replicas: Sequence[Replica]) -> Sequence[Step]:
    wished = volume.wished_node
    match volume.state:
        case "":
            return (Become("creating"),)
        case "creating" | "detaching":
            return (Become("detached"),)
        case "detached" if wished:
            return (Become("attaching"),)
        case "attaching" if not wished:
            return (Become("detaching"),)
        case "attaching" if any(each.node for each in replicas):
            return (Become("attached"),)
        case "attached" if wished != volume.current_node:
            return (Become("detaching"),)
        case "attached" if volume.robustness != robustness(volume, replicas):
            return (Judge(robustness(volume, replicas)),)
    return ()
