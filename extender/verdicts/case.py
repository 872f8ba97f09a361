"""One pod's request with all that judging any node for it needs."""

from collections.abc import Collection, Iterable, Mapping

import msgspec

from extender.demand.existing import Existing
from extender.demand.items import Demand, demand_of
from extender.demand.requests import PodRequest
from extender.forecast.assignment import Assignment
from extender.forecast.coming import Coming, coming, coming_of
from extender.forecast.forecast import Forecast
from extender.forecast.loads import Loads
from extender.forecast.ranking import Rankings
from extender.holds.ledger import Ledger
from extender.view import ClusterView
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
    loads: Loads
    """What goes to one node each, besides the pod's own."""
    coming: tuple[Coming, ...]
    """What Longhorn will place anywhere, besides the pod's own."""
    own_coming: tuple[Coming, ...]
    """What it will place anywhere of the pod's volumes."""
    forecast: Forecast
    """Where *coming* finds room."""
    rankings: Rankings
    step_limit: int
    """Of the packing of one node."""

    def new_forecast(self, coming: Iterable[Coming], *, with_open: bool = False) -> Forecast:
        """Return a forecast of *coming* alone, beside all that open holds keep if asked for."""
        assignment = Assignment(
            self.view,
            self.settings,
            self.loads,
            self.rankings,
            step_limit=self.step_limit,
            with_open=with_open,
        )
        forecast = Forecast(assignment)
        forecast.place_all(coming)
        return forecast

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
    ledger: Ledger,
    rankings: Rankings,
    step_limit: int,
    ignored: Collection[VolumeName] = (),
    utc: Moment | None = None,
) -> Case:
    """Gather what judging nodes for *request* needs.

    Args:
        request: The pod with its claims resolved.
        existing: The replicas that there are of its volumes.
        view: The cluster.
        settings: Longhorn's.
        ledger: What is held for pods; the pod's own hold does not count.
        rankings: Where new replicas find most room; kept up to date.
        step_limit: Most steps of the packing of one node.
        ignored: Volumes that are due and that Longhorn does not place for long.
        utc: The date and time, None if it is not known.
    """
    uid = request.pod.uid
    own = frozenset(volume.name for volume in (*request.volumes, *request.remote))
    loads = Loads(view, settings, ledger, uid=uid, own=own)
    holds = [hold for hold in ledger if hold.pod.uid != uid]
    others = tuple(coming(holds, view, settings, own=own, ignored=ignored, utc=utc))
    forecast = Forecast(Assignment(view, settings, loads, rankings, step_limit=step_limit))
    forecast.place_all(others)
    strict_nodes = _strict_nodes(request, view)
    return Case(
        is_strict=any(v.is_strict and v.name not in strict_nodes for v in request.volumes),
        loads=loads,
        coming=others,
        own_coming=tuple(
            coming_of(v.volume, v.need, view, settings, has_local=v.is_local)
            for v in (*request.volumes, *request.remote)
        ),
        forecast=forecast,
        rankings=rankings,
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


def _strict_nodes(request: PodRequest, view: ClusterView) -> dict[VolumeName, frozenset[NodeName]]:
    """Look up where strict-local volumes are placed.

    Longhorn refuses to attach such a volume anywhere else (its volume webhook).
    """
    placed = {
        volume.name: frozenset(
            replica.node
            for replica in view.replicas.get(volume.name, ())
            if replica.node and not replica.deleting
        )
        for volume in request.volumes
        if volume.is_strict
    }
    return {volume: nodes for volume, nodes in placed.items() if nodes}
