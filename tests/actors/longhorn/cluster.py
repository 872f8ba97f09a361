"""What the controllers of one Longhorn share: the API, their caches of objects, and chance."""

import asyncio
from collections.abc import Callable
from datetime import datetime
from random import Random

import longhorn
from tests.actors import api as kinds
from tests.actors.api import Api, Informer, Key, Object
from tests.actors.longhorn.clones import Sharing
from tests.actors.longhorn.delays import Delays, Span
from tests.actors.longhorn.runners import Runners

_SOON_SECONDS = 0.001


class Cluster:
    """The cluster as Longhorn sees it; the caches are as old as the API server's news is.

    Attributes:
        not_ready: Nodes whose manager is away, with the reason that their Ready condition gives.
        runners: Says what runs on nodes.
        sharing: Says which replicas linked clones share.
        disk_schedules: None if Longhorn does not use them.
        shards: None if it makes no erasure-coded volumes.
        upgrades: None if it does not upgrade data engine v2 live.
    """

    def __init__(
        self,
        api: Api,
        *,
        random: Random,
        wall_clock: Callable[[], datetime],
        delays: Delays,
        namespace: str,
        has_schedules: bool,
        has_shards: bool,
        has_upgrades: bool,
    ) -> None:
        self.api = api
        self.random = random
        self.wall_clock = wall_clock
        self.delays = delays
        self.namespace = namespace
        self.not_ready: dict[str, str] = {}
        self.nodes = Informer(api, kinds.LONGHORN_NODES, namespace)
        self.volumes = Informer(api, kinds.VOLUMES, namespace)
        self.replicas = Informer(api, kinds.REPLICAS, namespace)
        self.settings = Informer(api, kinds.SETTINGS, namespace)
        self.backing_images = Informer(api, kinds.BACKING_IMAGES, namespace)
        self.instance_managers = Informer(api, kinds.INSTANCE_MANAGERS, namespace)
        self.engine_images = Informer(api, kinds.ENGINE_IMAGES, namespace)
        self.sharing = Sharing(self.replicas)
        self.disk_schedules = (
            Informer(api, kinds.DISK_SCHEDULES, namespace) if has_schedules else None
        )
        self.shards = Informer(api, kinds.SHARDS, namespace) if has_shards else None
        self.upgrades = Informer(api, kinds.UPGRADES, namespace) if has_upgrades else None
        self.kubernetes_nodes = Informer(api, kinds.KUBERNETES_NODES)
        self.csi_nodes = Informer(api, kinds.CSI_NODES)
        self.runners = Runners(
            self.instance_managers,
            self.engine_images,
            self.settings,
            drivers=self.csi_nodes,
            hosts=self.kubernetes_nodes,
        )
        self.pods = Informer(api, kinds.PODS)
        self.claims = Informer(api, kinds.CLAIMS)
        self.persistent_volumes = Informer(api, kinds.PERSISTENT_VOLUMES)
        self.storage_classes = Informer(api, kinds.STORAGE_CLASSES)
        self.informers = (
            self.nodes,
            self.volumes,
            self.replicas,
            self.settings,
            self.backing_images,
            self.kubernetes_nodes,
            self.pods,
            self.claims,
            self.persistent_volumes,
            self.storage_classes,
            self.instance_managers,
            self.engine_images,
            self.csi_nodes,
            *([self.disk_schedules] if self.disk_schedules else []),
            *([self.shards] if self.shards else []),
            *([self.upgrades] if self.upgrades else []),
        )

    def key(self, name: str) -> Key:
        """Name an object of Longhorn's."""
        return Key(self.namespace, name)

    def setting_values(self) -> dict[str, str]:
        return {key.name: obj["value"] for key, obj in self.settings.objects.items()}

    def known_settings(self) -> longhorn.Settings:
        """Return the settings that decide where replicas go."""
        return longhorn.read_settings(self.setting_values())

    def known_upgrades(self) -> list[Object]:
        """Return all live upgrades as last heard of."""
        return [] if self.upgrades is None else [*self.upgrades.objects.values()]

    def known_shards(self) -> list[Object]:
        """Return all shards as last heard of."""
        return [] if self.shards is None else [*self.shards.objects.values()]

    def is_cordoned(self, node: str) -> bool:
        host = self.kubernetes_nodes.get(node)
        return host is not None and bool(host["spec"].get("unschedulable"))

    def draw(self, span: Span) -> float:
        return self.random.uniform(*span)

    def timestamp(self) -> str:
        return f"{self.wall_clock():%Y-%m-%dT%H:%M:%SZ}"

    async def replicas_of(self, volume: str) -> list[Object]:
        """Read a volume's replicas, not from a cache, by name."""
        selector = f"longhornvolume={volume}"
        found = await self.api.list(kinds.REPLICAS, self.namespace, labelSelector=selector)
        return sorted(found, key=lambda replica: str(replica["metadata"]["name"]))

    async def shards_of(self, volume: str) -> list[Object]:
        """Read a volume's shards, not from a cache, by name."""
        if self.shards is None:
            return []
        selector = f"longhornvolume={volume}"
        found = await self.api.list(kinds.SHARDS, self.namespace, labelSelector=selector)
        return sorted(found, key=lambda shard: str(shard["metadata"]["name"]))


class Timers:
    """What takes its time: the first look at a thing begins it, later ones say how long it takes.

    Lets a controller wait without holding up its worker. What is over stays so until stopped.
    """

    def __init__(self, draw: Callable[[Span], float]) -> None:
        self._draw = draw
        self._due: dict[tuple[str, ...], float] = {}

    def left(self, *thing: str, span: Span) -> float:
        """Return the seconds until *thing* is over."""
        now = asyncio.get_running_loop().time()
        if thing not in self._due:
            self._due[thing] = now + self._draw(span)
        left = self._due[thing] - now
        return left if left > _SOON_SECONDS else 0.0

    def stop(self, *things: str) -> None:
        """Forget all whose names begin so: what was waited for is done, or no longer wanted."""
        for thing in [each for each in self._due if each[: len(things)] == things]:
            del self._due[thing]
