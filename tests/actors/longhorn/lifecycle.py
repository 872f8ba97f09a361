"""What to do next about a volume and its replicas. Pure.

    "" -> creating -> detaching -> detached -> attaching -> attached -> detaching -> detached
                          ^------ wish withdrawn -----'

Source: longhorn-manager controller/volume_controller.go. Each step brings the volume a little
nearer to what is wished for; whoever acts on it asks again after each. A pass ends with `Become`.
"""

from collections import Counter
from collections.abc import Collection, Sequence

import msgspec

from tests.actors.longhorn.records import BEST_EFFORT, DISABLED, STRICT_LOCAL, Replica, Volume
from tests.actors.longhorn.requesting import RequestStep, next_requests
from tests.actors.longhorn.salvage import is_faulted


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
    """Wish the process of a replica running."""

    replica: str


class StopReplicas(msgspec.Struct, frozen=True):
    """Wish all of them stopped, as the engine is."""


class FinishRebuild(msgspec.Struct, frozen=True):
    """Take a replica for healthy: it was filled from another one."""

    replica: str


class Become(msgspec.Struct, frozen=True):
    """Enter the next state."""

    state: str


class DeleteVolume(msgspec.Struct, frozen=True):
    """Remove the volume; its replicas are gone."""


class Judge(msgspec.Struct, frozen=True):
    """Write down how healthy the volume is."""

    robustness: str


Step = (
    CreateReplica
    | PlaceReplica
    | DeleteReplica
    | RunReplica
    | StopReplicas
    | FinishRebuild
    | Become
    | DeleteVolume
    | Judge
    | RequestStep
)

PRECHECK = "precheck"
"""Stands for a replica that is not even written, in what failed."""


def next_steps(
    volume: Volume,
    replicas: Sequence[Replica],
    failed: Collection[str],
    placed: Collection[str] = (),
    held_back_bytes: int = 0,
) -> tuple[Step, ...]:
    """List what may be done now; steps that take time do not keep the later ones waiting.

    Args:
        volume: The volume.
        replicas: All of its replicas.
        failed: Replicas that found no place just now; they wait for another time.
        placed: Replicas that were placed just now.
        held_back_bytes: The size that the volume is not expanded to for now; 0 if there is none.
    """
    staying = [each for each in replicas if not each.is_leaving]
    if volume.state == "deleting":
        if not replicas:
            return (DeleteVolume(),)
        return tuple(DeleteReplica(each.name) for each in staying if not each.is_shared)
    return (
        *(DeleteReplica(name) for name in _surplus(volume, staying)),
        *_missing(volume, staying, failed),
        *next_requests(volume, staying, placed, held_back_bytes),
        *_placements(volume, staying, failed),
        *_processes(volume, staying, placed),
        *_transition(volume, staying),
        *_judgement(volume, staying),
    )


def next_step_in_shards(volume: Volume, *, is_whole: bool, is_empty: bool) -> Step | None:
    """Say what to do next about an erasure-coded volume, whose shards are made by others.

    It is attached to no node before all of its shards are there, but is asked to be.

    Args:
        volume: The volume.
        is_whole: Whether all of its shards have a place.
        is_empty: Whether it has none at all.
    """
    wished = volume.wished_node
    match volume.state:
        case "deleting":
            return DeleteVolume() if is_empty else None
        case "":
            return Become("creating")
        case "creating":
            return Become("detaching")
        case "detaching":
            return Become("detached")
        case "detached" if wished:
            return Become("attaching")
        case "attaching" if not wished:
            return Become("detaching")
        case "attaching" if is_whole:
            return Become("attached")
        case "attached" if wished != volume.current_node:
            return Become("detaching")
    return None


def robustness(volume: Volume, replicas: Sequence[Replica]) -> str:
    """Judge an attached volume by its healthy replicas."""
    healthy = sum(replica.is_healthy for replica in replicas)
    return "healthy" if healthy >= volume.wanted_replicas else "degraded"


def _surplus(volume: Volume, replicas: Sequence[Replica]) -> Sequence[str]:
    """Name a replica that is no longer needed.

    Of more healthy ones than wanted a remote one goes once a local one is healthy, from where
    they are most crowded; without locality they stay. One that linked clones share stays, and all
    of a faulted volume do.
    Source: controller/volume_controller.go cleanupExtraHealthyReplicas,
    getPreferredReplicaCandidatesForDeletion, filterOutLinkedCloneSrcReplicas.
    """
    if volume.is_paused or is_faulted(replicas):
        return ()
    given_up = [each for each in replicas if each.is_given_up]
    staying = [each for each in replicas if each.is_healthy and not each.is_evicting]
    evicting = [each for each in replicas if each.is_evicting]
    if len(staying) < volume.wanted_replicas:
        return [each.name for each in given_up[:1]]
    pending = [each for each in replicas if not each.node and _is_pointless(volume, each, replicas)]
    spare: list[Replica] = []
    if volume.state == "attached" and len(staying) > volume.wanted_replicas:
        is_local = any(each.node == volume.current_node for each in staying)
        if volume.locality == BEST_EFFORT and is_local:
            spare = [each for each in _crowded(staying) if each.node != volume.current_node]
    leaving = (*given_up, *evicting, *pending, *spare)
    return [each.name for each in leaving if not each.is_shared][:1]


