"""What is served now, as the page that plans are drawn on: nodes, holds and waiting pods.

It is made in small pieces, and gives way after each, so that no answer waits for more than
one of them. So pieces may be some moments apart; each node is as it was at one of them.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import TypeVar

import msgspec

from app.instance.debug import RoleState
from app.page.now import claims_by_volume, node_now
from app.page.page import closing, more_nodes, opening
from extender import ClusterView, Hold, Ledger
from extender.holds import State
from extender.waiting import NodeSets, WaitingPod, WaitingPods
from longhorn import VolumeName
from planner.picture import Event, Kind, Picture, PlannedVolume, PlanWarning, Reason, StepReport

Found = TypeVar("Found")

_MOST_PODS = 50
"""Of the pods with holds, and of those that wait, so many are listed. All holds count on nodes."""
_CLAIMS_AT_ONCE = 500
_NODES_AT_ONCE = 20
"""That are sent; each of them is worked out by itself."""


class Sources(msgspec.Struct, frozen=True, kw_only=True):
    """What a picture is drawn from, as it is at the moment of each piece."""

    current_view: Callable[[], ClusterView]
    ledger: Ledger
    waiting: WaitingPods


class Caption(msgspec.Struct, frozen=True, kw_only=True):
    """What is written above a picture."""

    origin: str
    """Who sees this, or the files that it is in."""
    title: str = "now"
    warnings: tuple[PlanWarning, ...] = ()
    """Why it may not be the whole picture."""


def of_instance(role: RoleState, utc: datetime) -> Caption:
    """Say which instance sees this, and when."""
    return Caption(
        origin=f"instance {role.identity}, {role.role}",
        title=f"now, {utc:%Y-%m-%d %H:%M:%S} UTC",
        warnings=tuple(_standing(role)),
    )


async def draw(sources: Sources, caption: Caption, *, now: float) -> AsyncIterator[str]:
    """Yield the page in pieces.

    Args:
        sources: What is known.
        caption: What is written above.
        now: The time by the clock of holds, in seconds.
    """
    claims: dict[VolumeName, str] = {}
    await asyncio.sleep(0)
    for some in _batches([*sources.current_view().claims.values()], _CLAIMS_AT_ONCE):
        claims |= claims_by_volume(some, sources.current_view())
        await asyncio.sleep(0)
    events = [_held(hold, claims) for hold in islice(sources.ledger, _MOST_PODS)]
    for pod in islice(sources.waiting, _MOST_PODS):
        await asyncio.sleep(0)
        woken = ", and was woken since" if pod.woken else ""
        events.append(
            Event(
                kind=Kind.PENDING,
                object=f"{pod.pod.namespace}/{pod.pod.name}",
                text=f"waits for {now - pod.since:.0f} s{woken}",
                reasons=_reasons(pod, sources.waiting.nodes),
            )
        )
    await asyncio.sleep(0)
    yield opening(_picture(sources, caption, events))
    names = sorted(sources.current_view().spaces)
    for batch in _batches(names, _NODES_AT_ONCE):
        nodes = []
        for name in batch:
            await asyncio.sleep(0)
            view = sources.current_view()
            if name in view.spaces:  # it may be gone since
                nodes.append(node_now(view.spaces[name], view, sources.ledger, claims))
        yield more_nodes(nodes)
    yield closing()


def _reasons(waiting: WaitingPod, sets: NodeSets) -> tuple[Reason, ...]:
    """Return why a pod got no node, the commonest reason first."""
    found = [
        Reason(code=why.reason, text=str(why), nodes=tuple(sets.names(nodes)))
        for why, nodes in waiting.rejected.items()
    ]
    return tuple(sorted(found, key=lambda each: -len(each.nodes)))


def _batches(found: Sequence[Found], size: int) -> Iterator[Sequence[Found]]:
    for start in range(0, len(found), size):
        yield found[start : start + size]


def _picture(sources: Sources, caption: Caption, events: list[Event]) -> Picture:
    holds, waiting = len(sources.ledger), len(sources.waiting)
    now = StepReport(
        title=caption.title,
        events=tuple(events),
        warnings=(
            *caption.warnings,
            *_left_out("held", holds, "pods with a hold"),
            *_left_out("waiting", waiting, "pods that wait"),
        ),
    )
    return Picture(origin=f"{caption.origin}; {holds} holds, {waiting} pods wait", steps=(now,))


def _standing(role: RoleState) -> Iterator[PlanWarning]:
    """Say why this picture may not be the whole one."""
    if role.idle:
        yield PlanWarning(code="disabled", object=role.identity, text=role.idle)
    elif role.role == "standby":
        yield PlanWarning(
            code="standby",
            object=role.identity,
            text="this instance is a standby, and knows neither holds nor waiting pods; the "
            f"instance that does is {role.holder or 'not known'}",
        )
    elif role.unavailable:
        yield PlanWarning(code="unavailable", object=role.identity, text=role.unavailable)
    if role.unready:
        yield PlanWarning(code="unready", object=role.identity, text=role.unready)


def _left_out(code: str, count: int, what: str) -> Iterator[PlanWarning]:
    if count > _MOST_PODS:
        yield PlanWarning(
            code=f"{code}_left_out",
            object=what,
            text=f"only {_MOST_PODS} of {count} are listed, those of the longest time first; "
            "/debug/state has all",
        )


def _held(hold: Hold, claims: dict[VolumeName, str]) -> Event:
    is_chosen = hold.state is State.CHOSEN
    return Event(
        kind=Kind.HELD,
        object=f"{hold.pod.namespace}/{hold.pod.name}",
        node=hold.node if is_chosen else None,
        text="its node is chosen" if is_chosen else f"it may go to any of {len(hold.nodes)} nodes",
        volumes=tuple(
            PlannedVolume(
                name=claims.get(volume.name, volume.name),
                size_bytes=volume.need.size_bytes,
                locality=volume.volume.locality,
            )
            for volume in (*hold.volumes, *hold.remote)
        ),
    )
