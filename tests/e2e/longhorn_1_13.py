"""A world whose Longhorn becomes 1.13, and a kube-scheduler that calls Longhorn's own extender."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import yaml

from tests.actors import api as kinds
from tests.actors.api import Api, Key, Object, key_of
from tests.actors.longhorn import NAMESPACE
from tests.actors.longhorn.extender import NAME, OWNED, Extender
from tests.actors.longhorn.release import ENABLED, KNOWN
from tests.e2e.calls import Call, read_calls
from tests.e2e.extender import proxy_command
from tests.e2e.proxy import Endpoint, ready_endpoints
from tests.e2e.users import ADMIN, LONGHORN
from tests.e2e.waiting import until
from tests.e2e.world import World
from tests.ports import free_port
from tests.processes import Process
from tests.scheduler_configurations import OF_LONGHORN

MANAGER = "node-1"
"""The node of the manager that leads."""
SECONDS = 60.0
_OWNED = ",".join(f"{name}={value}" for name, value in OWNED.items())


@asynccontextmanager
async def upgraded(world: World) -> AsyncIterator[None]:
    """Have Longhorn be 1.13 until the end of the block; nothing of its extender is left then."""
    async with await world.control_plane.client(LONGHORN) as client:
        api = Api(client)
        extender = Extender(api, world.longhorn.cluster, node=MANAGER)
        work = asyncio.create_task(extender.run())
        try:
            known = world.longhorn.cluster.settings.objects
            await until(lambda: len(known) >= len(KNOWN), within=SECONDS, what="Settings of 1.13")
            yield
        finally:
            work.cancel()
            await asyncio.wait([work])
            await _remove(api)
        if not work.cancelled():
            work.result()


async def switch(world: World, *, on: bool) -> None:
    """Turn Longhorn's extender on or off, and wait until that is so."""
    await world.set_longhorn(ENABLED, str(on).lower())

    async def is_so() -> bool:
        lease = await world.api.get(kinds.LEASES, NAME, NAMESPACE) or {"spec": {}}
        leads = lease["spec"].get("holderIdentity") == MANAGER
        return (leads, bool(await _endpoints(world))) == (on, on)

    await until(is_so, within=SECONDS, what=f"Longhorn's extender is on: {on}")


class Theirs:
    """Longhorn's extender as kube-scheduler reaches it."""

    def __init__(self, url: str, record: Path) -> None:
        self.url = url
        self._record = record

    def calls(self) -> list[Call]:
        """Return the calls of /filter that it got."""
        return read_calls(self._record)


@asynccontextmanager
async def reached(world: World, folder: Path) -> AsyncIterator[Theirs]:
    """Turn it on, and have the cluster's kube-scheduler call it until the end of the block."""
    await switch(world, on=True)
    port, record = free_port(), folder / "calls-of-theirs.jsonl"
    command = proxy_command(
        await _endpoints(world),
        kubeconfig=world.control_plane.users.kubeconfig(ADMIN),
        namespace=NAMESPACE,
        service=NAME,
        port=port,
        record=record,
    )
    proxy = Process("proxy-of-theirs", command, folder / "proxy-of-theirs.log")
    theirs = Theirs(f"http://127.0.0.1:{port}", record)
    await _configure(world, entry(theirs.url))
    try:
        yield theirs
    finally:
        await _configure(world)
        await proxy.stop()


def entry(url: str) -> Object:
    """Return the entry for kube-scheduler's configuration that the proposal shows."""
    shown: Object = yaml.safe_load(OF_LONGHORN)["extenders"][0]
    return {**shown, "urlPrefix": url}


async def _configure(world: World, *extenders: Object) -> None:
    await world.control_plane.stop_scheduler()
    await world.start_scheduler(extenders=[*extenders])


async def _endpoints(world: World) -> list[Endpoint]:
    """Return where the Service in Longhorn's namespace leads."""
    service = await world.api.get(kinds.SERVICES, NAME, NAMESPACE)
    slices = await world.api.list(kinds.ENDPOINT_SLICES, NAMESPACE)
    return ready_endpoints(slices, service) if service else []


async def _remove(api: Api) -> None:
    for kind in (kinds.SERVICES, kinds.ENDPOINT_SLICES):
        for obj in await api.list(kind, NAMESPACE, labelSelector=_OWNED):
            await api.delete(kind, key_of(obj))
    await api.delete(kinds.LEASES, Key(NAMESPACE, NAME))
