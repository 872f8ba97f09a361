"""All that one answer rests on, prepared once for all nodes."""

from collections.abc import Mapping

import msgspec
from msgspec import structs

from extender.demand.existing import Existing, existing_of
from extender.demand.items import Demand, demand_of, item_of
from extender.demand.requests import PodRequest
from extender.holds.ledger import Ledger
from extender.space import NodeSpace
from extender.upcoming.anywhere import once_attached
from extender.upcoming.bound_to_others import BoundToOthers
from extender.upcoming.forecast import Forecast
from extender.upcoming.outlook import Outlook
from extender.upcoming.upcoming import Crowd, Upcoming
from extender.view import ClusterView
from extender.work import StepLimits, Work
from longhorn import NodeName, VolumeName


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """A pod's request, the cluster, and what else will take room there."""

    request: PodRequest
    view: ClusterView
    ledger: Ledger
    """What is held for pods; the pod's own hold does not count against it."""
    limits: StepLimits
    work: Work
    """What may still be done for the answer."""
    existing: Existing
    """The replicas that there are of the request's volumes."""
    demand: Demand
    """All volumes of the request: what a node without any replica of them must take."""
    holders: frozenset[NodeName]
    """The nodes that hold a replica of any of the volumes."""
    strict_nodes: Mapping[VolumeName, frozenset[NodeName]]
    """Where strict-local volumes have their replica; those not placed yet are left out."""
    bound: BoundToOthers
    """What comes to one node each, besides the pod's own."""
    others: Crowd
    """What Longhorn will place anywhere, besides the pod's own."""
    own: tuple[Upcoming, ...]
    """What it will place anywhere of the pod's volumes; it may be nothing of some."""
    forecast: Forecast
    """Where *others* find room; nobody adds to it."""
    with_own: Forecast
    """The same with the pod's volumes that need nothing on its node, once these found room
    (`starting.start`)."""
    beside_open: Forecast | None = None
    """The same beside all that open holds keep; None if there are none, or nothing needs room."""

    @property
    def is_strict(self) -> bool:
        """Whether a strict-local volume is not placed yet."""
        return any(v.is_strict and v.name not in self.strict_nodes for v in self.request.volumes)

    def coming_to(self, space: NodeSpace) -> tuple[Upcoming, ...]:
        """Return all that comes to a node: what is bound to it, and what is forecast there."""
        return (*self.bound.on(space), *self.forecast.on.get(space.node.name, ()))

    def at_leisure(self) -> "Situation":
        """Return the same for somebody whose work has no limit, as a command."""
        forecast, work = self.forecast.at_leisure(), Work.unlimited()
        return structs.replace(
            self, forecast=forecast, with_own=forecast, beside_open=None, work=work
        )

    def demand_on(self, name: NodeName) -> Demand:
        """Return what a node must take anew: volumes that have a replica there need no room."""
        if name not in self.holders:
            return self.demand
        rest = (
            (volume.name, volume.need)
            for volume in self.request.volumes
            if name not in self.existing[volume.name]
        )
        return demand_of(rest, self.view)


def situation_of(
    request: PodRequest, view: ClusterView, ledger: Ledger, outlook: Outlook, *, limits: StepLimits
) -> Situation:
    """Gather what an answer to *request* rests on.

    Args:
        outlook: What else will take room, up to date with both.
    """
    work = Work(limits.per_request)
    wanted = (*request.volumes, *request.remote)
    names = frozenset(volume.name for volume in wanted)
    bound, forecast, others = outlook.without(request.pod.uid, names, work)
    existing = existing_of(request, view)
    demand = demand_of([(each.name, each.need) for each in request.volumes], view)
    items = [*demand.items, *(item_of(each.name, each.need, view) for each in request.remote)]
    return Situation(
        request=request,
        view=view,
        ledger=ledger,
        limits=limits,
        work=work,
        existing=existing,
        demand=demand,
        holders=frozenset(name for by_node in existing.values() for name in by_node),
        strict_nodes=strict_nodes(request, view),
        bound=bound,
        others=others,
        own=tuple(
            once_attached(each.volume, each.need, item, view, has_local=each.is_local)
            for each, item in zip(wanted, items, strict=True)
        ),
        forecast=forecast,
        with_own=forecast,
    )


def strict_nodes(request: PodRequest, view: ClusterView) -> dict[VolumeName, frozenset[NodeName]]:
    """Return where the strict-local volumes of a request are placed.

    Longhorn refuses to attach such a volume anywhere else (its volume webhook).
    """
    placed = {
        volume.name: frozenset(
            node
            for replica in view.replicas.get(volume.name, ())
            if (node := replica.named_place[0]) and not replica.deleting
        )
        for volume in request.volumes
        if volume.is_strict
    }
    return {volume: nodes for volume, nodes in placed.items() if nodes}
