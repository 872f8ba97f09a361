"""How many more pods of a workload fit, and what stops the next one."""

from collections.abc import Callable, Sequence

import msgspec

from extender import Claim
from planner.outcome import Event, Kind
from planner.plan import Plan
from planner.records import Pod
from planner.scheduling import Batch

Made = tuple[Pod, Sequence[Claim]]


class Fill(msgspec.Struct, frozen=True, kw_only=True):
    """Create pods of a workload, one group after another, until one of them gets no node."""

    title: str
    make: Callable[[int], Made]
    """Makes the pod of a number, counted from 0, with its claims."""
    group: int
    """So many are created together."""
    most: int = 10_000
    """Pods after which it ends in any case."""

    def take(self, plan: Plan) -> list[Event]:
        """Do it, and return what happened: the last event is about a pod that does not fit.

        Of the pods that get no node one is told of, and all of them are taken away again.
        """
        events = list[Event]()
        for first in range(0, self.most, self.group):
            made = [self.make(first + number) for number in range(self.group)]
            plan.create([pod for pod, _ in made], [claim for _, own in made for claim in own])
            happened = plan.schedule([Batch(pods=(pod,)) for pod, _ in made])
            pending = [each for each in happened if each.kind is Kind.PENDING]
            for each in pending:
                plan.forget(each.object)
            events += [each for each in happened if each.kind is not Kind.PENDING]
            if pending:
                return [*events, pending[0]]
        return events
