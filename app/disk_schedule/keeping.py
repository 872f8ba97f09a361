"""The loop that creates and deletes DiskSchedules, where Longhorn does not; what there should be is
in `app.disk_schedule.objects`.

Before anything is written, the API server is asked for the Node: a watch is late, and what was
asked for goes with the object.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import NoReturn

import msgspec
import structlog

from app.config import NAME
from app.disk_schedule.known import KnownDisks
from app.disk_schedule.objects import (
    KnownNode,
    deletion_patch,
    difference,
    known_node,
    new_object,
)
from app.disk_schedule.stored import STORED_SCHEDULES, StoredSchedule
from app.kube.backoff import Backoff
from app.kube.errors import ApiError, MalformedError, StatusError
from app.kube.longhorn.objects import LonghornNode
from app.kube.longhorn.resources import NODES
from app.kube.mirror import Change
from app.kube.objects import KubeStruct, Metadata
from app.process.surroundings import Surroundings
from longhorn import DiskId, DiskName, Node, NodeName

log = structlog.get_logger()

_REQUEST_SECONDS = 5.0
_STANDBY_SECONDS = 1.0
"""How often an instance that may not write, and has something to do, asks whether it may now."""
_AGAIN_SECONDS = 30.0
"""After this time what was to be done is looked at again, if no watch has shown it done."""
_CONFLICT, _NOT_FOUND = 409, 404
_FIELD_MANAGER = [("fieldManager", NAME)]


class _Written(KubeStruct, frozen=True):
    metadata: Metadata


class Keeping:
    """Has one DiskSchedule for each disk, while it may write.

    Args:
        around: What the instance finds around it. Randomness orders nodes: one that fails must not
            stop the others.
        namespace: Longhorn's.
        known: The nodes and schedules; brought up to date before `note_changes` is called.
        may_write: Whether this instance leads, and knows enough. Asked before each write.
    """

    def __init__(
        self,
        around: Surroundings,
        namespace: str,
        known: KnownDisks,
        *,
        may_write: Callable[[], bool],
    ) -> None:
        self._connection, _, _, random = around
        self._namespace = namespace
        self._known = known
        self._may_write = may_write
        self._random = random
        self._pauses = Backoff(random)
        self._suspects: set[NodeName] = set()
        """The nodes of which something may be due."""
        self._changed = asyncio.Event()

    def note_changes(self, changes: Iterable[Change]) -> None:
        """Look again at a node that has changed, or whose objects have."""
        for old, new in changes:
            match old, new:
                case _, Node():
                    self._suspects.add(new.name)
                case None, StoredSchedule():
                    self._suspects.add(new.schedule.node)
                case StoredSchedule(), None:  # its disk may be on any node by now
                    self._suspects.update(self._known.nodes)
                case _:
                    continue
            self._changed.set()

    async def run(self) -> NoReturn:
        """Create and delete what is due, until cancelled."""
        while True:
            self._changed.clear()
            seconds = await self._keep()
            try:
                async with asyncio.timeout(seconds):
                    await self._changed.wait()
            except TimeoutError:
                continue

    async def _keep(self) -> float | None:
        """Do what is due; return when to look again even if nothing changes, None if never."""
        due = sorted(name for name in self._suspects if self._differs(name))
        self._suspects.intersection_update(due)
        if due and not self._writes():
            return _STANDBY_SECONDS
        try:
            for name in self._random.sample(due, len(due)):
                await self._keep_of(name)
        except ApiError as error:
            log.warning("disk_schedule.objects_not_kept", error=str(error))
            asked = error.retry_after_seconds if isinstance(error, StatusError) else 0.0
            await asyncio.sleep(self._pauses.next_seconds(asked))
            return 0.0
        self._pauses.reset()
        return _AGAIN_SECONDS if due else None

    def _differs(self, name: NodeName) -> bool:
        """Whether a node's objects are not as they should be, as far as the watches show."""
        node = self._known.nodes.get(name)
        if node is None or node.deleting:
            return False
        disks = {disk.name: disk.id for disk in node.disks}
        return any(difference(disks, self._known.schedules_of(name), self._known.schedules))

    def _writes(self) -> bool:
        return self._may_write() and not self._known.rivals()

    async def _keep_of(self, name: NodeName) -> None:
        """Do what is due for the disks of one node.

        Raises:
            ApiError: Something was not written, or that is not known.
        """
        node = await self._read(name)
        if node is None:
            return  # with it the API server deletes its objects
        existing = self._known.schedules
        missing, stale = difference(node.disks, self._known.schedules_of(name), existing)
        for stored in stale:
            if self._writes():
                await self._delete(stored)
        for uuid, disk in missing.items():
            if self._writes():
                await self._create(node, disk, uuid)

    async def _read(self, name: NodeName) -> KnownNode | None:
        path = NODES.path(self._namespace, name)
        try:
            content = await self._connection.request("GET", path, deadline_seconds=_REQUEST_SECONDS)
            found = msgspec.json.decode(content, type=LonghornNode)
        except StatusError as error:
            if error.status != _NOT_FOUND:
                raise
            return None
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise MalformedError(f"the answer to GET {path} is no Node of Longhorn") from error
        return None if found.metadata.deletion_timestamp else known_node(found)

    async def _create(self, node: KnownNode, disk: DiskName, uuid: DiskId) -> None:
        body = new_object(node, disk, uuid, self._namespace)
        try:
            await self._connection.request(
                "POST",
                STORED_SCHEDULES.path(self._namespace),
                query=_FIELD_MANAGER,
                body=body,
                deadline_seconds=_REQUEST_SECONDS,
            )
        except StatusError as error:
            if error.status != _CONFLICT:
                raise
            return  # it is there, and the watch is about to show it
        log.info("disk_schedule.created", disk=uuid, node=node.name, disk_name=disk)

    async def _delete(self, stored: StoredSchedule) -> None:
        """Delete an object, if it is still what was seen: it may have been asked for room since."""
        path = STORED_SCHEDULES.path(self._namespace, stored.name)
        try:
            content = await self._connection.request(
                "PATCH",
                path,
                query=_FIELD_MANAGER,
                body=deletion_patch(stored.version),
                deadline_seconds=_REQUEST_SECONDS,
            )
            version = msgspec.json.decode(content, type=_Written).metadata.resource_version
            await self._connection.request(
                "DELETE",
                path,
                body={"preconditions": {"resourceVersion": version}},
                deadline_seconds=_REQUEST_SECONDS,
            )
        except StatusError as error:
            if error.status != _NOT_FOUND:
                raise
            return  # it is gone, and the watch is about to say so
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise MalformedError(f"the answer to PATCH {path} is no DiskSchedule") from error
        log.info("disk_schedule.deleted", disk=stored.name, node=stored.schedule.node)
