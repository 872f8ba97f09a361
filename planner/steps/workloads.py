"""Place workloads: the pods that controllers make of them."""

import msgspec

from extender import Claim
from planner.outcome import Event
from planner.plan import Plan
from planner.scheduling import Batch


class PlaceWorkloads(msgspec.Struct, frozen=True, kw_only=True):
    """Create pods with their claims, and find nodes for them."""

    title: str
    batches: tuple[Batch, ...]
    claims: tuple[Claim, ...] = ()

    def take(self, plan: Plan) -> list[Event]:
        """Do it, and return what happened."""
        plan.create((pod for batch in self.batches for pod in batch.pods), self.claims)
        return plan.schedule(self.batches)
