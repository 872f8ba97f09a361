"""All that one answer rests on, prepared once for all nodes."""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet

import msgspec
from msgspec import structs

from extender.demand.existing import Existing, existing_of
from extender.demand.items import Demand, demand_of, item_of
from extender.demand.requests import PodRequest
from extender.holds.ledger import Ledger
from extender.space import NodeSpace
from extender.upcoming.book import Book
from extender.upcoming.upcoming import Upcoming
from extender.upcoming.volumes import once_attached
from extender.view import ClusterView
from extender.work import StepLimits, Work
from longhorn import Moment, NodeName, VolumeName, needed_to_start
from packing import Kind


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
    demand_of_holders: Mapping[NodeName, Demand]
    """What nodes must take anew that hold a replica of any of the volumes."""
    strict_nodes: Mapping[VolumeName, frozenset[NodeName]]
    """Where strict-local volumes have their replica; those not placed yet are left out."""
    own: tuple[Upcoming, ...]
    """What Longhorn will place anywhere of the pod's volumes; it may be nothing of some."""
    needed: tuple[Upcoming, ...]
    """What of these must find room so that the pod starts, and needs nothing on its node."""
    counts: Mapping[str, int]
    """How many replicas of other volumes count that are not placed: sure, open, nowhere."""
    shared_book: Book
    """All that is upcoming, without the pod's own."""
    turn: object
    """Which state of the book that is."""

    @property
    def book(self) -> Book:
        """All that is upcoming, without the pod's own, but for what was placed to decide on it.

        It stands until another pod is asked about.
        """
        assert self.is_valid, "another pod was asked about since"
        return self.shared_book

    @property
    def is_valid(self) -> bool:
        """Whether no other pod was asked about since, and nothing has changed that is upcoming."""
        return self.shared_book.turn is self.turn

    def coming_to(self, space: NodeSpace) -> tuple[Upcoming, ...]:
        """Return all that comes to a node but for the pod's own."""
        own = {volume.name for volume in (*self.request.volumes, *self.request.remote)}
        return tuple(each for each in self.book.on(space) if each.volume.name not in own)

    def competitors_on(self, space: NodeSpace) -> list[Upcoming]:
        """Return what of all that comes to a node competes with the pod's own, the surest first.

        That is what may use the same disks, or disks that the rest may use. Longhorn retries a
        replica with hardNodeAffinity at least every 30 s, so it takes room as soon as there is any.
        docs/decisions/0001 says what counts.
        """
        items = self.demand_on(space.node.name).items
        upcoming = sorted(self.coming_to(space), key=lambda each: each.certainty) if items else []
        if not upcoming:
            return []
        here = frozenset(bin_.kind for bin_ in space.bins)
        kinds = here.intersection(frozenset().union(*(item.kinds for item in items)))
        reached = _reached(upcoming, kinds, here)
        return [each for each in upcoming if each.item.kinds & reached]

    @property
    def is_strict(self) -> bool:
        """Whether a strict-local volume is not placed yet."""
        return any(v.is_strict and v.name not in self.strict_nodes for v in self.request.volumes)

    def at_leisure(self) -> "Situation":
        """Return the same for somebody whose work has no limit, as a command."""
        self.book.forecast.work = Work.unlimited()
        return structs.replace(self, work=self.book.forecast.work)

    @property
    def holders(self) -> AbstractSet[NodeName]:
        """The nodes that hold a replica of any of the volumes."""
        return self.demand_of_holders.keys()

    def demand_on(self, name: NodeName) -> Demand:
        """Return what a node must take anew."""
        return self.demand_of_holders.get(name, self.demand)


def situation_of(
    request: PodRequest,
    view: ClusterView,
    ledger: Ledger,
    book: Book,
    *,
    limits: StepLimits,
    utc: Moment | None = None,
) -> Situation:
    """Gather what an answer to *request* rests on.

    Args:
        request: The pod.
        view: The cluster.
        ledger: The holds.
        book: What else will take room, up to date with both.
        limits: How much may be done.
        utc: The date and time, None if it is not known.
    """
    work = Work(limits.per_request)
    wanted = (*request.volumes, *request.remote)
    book.ask(request.pod.uid, [volume.name for volume in wanted], utc=utc, work=work)
    existing = existing_of(request, view)
    demand = demand_of([(each.name, each.need) for each in request.volumes], view)
    items = [*demand.items, *(item_of(each.name, each.need, view) for each in request.remote)]
    own = tuple(
        once_attached(each.volume, each.need, item, view, has_local=each.is_local)
        for each, item in zip(wanted, items, strict=True)
    )
    return Situation(
        request=request,
        view=view,
        ledger=ledger,
        limits=limits,
        work=work,
        existing=existing,
        demand=demand,
        demand_of_holders={
            name: demand_of(
                ((e.name, e.need) for e in request.volumes if name not in existing[e.name]), view
            )
            for name in {name for by_node in existing.values() for name in by_node}
        },
        strict_nodes=strict_nodes(request, view),
        own=own,
        needed=needed_to_start_of(own[len(request.volumes) :], view),
        counts={**book.forecast.counts},
        shared_book=book,
        turn=book.turn,
    )


def needed_to_start_of(remote: Iterable[Upcoming], view: ClusterView) -> tuple[Upcoming, ...]:
    """Return what must find room of volumes that need nothing on their pod's node, largest first.

    What is small finds room beside what is large more easily than the other way round.
    """
    return tuple(
        structs.replace(each, count=count)
        for each in sorted(remote, key=lambda each: -each.need.size_bytes)
        for volume in (each.volume,)
        for replicas in (view.replicas.get(volume.name, ()),)
        if (count := needed_to_start(volume, replicas, view.settings, due=each.count))
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


def _reached(
    upcoming: Iterable[Upcoming], kinds: frozenset[Kind], here: frozenset[Kind]
) -> frozenset[Kind]:
    """Return *kinds* of disks, and those that whoever may use any of these may use as well.

    Only kinds of disks that are *here* lead on: two items do not compete on a node because a disk
    of another node would suit both.
    """
    more = kinds.union(*(each.item.kinds & here for each in upcoming if each.item.kinds & kinds))
    return kinds if more == kinds else _reached(upcoming, more, here)
