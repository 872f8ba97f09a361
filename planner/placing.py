"""Where Longhorn puts one replica.

It is the search of `longhorn` and its choice. For clusters of thousands of disks it is kept ready
on which of them a need fits, and worked out again only for nodes that changed.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from random import Random

from extender import ClusterView
from extender.demand import source_replicas
from extender.view import VersionedCache
from longhorn import (
    Candidate,
    Candidates,
    Hosts,
    Moment,
    Need,
    Reason,
    Replica,
    Settings,
    Volume,
    choices,
    chosen_disks,
    chosen_nodes,
    find_candidates,
    need_of,
    search,
    wait_is_over,
)

_REMEMBERED_NEEDS = 64
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Placing:
    """Chooses disks for replicas.

    Args:
        random: For what Longhorn leaves to chance: the choice between disks that are as good.
    """

    def __init__(self, random: Random) -> None:
        self._random = random
        self._hosts = VersionedCache[tuple[Need, Settings], Hosts](_REMEMBERED_NEEDS)

    def place(
        self,
        replica: Replica,
        volume: Volume,
        view: ClusterView,
        utc: Moment | None = None,
    ) -> Candidate | tuple[Reason, ...]:
        """Return the disk for a replica that is not placed, or Longhorn's reasons for none.

        Args:
            replica: The replica; of it, only its name, its hardNodeAffinity and what it shares data
                with matter.
            volume: Its volume.
            view: The cluster.
            utc: Decides whether a degraded volume still waits for its failed replica.
        """
        replicas = (*view.replicas.get(volume.name, ()), *source_replicas(volume, view))
        candidates = self._candidates(replica, volume, replicas, view, utc)
        return self._choose(candidates, volume.size_bytes) or candidates.errors

    def _candidates(
        self,
        replica: Replica,
        volume: Volume,
        replicas: Sequence[Replica],
        view: ClusterView,
        utc: Moment | None,
    ) -> Candidates:
        now = utc or volume.degraded_at or _EPOCH
        if volume.backing_image is None and replica.hard_node_affinity is None:
            hosts = self._hosts_for(need_of(volume, None, replicas, replica), view)
            if hosts.each and view.settings.unreadable is None:
                waited = volume.degraded and wait_is_over(volume, view.settings, now)
                return search(replica, volume, replicas, hosts, replaces_failed=bool(waited))
        return find_candidates(replica, volume, replicas, view, now)

    def _choose(self, candidates: Candidates, size_bytes: int) -> Candidate | None:
        """Choose the node, then a disk of it; None if there are no candidates."""
        nodes = sorted(chosen_nodes(candidates.preferred, size_bytes))
        if nodes:
            node = self._random.choice(nodes)
            disks = sorted(chosen_disks(candidates.preferred, node, size_bytes))
            if disks:
                return Candidate(node, self._random.choice(disks))
        chosen = choices(candidates, size_bytes)
        return self._random.choice(chosen) if chosen else None

    def _hosts_for(self, need: Need, view: ClusterView) -> Hosts:
        """Return the nodes for a need, as they are now."""
        hosts, changed = self._hosts.get(
            (need, view.settings),
            view.changes,
            lambda: Hosts(need, view.settings, view.spaces.values()),
        )
        for name in changed:
            hosts.note(name, view.spaces.get(name))
        return hosts
