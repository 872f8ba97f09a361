"""Move replicas so that disks are more evenly full."""

from collections import Counter
from collections.abc import Iterator, Mapping

import msgspec
from msgspec import structs

from extender import ClusterView
from longhorn import Candidate, VolumeName
from planner.errors import PlanError
from planner.instructions import commands_of
from planner.movable import hindrances
from planner.moving import Move
from planner.picture import Event, Kind
from planner.plan import Plan
from planner.rebalance import Goal, rebalanced, shares
from planner.sizes import amount

_BALANCES = "some of these volumes have replica-auto-balance: Longhorn may move them again"
_LIMIT = "concurrent-replica-rebuild-per-node-limit"


class Rebalance(msgspec.Struct, frozen=True, kw_only=True):
    """Say which replicas to move, and how."""

    most_moves: int
    below_percent: int | None
    """No disk is to have more scheduled than so much of its limit; None for as even as can be."""
    namespace: str
    """Longhorn's."""

    @property
    def title(self) -> str:
        """What is done."""
        if self.below_percent is not None:
            return f"rebalance until no disk is above {self.below_percent} %"
        return f"rebalance with up to {self.most_moves} moves"

    def take(self, plan: Plan) -> list[Event]:
        """Do it, and return what happened."""
        view, below = plan.cluster.view, self.below_percent
        if view.settings.unreadable is not None:
            raise PlanError(
                f"Setting {view.settings.unreadable} cannot be read, so that Longhorn places "
                f"nothing; correct it"
            )
        if not view.settings.rebuild_limit:
            raise PlanError(f"Setting {_LIMIT} is 0, so that Longhorn builds no replica; raise it")
        goal = Goal(most_moves=self.most_moves, below=None if below is None else below / 100)
        moves = [*rebalanced(_without_new(plan), goal)]
        names = plan.names()
        events = [self._make(move, plan, names) for move in moves]
        left = [*_left(plan, goal, is_ended=len(moves) < self.most_moves)]
        if any(each.meanwhile.auto_balance != each.volume.auto_balance for each in moves):
            plan.notes.append(_BALANCES)
        if left and goal.below is not None:
            plan.notes += _too_full(plan, goal.below)
        if below is None:
            plan.notes += [f"{each.object} on {each.node} {each.text}" for each in left[:1]]
            left = []
        return [*events, *left, *plan.settle()]

    def _make(self, move: Move, plan: Plan, names: Mapping[VolumeName, str]) -> Event:
        """Make a move in the plan, and say how it is made in the cluster."""
        old, at = move.replica, move.target
        space = plan.cluster.view.spaces[at.node]
        disk = next(each.disk for each in space.disks if each.disk.id == at.disk)
        plan.cluster.put(move.new)
        plan.volumes.replicas.new.add(move.new.name)
        plan.volumes.replicas.remove(old)
        nominal = ", its size, as what is written is not known" if move.is_nominal else ""
        return Event(
            kind=Kind.REPLICA_MOVED,
            object=names.get(move.volume.name, move.volume.name),
            node=at.node,
            before=old.node,
            text=f"{old.node}/{plan.disk_of(old)} to {at.node}/{disk.name}, copies "
            f"{amount(move.copied_bytes)}{nominal}",
            copied_bytes=move.copied_bytes,
            commands=tuple(commands_of(move, disk, self.namespace)),
        )


def _without_new(plan: Plan) -> ClusterView:
    """Return the cluster without volumes of which the plan has placed replicas: nobody knows yet
    what these are called."""
    view, new = plan.cluster.view, plan.volumes.replicas.new
    touched = {name for name, of in view.replicas.items() if any(each.name in new for each in of)}
    kept = {name: each for name, each in view.volumes.items() if name not in touched}
    return structs.replace(view, volumes=kept)


def _too_full(plan: Plan, below: float) -> Iterator[str]:
    """Say if no moves at all can be enough."""
    spaces = plan.cluster.view.spaces
    counted = shares(spaces)
    disks = [
        each for name, of in spaces.items() for each in of.disks
        if each.disk.id is not None and Candidate(name, each.disk.id) in counted
    ]  # fmt: skip
    limit = sum(each.limit_bytes for each in disks)
    together = sum(each.scheduled_bytes for each in disks) / limit if limit else 0.0
    if together > below:
        yield (
            f"all disks together are {100 * together:.0f} % full, so that no moves bring each to "
            f"{100 * below:.0f} %; add a disk or a node, or delete volumes"
        )


def _left(plan: Plan, goal: Goal, *, is_ended: bool) -> Iterator[Event]:
    """Say of disks above the level, or of the fullest one, why they stay there.

    Args:
        is_ended: There is no further move, whatever the number of moves.
    """
    view = plan.cluster.view
    full, kept = shares(view.spaces), hindrances(view)
    kinds: dict[object, Counter[str]] = {}
    for name, of in view.replicas.items():
        for each in of:
            kinds.setdefault((each.node, each.disk), Counter())[kept.get(name, "")] += 1
    for at in sorted(full, key=lambda each: (-full[each], each)):
        if goal.below is not None and full[at] <= goal.below:
            return
        if goal.below is None and not is_ended:
            return
        space = next(each for each in view.spaces[at.node].disks if each.disk.id == at.disk)
        there = kinds.get((at.node, at.disk), Counter())
        free = there.pop("", 0)
        reasons = [f"{count} of {kind} volumes" for kind, count in sorted(there.items())]
        if free and is_ended:
            reasons.append(f"{free} with no better disk to go to")
        elif free:
            reasons.append(f"{free} that more moves may reach (--moves)")
        yield Event(
            kind=Kind.REFUSED,
            object=f"Disk {space.disk.name}",
            node=at.node,
            text=f"stays {100 * full[at]:.0f} % full: "
            + (f"of its replicas {', '.join(reasons)}" if reasons else "no Replica there is known"),
        )