def _crowded(replicas: Sequence[Replica]) -> Sequence[Replica]:
    """Return those that share a disk with most others, or else a node, or else a zone; or all."""
    for place in ("disk", "node", "zone"):
        counts = Counter(getattr(each, place) for each in replicas)
        most = max(counts.values())
        if most > 1:
            return [each for each in replicas if counts[getattr(each, place)] == most]
    return replicas


def _is_pointless(volume: Volume, pending: Replica, replicas: Sequence[Replica]) -> bool:
    """Say whether a replica without a place needs none any more, with enough others healthy."""
    if not pending.hard_node or volume.locality == DISABLED:
        return True
    has_local = any(each.node == pending.hard_node for each in replicas)
    return has_local or pending.hard_node != volume.current_node


def _missing(
    volume: Volume, replicas: Sequence[Replica], failed: Collection[str]
) -> Sequence[Step]:
    """Create what is missing: at first all at once, later one after the other."""
    if volume.is_paused or (volume.is_legacy_clone and any(each.has_data for each in replicas)):
        return ()
    attached = volume.state == "attached"
    regular = [
        each
        for each in replicas
        if not each.is_evicting
        and not each.is_failed
        and (each.node or not each.hard_node or volume.locality == STRICT_LOCAL)
    ]
    if len(regular) < volume.wanted_replicas:
        is_new = not any(each.has_data or each.is_failed for each in replicas)
        is_filling = any(not each.is_healthy for each in regular)
        wanted = not is_filling if attached else is_new
        return (CreateReplica(""),) if wanted and PRECHECK not in failed else ()
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
        if not each.node and not each.is_failed and each.name not in failed
    ]


def _processes(
    volume: Volume, replicas: Sequence[Replica], placed: Collection[str]
) -> Sequence[Step]:
    """Run what is placed and stop what runs; what an attached volume gets runs a pass later."""
    usable = [each for each in replicas if each.is_usable]
    stopped = [each for each in usable if not (each.shall_run or each.is_running)]
    match volume.state:
        case "detached" | "attaching" if volume.wished_node:
            return [RunReplica(each.name) for each in stopped]
        case "attached":
            filling = [each for each in usable if each.is_running and not each.is_healthy]
            return [
                *(RunReplica(each.name) for each in stopped if each.name not in placed),
                *(FinishRebuild(each.name) for each in filling),
            ]
        case "detaching" if any(each.shall_run for each in replicas):
            return [StopReplicas()]
    return ()


def _transition(volume: Volume, replicas: Sequence[Replica]) -> Sequence[Step]:
    wished = volume.wished_node
    usable = [each for each in replicas if each.is_usable]
    is_stopped = not any(each.shall_run or each.is_running for each in replicas)
    match volume.state:
        case "":
            return (Become("creating"),)
        case "creating":
            return (Become("detaching"),)
        case "detaching" if is_stopped:
            return (Become("detached"),)
        case "detached" if wished and usable:
            return (Become("attaching"),)
        case "attaching" if not wished:
            return (Become("detaching"),)
        case "attaching" if _is_complete(replicas):
            return (Become("attached"),)
        case "attached" if wished != volume.current_node:
            return (Become("detaching"),)
    return ()


def _is_complete(replicas: Sequence[Replica]) -> bool:
    """Say whether the engine may start: all that may run does.

    That of a new volume also waits for replicas that no disk has decided on yet, since later ones
    have to be filled from others.
    """
    usable = [each for each in replicas if each.is_usable]
    is_new = not any(each.has_data for each in usable)
    if is_new and any(e.node and not e.is_failed and not e.is_usable for e in replicas):
        return False
    return bool(usable) and all(each.is_running for each in usable)


def _judgement(volume: Volume, replicas: Sequence[Replica]) -> Sequence[Step]:
    """Judge an attached volume, and a detached one: that is faulted also while it has no replica.

    Source: controller/volume_controller.go isAutoSalvageNeeded.
    """
    match volume.state:
        case "attaching" | "attached" if replicas and is_faulted(replicas):
            found = "faulted"
        case "attached" if volume.wished_node == volume.current_node:
            found = robustness(volume, replicas)
        case "detached" if is_faulted(replicas):
            found = "faulted"
        case "detached" if volume.robustness == "faulted":
            found = "unknown"
        case _:
            return ()
    return () if found == volume.robustness else (Judge(found),)
