"""What each node's manager knows of nodes and disks: a cache of its own, that lags.

All caches follow the same informer here, and each takes in every change a while after it; so two
managers can know different states of a disk at one moment, and write on what they know.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Collection, Mapping

from tests.actors.api import Informer, Key, Object, key_of
from tests.actors.longhorn.cluster import Cluster
from tests.actors.longhorn.schedules import by_schedules, without_disks

Handler = Callable[[Object | None, Object | None], None]


class Cache:
    """The objects of one kind as one manager knows them.

    Attributes:
        objects: By key.
        handlers: Told of each change once it is known here, as those of an informer.
    """

    def __init__(self, informer: Informer, lag: Callable[[], float]) -> None:
        """Begin with what the informer knows; *lag* draws the seconds that each change takes."""
        self.objects: dict[Key, Object] = dict(informer.objects)
        self.handlers: list[Handler] = []
        self._lag = lag
        self._coming: deque[tuple[float, Key, Object | None]] = deque()
        informer.handlers.append(self._on_change)

    def _on_change(self, old: Object | None, new: Object | None) -> None:
        """Have a change known in a while, and never before an earlier one."""
        known = new or old
        assert known is not None
        loop = asyncio.get_running_loop()
        before = self._coming[-1][0] if self._coming else 0.0
        due = max(loop.time() + self._lag(), before)
        self._coming.append((due, key_of(known), new))
        loop.call_at(due, self._take)

    def _take(self) -> None:
        _, key, new = self._coming.popleft()
        old = self.objects.pop(key, None)
        if new is not None:
            self.objects[key] = new
        for handler in self.handlers:
            handler(old, new)


class View:
    """Nodes and DiskSchedules as one manager knows them."""

    def __init__(self, nodes: Informer | Cache, schedules: Informer | Cache | None) -> None:
        self._nodes = nodes
        self._schedules = schedules

    def nodes(self, avoided: Collection[str] = ()) -> list[Object]:
        """List the nodes; their disks count what their DiskSchedules hold, if there are such.

        Args:
            avoided: UUIDs of disks that are left out.
        """
        found = [*self._nodes.objects.values()]
        schedules = self.schedules()
        if schedules is not None:
            found = [by_schedules(each, schedules) for each in found]
        return [without_disks(each, avoided) for each in found] if avoided else found

    def schedules(self) -> Mapping[str, Object] | None:
        """Return the DiskSchedules by the UUIDs of their disks; None if they are not used."""
        if self._schedules is None:
            return None
        return {key.name: obj for key, obj in self._schedules.objects.items()}


class Views:
    """The views of all managers."""

    def __init__(self, cluster: Cluster, *, lags: bool) -> None:
        """Begin without any; *lags* says whether caches of DiskSchedules lag."""
        self._cluster = cluster
        self._lags = lags
        self.newest = View(cluster.nodes, cluster.disk_schedules)

    def make(self, on_schedule: Handler) -> View:
        """Return a view for one more manager; *on_schedule* is told of changed DiskSchedules."""
        cluster = self._cluster
        if cluster.disk_schedules is None:
            return self.newest
        nodes, schedules = self._cache(cluster.nodes), self._cache(cluster.disk_schedules)
        schedules.handlers.append(on_schedule)
        return View(nodes, schedules)

    def _cache(self, informer: Informer) -> Informer | Cache:
        if not self._lags:
            return informer
        return Cache(informer, lambda: self._cluster.draw(self._cluster.delays.cache))
