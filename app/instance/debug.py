"""Everything behind the answers of one instance, as JSON for people."""

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from app.instance.accounting import NodeReport, node_report
from app.instance.live_settings import LiveSettings
from app.instance.scores import LastScores, ScoresState
from extender import Extender, Hold
from extender.demand import NOBODY
from extender.explaining import LocalDisks, charges, expected
from extender.waiting import WaitingPods

if TYPE_CHECKING:  # a file has no such cluster, and need not load what reads one
    from app.instance.cluster import LiveCluster


class RoleState(msgspec.Struct):
    """What this instance is, and who leads as far as it knows."""

    role: str
    unavailable: str
    """Why kube-scheduler is not answered now."""
    unready: str
    identity: str
    holder: str
    """Of the lease."""
    idle: str = ""
    """Why no instance leads, if a setting says so."""


class KindState(msgspec.Struct):
    """How well one kind of objects is known."""

    version: str
    objects: int
    unreadable: int
    heard_seconds_ago: float | None
    trouble: str


class HoldState(msgspec.Struct):
    """A hold for one pod."""

    pod: str
    uid: str
    state: str
    nodes: list[str]
    named_by: str
    volume_bytes: Mapping[str, int]
    """Of each volume that needs a replica on the pod's node."""
    answered_seconds_ago: float
    bound_seconds_ago: float | None


class WaitingState(msgspec.Struct):
    """A pod that got no node."""

    pod: str
    waits_seconds: float
    woken: bool


class DebugState(msgspec.Struct):
    """What `GET /debug/state` shows."""

    instance: RoleState
    settings: LiveSettings
    longhorn_own_extender: str
    """Longhorn's own extender: absent, off or on. Nothing is decided by it."""
    mode: str
    kinds: Mapping[str, KindState]
    holds: list[HoldState]
    waiting: list[WaitingState]
    scores: list[ScoresState]
    """The last ones that were told."""
    nodes: Mapping[str, NodeReport]


def debug_state(
    instance: RoleState,
    cluster: "LiveCluster",
    extender: Extender,
    waiting: WaitingPods,
    scores: LastScores,
    now: float,
    utc: datetime,
) -> DebugState:
    """Gather the state of an instance."""
    view, ledger = cluster.view, extender.ledger
    forecast = expected(extender.situation(NOBODY, view, now, utc))
    return DebugState(
        instance=instance,
        settings=cluster.live_settings,
        longhorn_own_extender=cluster.own_extender,
        mode=ledger.mode,
        kinds={
            each.name: KindState(
                version=each.version,
                objects=each.objects,
                unreadable=each.unreadable,
                heard_seconds_ago=None if each.heard_at is None else now - each.heard_at,
                trouble=each.trouble,
            )
            for each in cluster.reflectors
        },
        holds=[_hold_state(hold, now) for hold in ledger],
        waiting=[
            WaitingState(
                pod=f"{each.pod.namespace}/{each.pod.name}",
                waits_seconds=now - each.since,
                woken=each.woken,
            )
            for each in waiting
        ],
        scores=scores.state(now),
        nodes={
            name: node_report(
                name, LocalDisks(), view, charges(ledger, name, view), forecast.get(name, ())
            )
            for name in sorted(view.spaces)
        },
    )


def _hold_state(hold: Hold, now: float) -> HoldState:
    return HoldState(
        pod=f"{hold.pod.namespace}/{hold.pod.name}",
        uid=hold.pod.uid,
        state=hold.state,
        nodes=sorted(hold.nodes),
        named_by=hold.named_by or "",
        volume_bytes={volume.name: volume.need.size_bytes for volume in hold.volumes},
        answered_seconds_ago=now - hold.answered_at,
        bound_seconds_ago=None if hold.bound_at is None else now - hold.bound_at,
    )
