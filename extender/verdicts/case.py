"""One pod's request with all that judging any node for it needs."""

from collections.abc import Mapping

import msgspec

from extender.demand.existing import Existing
from extender.demand.requests import PodRequest
from extender.verdicts.fitting import Demand, demand_of
from extender.view import ClusterView
from longhorn import NodeName, Settings, VolumeName


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


def prepare(request: PodRequest, existing: Existing, view: ClusterView, settings: Settings) -> Case:
    """Gather what judging nodes for *request* needs."""
    return Case(
        request=request,
        view=view,
        settings=settings,
        own=frozenset(volume.name for volume in request.volumes),
        demand=demand_of(((v.name, v.need) for v in request.volumes), view, settings),
        existing=existing,
        holders=frozenset(name for by_node in existing.values() for name in by_node),
        strict_nodes=_strict_nodes(request, view),
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
        if volume.strict
    }
    return {volume: nodes for volume, nodes in placed.items() if nodes}
