"""Which node each replica is forecast on, and what that leaves of the nodes."""

from collections.abc import Collection, Sequence

import msgspec

from extender.forecast.coming import Coming
from extender.forecast.loads import Loads, fits
from extender.forecast.ranking import Places, Rankings
from extender.view import ClusterView
from longhorn import Need, NodeName, Settings, Usage, VolumeName, stage_of, usage_of
from packing import Item


class Remote(msgspec.Struct, frozen=True, kw_only=True):
    """Room that one replica will take on a node."""

    coming: Coming
    item: Item


class Assignment:
    """What is forecast so far, beside what the nodes take for sure.

    Attributes:
        on: What will take room on each node.
        view: The cluster.
        settings: Longhorn's.
    """

    def __init__(
        self,
        view: ClusterView,
        settings: Settings,
        loads: Loads,
        rankings: Rankings,
        *,
        step_limit: int,
        with_open: bool = False,
    ) -> None:
        self.on: dict[NodeName, list[Remote]] = {}
        self.view = view
        self.settings = settings
        self._loads = loads
        self._rankings = rankings
        self._step_limit = step_limit
        self._with_open = with_open
        self._places_of: dict[Need, Places] = {}
        self._taken: dict[NodeName, int] = {}
        self._nodes_of: dict[VolumeName, set[NodeName]] = {}
        """Where replicas of each volume are forecast."""
        self._usage: dict[VolumeName, Usage] = {}
        """What each volume uses without them."""
        self._spare: tuple[dict[NodeName, int], int] | None = None

    def places(self, need: Need) -> Places:
        """Return where a replica of *need* may go at all."""
        found = self._places_of.get(need)
        if found is None:
            found = self._rankings.places(need, self.view, self.settings)
            self._places_of[need] = found
        return found

    def put(self, coming: Coming, item: Item, name: NodeName) -> None:
        """Put one more replica of a volume on a node."""
        self._taken[name] = self.taken_bytes(name) + item.logical_bytes
        count = sum(each.coming.volume.name == coming.volume.name for each in self.on.get(name, ()))
        own = msgspec.structs.replace(item, id=f"due/{coming.volume.name}/{count}")
        self.on.setdefault(name, []).append(Remote(coming=coming, item=own))
        self._nodes_of.setdefault(coming.volume.name, set()).add(name)
        self._spare = None

    def clear(self, nodes: Collection[NodeName]) -> None:
        """Take away what is forecast on *nodes*."""
        for name in nodes:
            for remote in self.on.pop(name, ()):
                self._nodes_of[remote.coming.volume.name].discard(name)
            self._taken.pop(name, None)
        self._spare = None

    def load(self, name: NodeName) -> tuple[Item, ...]:
        """Return what a node takes for sure; what is held by open holds as well if asked for.

        An open hold counts on each of its nodes. If what is due had to find room beside all of
        that, it might find none, and then its room would be given away.
        """
        load = self._loads.on(self.view.spaces[name])
        return load.items if self._with_open else load.sure_items

    def load_bytes(self, name: NodeName) -> int:
        """Return how many bytes that is."""
        return sum(item.logical_bytes for item in self.load(name))

    def taken_bytes(self, name: NodeName) -> int:
        """Return what a node takes for sure, and by this forecast."""
        taken = self._taken.get(name)
        if taken is None:
            remotes = sum(each.item.logical_bytes for each in self.on.get(name, ()))
            taken = self._taken[name] = self.load_bytes(name) + remotes
        return taken

    def unused_bytes(self, name: NodeName, places: Places) -> int:
        """Return what is unused on a node besides; Longhorn takes the node with the most."""
        return max(0, places.ranking.unused_bytes(name) - self.taken_bytes(name))

    def free_bytes(self, name: NodeName) -> int:
        """Return what may still be scheduled on all disks of a node."""
        return sum(max(0, bin_.logical_bytes) for bin_ in self.view.spaces[name].bins)

    def spare_bytes(self, *, but: NodeName) -> int:
        """Return what all nodes but one have left."""
        if self._spare is None:
            spare = {
                name: max(0, self.free_bytes(name) - self.taken_bytes(name))
                for name, space in self.view.spaces.items()
                if space.takes_replicas
            }
            self._spare = spare, sum(spare.values())
        spare, total = self._spare
        return total - spare.get(but, 0)

    def takes(self, name: NodeName, places: Places) -> bool:
        """Whether a node takes one more replica."""
        load, remotes = self.load(name), self.on.get(name)
        if not load and not remotes:
            return name in places
        return self.fits(name, [*load, *(each.item for each in remotes or ()), places.item])

    def fits(self, name: NodeName, items: Sequence[Item]) -> bool:
        """Whether a node takes all of *items*; not decided within the limit counts as yes."""
        return fits(items, self.view.spaces[name], self._step_limit)

    def stage(self, name: NodeName, coming: Coming, usage: Usage) -> int | None:
        """Say in which of Longhorn's groups a node comes; None: in none."""
        return stage_of(self.view.spaces[name].node, usage, coming.volume, self.settings)

    def usage_of(self, coming: Coming, *, with_forecast: bool = True) -> Usage:
        """Return which nodes and zones the volume uses, with what is forecast of it."""
        usage = self._usage.get(coming.volume.name)
        if usage is None:
            usage = self._usage[coming.volume.name] = self._usage_now(coming)
        for name in self._nodes_of.get(coming.volume.name, ()) if with_forecast else ():
            usage = self.with_one_on(name, usage)
        return usage

    def _usage_now(self, coming: Coming) -> Usage:
        spaces = self.view.spaces
        held = [r.node for r in coming.replicas if r.node is not None]
        hosts = [
            spaces[name]
            for name in dict.fromkeys(held)
            if name in spaces and spaces[name].refusal is None
        ]
        usage = usage_of(coming.replicas, hosts)
        if coming.local is not None and coming.local in spaces:
            usage = self.with_one_on(coming.local, usage)
        return usage

    def with_one_on(self, name: NodeName, usage: Usage) -> Usage:
        """Return *usage* with one more replica, on a node."""
        zone = self.view.spaces[name].node.zone
        return Usage(
            nodes=usage.nodes | {name},
            zones=usage.zones | {zone},
            staying_nodes=usage.staying_nodes | {name},
            staying_zones=usage.staying_zones | {zone},
        )
