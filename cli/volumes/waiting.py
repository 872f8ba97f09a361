"""What a volume lacks, and what Longhorn waits for before it places it."""

from collections.abc import Sequence
from datetime import UTC, timedelta

import msgspec

from extender import ClusterView
from extender.demand import source_replicas
from longhorn import (
    MOST_REPLICAS,
    NOTHING_DUE,
    OFFLINE_REBUILDING,
    Due,
    Locality,
    Moment,
    NodeName,
    Replica,
    Usability,
    Volume,
    VolumeData,
    has_data,
    is_paused,
    is_placed,
    is_potentially_reusable,
    is_serving,
    is_usable,
    rebuilds_offline,
    reusable,
    wait_is_over,
    waits_for_attach,
)


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """What the next replica of a volume waits for; *code* is in `words.WAITS`."""

    code: str
    text: str
    only: NodeName | None = None
    """The only node that it may go to, if there is one."""
    waits: bool = False
    """Whether a failed replica is waited for."""

    @property
    def is_due(self) -> bool:
        """Whether Longhorn places it as soon as it fits."""
        return self.code in ("due", "local")


class Count(msgspec.Struct, frozen=True, kw_only=True):
    """How many replicas a volume has of those that it wants."""

    wanted: int
    placed: int
    """On a disk, and neither failed nor leaving."""
    complete: int
    """With all data, also those that are to move; all of them if nothing was ever written."""
    leaving: int
    """Of these, to be moved away."""

    @property
    def missing(self) -> int:
        """How many have no disk."""
        return max(0, self.wanted - self.placed)


def count_of(volume: Volume, data: VolumeData) -> Count:
    """Count the replicas of a volume."""
    wanted = 1 if volume.copying else volume.wanted_replicas
    if not volume.sharded:
        wanted = min(wanted, MOST_REPLICAS)
    there = (each.replica for each in data.judged if each.usability is not Usability.GONE)
    return Count(
        wanted=wanted,
        placed=sum(is_placed(each) and is_usable(each) for each in there),
        complete=len(data.usable),
        leaving=sum(each.evicting for each in data.usable),
    )


def waiting_of(
    volume: Volume,
    replicas: Sequence[Replica],
    view: ClusterView,
    utc: Moment | None,
    *,
    is_missing: bool,
    pod_node: NodeName | None,
) -> Waiting | None:
    """Say what the next replica waits for, None if none is to come.

    Args:
        volume: The volume.
        replicas: All its replicas.
        view: The cluster; which are due stands there.
        utc: The date and time, None if it is not known.
        is_missing: Whether the volume has fewer placed than it wants.
        pod_node: Where a pod is that is to attach it, if one has a node.
    """
    due = view.due.get(volume.name, NOTHING_DUE)
    pinned = next((r for r in replicas if is_usable(r) and r.node is None
                   and r.hard_node_affinity), None)  # fmt: skip
    if due.on_node is not None or pinned is not None:
        only = due.on_node or (pinned.hard_node_affinity if pinned else None)
        code = "local"
        if volume.locality is Locality.STRICT_LOCAL:  # placed only while it is to be attached
            code = "due" if volume.node is not None else "at_attach"
        return Waiting(
            code=code, text=f"one is to be placed on {only}, and nowhere else", only=only
        )
    if due.anywhere:
        return _due(volume, replicas, due, view, utc)
    return _not_due(volume, replicas, view, pod_node) if is_missing else None


def _due(
    volume: Volume, replicas: Sequence[Replica], due: Due, view: ClusterView, utc: Moment | None
) -> Waiting:
    settings = view.settings
    back = reusable(
        (*replicas, *source_replicas(volume, view)),
        volume,
        view.spaces.values(),
        settings,
        backing_image=view.backing_images.get(volume.backing_image or ""),
    )
    if back and has_data(replicas):
        return Waiting(
            code="reuse", text=f"the failed one on {back[0].node} is to be rebuilt in place"
        )
    count = "1 replica is" if due.anywhere == 1 else f"{due.anywhere} replicas are"
    if due.waits and not (utc and wait_is_over(volume, settings, utc)):
        failed = ", ".join(
            sorted(str(each.node) for each in replicas if is_potentially_reusable(each))
        )
        until = "for an unknown time"
        if volume.degraded_at is not None:
            over = volume.degraded_at + timedelta(seconds=settings.replenishment_wait_seconds)
            until = f"until {over.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
        return Waiting(
            code="failed_may_return",
            text=f"{until} Longhorn waits for the failed one on {failed} to come back "
            f"(replica-replenishment-wait-interval {settings.replenishment_wait_seconds} s)",
            waits=True,
        )
    return Waiting(code="due", text=f"{count} to be placed now")


def _not_due(
    volume: Volume, replicas: Sequence[Replica], view: ClusterView, pod_node: NodeName | None
) -> Waiting:
    """Say why a volume that lacks replicas gets none now (`longhorn.due`)."""
    if volume.deleting:
        return Waiting(code="unscheduled_for_good", text="the volume is being deleted")
    if volume.is_frozen and has_data(replicas):
        return Waiting(code="frozen_clone", text="a linked clone of its age gets no more")
    if volume.sharded:
        return Waiting(code="shards_unknown", text="its shards are not known")
    if volume.attached_to is None and volume.node is None:
        return _while_detached(volume, replicas, view, pod_node)
    if not view.settings.rebuild_limit:
        return Waiting(code="rebuilding_off", text="Longhorn is told to rebuild nothing")
    if is_paused(volume, view.paused):
        return Waiting(code="upgrading", text="first the live upgrade of a node goes on")
    if any(not each.active for each in replicas):
        return Waiting(code="migrating", text="first the migration or upgrade ends")
    if any(is_placed(each) and not (each.healthy_once or each.failed) for each in replicas):
        return Waiting(code="one_at_a_time", text="the next one comes after that")
    return Waiting(code="not_degraded", text="Longhorn has not said yet that one is missing")


def _while_detached(
    volume: Volume, replicas: Sequence[Replica], view: ClusterView, pod_node: NodeName | None
) -> Waiting:
    if not has_data(replicas) and waits_for_attach(volume, view.settings):
        return Waiting(
            code="at_attach",
            text=f"locality {volume.locality}: placed when a pod attaches it",
            only=pod_node if volume.locality is Locality.STRICT_LOCAL else None,
        )
    leaving = [each for each in replicas if each.evicting and is_serving(each)]
    if leaving and volume.locality is Locality.STRICT_LOCAL:
        node = leaving[0].node
        text = f"one is to be moved away from {node}, and a strict-local volume's goes nowhere else"
        return Waiting(code="strict_local_stays", text=text, only=node)
    if leaving:
        return Waiting(code="evicting", text="one is to be moved away")
    if rebuilds_offline(volume, view.setting_values.get(OFFLINE_REBUILDING, "")):
        return Waiting(code="offline", text="Longhorn attaches it to rebuild (offline)")
    return Waiting(code="detached", text="replaced when the volume is attached")
