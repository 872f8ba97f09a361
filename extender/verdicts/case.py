"""One pod's request with all that judging any node for it needs."""

from collections.abc import Mapping

import msgspec

from extender.demand.existing import Existing
from extender.demand.items import Demand, demand_of
from extender.demand.requests import PodRequest
from extender.forecast.coming import Coming, coming_of
from extender.forecast.crowd import Crowd
from extender.forecast.forecast import Forecast
from extender.forecast.loads import OthersLoads
from extender.forecast.outlook import Outlook, outlook_of
from extender.holds.ledger import Ledger
from extender.view import ClusterView
from extender.work import Work
from longhorn import Moment, NodeName, Settings, VolumeName


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A pod's request, prepared once for all nodes."""

    request: PodRequest
    view: ClusterView
    settings: Settings
    own: frozenset[VolumeName]
    """The names of the request's volumes."""
    demand: Demand
    """All volumes of the request: what a node without any replica of them must take."""
    existing: Existing
    holders: frozenset[NodeName]
    """The nodes that hold a replica of any of the volumes."""
    strict_nodes: Mapping[VolumeName, frozenset[NodeName]]
    """Where strict-local volumes have their replica; those not placed yet are left out."""
    is_strict: bool
    """Whether a strict-local volume is not placed yet."""
    loads: OthersLoads
    """What goes to one node each, besides the pod's own."""
    others: Crowd
    """What Longhorn will place anywhere, besides the pod's own."""
    own_coming: tuple[Coming, ...]
    """What it will place anywhere of the pod's volumes."""
    forecast: Forecast
    """Where *others* find room; nobody adds to it."""
    work: Work
    """What may still be done for the request."""
    step_limit: int
    """Of the packing of one node."""

    def trial(self, *, with_open: bool = False) -> Forecast:
        """Return a forecast of the same to add to.

        Args:
            with_open: Whether all that open holds keep on nodes is to be beside it.
        """
        loads = self.loads
        if with_open:
            return self.forecast.copy(lambda space: loads.on(space).items, is_more=True)
        return self.forecast.copy(lambda space: loads.sure(space).sure_items)

    def demand_on(self, name: NodeName) -> Demand:
        """Return what a node must take anew: volumes that have a replica there need no room."""
        if name not in self.holders:
            return self.demand
        rest = (
            (volume.name, volume.need)
            for volume in self.request.volumes
            if name not in self.existing[volume.name]
        )
        return demand_of(rest, self.view, self.settings)


def prepare(
    request: PodRequest,
    existing: Existing,
    view: ClusterView,
    settings: Settings,
    *,
    outlook: Outlook,
    step_limit: int,
    work: Work,
    utc: Moment | None = None,
) -> Case:
    """Gather what judging nodes for *request* needs.

    Args:
        request: The pod with its claims resolved.
        existing: The replicas that there are of its volumes.
        view: The cluster.
        settings: Longhorn's.
        outlook: What is held for pods and what Longhorn is about to place, up to date.
        step_limit: Most steps of the packing of one node.
        work: What may be done for the request.
        utc: The date and time, None if it is not known.
    """
    own = frozenset(volume.name for volume in (*request.volumes, *request.remote))
    loads, forecast, others = outlook.without(request.pod.uid, own, utc, work)
    strict_nodes = _strict_nodes(request, view)
    return Case(
        is_strict=any(v.is_strict and v.name not in strict_nodes for v in request.volumes),
        loads=loads,
        others=others,
        own_coming=tuple(
            coming_of(v.volume, v.need, view, settings, has_local=v.is_local)
            for v in (*request.volumes, *request.remote)
        ),
        forecast=forecast,
        work=work,
        step_limit=step_limit,
        request=request,
        view=view,
        settings=settings,
        own=own,
        demand=demand_of(((v.name, v.need) for v in request.volumes), view, settings),
        existing=existing,
        holders=frozenset(name for by_node in existing.values() for name in by_node),
        strict_nodes=strict_nodes,
    )


def prepare_once(
    request: PodRequest,
    existing: Existing,
    view: ClusterView,
    settings: Settings,
    ledger: Ledger,
    *,
    step_limit: int,
    utc: Moment | None = None,
) -> Case:
    """Gather the same for what was answered: to say more of it.

    Args:
        request: The pod with its claims resolved.
        existing: The replicas that there are of its volumes.
        view: The cluster that the answer rests on.
        settings: Longhorn's.
        ledger: What was held at the answer.
        step_limit: Most steps of the packing of one node.
        utc: The date and time, None if it is not known.
    """
    return prepare(
        request,
        existing,
        view,
        settings,
        outlook=outlook_of(view, settings, ledger, step_limit=step_limit, utc=utc),
        step_limit=step_limit,
        work=Work.unlimited(),
        utc=utc,
    )


def counts(case: Case) -> dict[str, int]:
    """Count the replicas coming that are sure, those of open holds, and those without room."""
    sums, nowhere = case.others.sums, case.forecast.nowhere
    found = {"sure": sums.sure, "open": sums.open, "nowhere": sum(nowhere.values())}
    for each in case.others.coming if nowhere else ():
        found["sure" if each.is_sure else "open"] -= nowhere.get(each.volume.name, 0)
    return found


def _strict_nodes(request: PodRequest, view: ClusterView) -> dict[VolumeName, frozenset[NodeName]]:
    """Look up where strict-local volumes are placed.

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
