"""The loop that decides: it takes what has changed, asks and writes; what is right is decided in
`longhorn.disk_schedule`.

Each object is in one pass at a time. A write carries the version that was decided on, so what was
decided on something older is refused by the API server and decided anew. That holds also between
two leaders.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import islice
from typing import NoReturn

import msgspec
import structlog

from app.config import NAME
from app.disk_schedule.known import KnownDisks
from app.disk_schedule.patches import FINALIZER, Patch, release_patch, spec_patch, status_patch
from app.disk_schedule.stored import IMAGE_COPIES, STORED_SCHEDULES, StoredSchedule
from app.kube.backoff import Backoff
from app.kube.errors import ApiError, ImpossibleNameError, MalformedError, StatusError
from app.kube.longhorn.resources import REPLICAS
from app.kube.mirror import Change
from app.kube.objects import KubeStruct, Metadata
from app.kube.records import read_item
from app.process.surroundings import Surroundings
from longhorn import (
    Decision,
    DiskId,
    DiskSchedule,
    LetGo,
    NodeUnknown,
    Owner,
    OwnerKind,
    decide_schedule,
    found_on_disk,
)

log = structlog.get_logger()

_REQUEST_SECONDS = 5.0
_MOST_PASSES = 8
"""At a time. One alone would let all disks wait for one slow answer."""
_CONFLICT_SECONDS = 1.0
_STANDBY_SECONDS = 1.0
"""How often an instance that may not write, and has something to do, asks whether it may now."""
_CONFLICT, _NOT_FOUND = 409, 404


class _Owner(KubeStruct, frozen=True):
    metadata: Metadata


class Controller:
    """Decides on the schedules that are due, while it may.

    It writes nothing while Longhorn has written any of them: then Longhorn has a controller of its
    own, and two would never come to rest.

    Args:
        around: What the instance finds around it. Randomness orders those that want to grow.
        namespace: Longhorn's.
        known: What decisions rest on. This adds what is written.
        may_write: Whether this instance leads, and knows enough. Asked before each write.
        on_decision: Told of each decision once it is written, also of those that change nothing.
        on_conflict: Called when the API server has refused a write of an older version.
        on_failure: Called when a pass has failed for another reason, and is tried again.
    """

    def __init__(
        self,
        around: Surroundings,
        namespace: str,
        known: KnownDisks,
        *,
        may_write: Callable[[], bool],
        on_decision: Callable[[Decision], None],
        on_conflict: Callable[[], None],
        on_failure: Callable[[], None],
    ) -> None:
        self._connection, self._clock, self._wall_clock, self._random = around
        self._namespace = namespace
        self._known = known
        self._may_write = may_write
        self._on_decision = on_decision
        self._on_conflict = on_conflict
        self._on_failure = on_failure
        self._due: dict[DiskId, float] = {}
        """From when on each may be looked at."""
        self._busy: set[DiskId] = set()
        self._pauses: dict[DiskId, Backoff] = {}
        """Of those whose last pass failed."""
        self._changed = asyncio.Event()

    def note_changes(self, changes: Iterable[Change]) -> None:
        """Take in what has changed, and look at what that may change."""
        had_rivals = bool(self._known.rivals())
        self._look_at(self._known.note_changes(changes))
        if (rivals := self._known.rivals()) and not had_rivals:
            log.error("disk_schedule.written_by_longhorn", disks=len(rivals), first=rivals[0])
        elif had_rivals and not rivals:
            self.look_at_all()

    def look_at_all(self) -> None:
        """Look at every schedule: this instance has just begun to lead."""
        self._look_at(self._known.schedules)

    async def run(self) -> NoReturn:
        """Make the passes that are due, until cancelled."""
        async with asyncio.TaskGroup() as passes:
            while True:
                self._changed.clear()
                now = self._clock()
                for name in self._ready(now):
                    del self._due[name]
                    self._busy.add(name)
                    passes.create_task(self._pass(name))
                await self._wait(now)

    def _look_at(self, names: Iterable[DiskId]) -> None:
        now = self._clock()
        for name in names:
            if name not in self._pauses or name not in self._due:
                self._due[name] = now  # else it failed, and is tried again after its pause
        self._changed.set()

    def _ready(self, now: float) -> list[DiskId]:
        """Return what to look at now; what is due stays so as long as nothing may be written."""
        if not self._writes():
            return []
        # Lazily: when many are due, those that may be looked at come first.
        ready = (name for name, at in self._due.items() if at <= now and name not in self._busy)
        return list(islice(ready, _MOST_PASSES - len(self._busy)))

    async def _wait(self, now: float) -> None:
        """Wait until something has changed, a pause is over, or it may be allowed to write."""
        times: list[float] = []
        if len(self._busy) < _MOST_PASSES:
            times = [at for name, at in self._due.items() if name not in self._busy]
        if times and not self._writes():
            times = [now + _STANDBY_SECONDS]
        try:
            async with asyncio.timeout(min(times) - now if times else None):
                await self._changed.wait()
        except TimeoutError:
            return

    async def _pass(self, name: DiskId) -> None:
        """Make one pass, and another one after a pause if it fails."""
        try:
            await self._decide_on(name)
        except ApiError as error:
            self._failed(name, error)
        else:
            self._pauses.pop(name, None)
        finally:
            self._busy.discard(name)
            self._changed.set()

    def _failed(self, name: DiskId, error: ApiError) -> None:
        status = error.status if isinstance(error, StatusError) else None
        if status == _CONFLICT:
            # The watch is about to show the newer version, or has done so; the pause is in case it
            # does not.
            self._pauses.pop(name, None)
            self._due.setdefault(name, self._clock() + _CONFLICT_SECONDS)
            self._on_conflict()
            return
        if status != _NOT_FOUND:  # else it is gone, and the watch is about to say so
            log.warning("disk_schedule.not_written", disk=name, error=str(error))
            self._on_failure()
        pauses = self._pauses.setdefault(name, Backoff(self._random))
        asked = error.retry_after_seconds if isinstance(error, StatusError) else 0.0
        self._due[name] = self._clock() + pauses.next_seconds(asked)

    async def _decide_on(self, name: DiskId) -> None:
        stored = self._known.schedules.get(name)
        if stored is None or not self._may_go_on(name):
            return
        gone = await self._gone(self._known.unowned(stored.schedule))
        # The newest one that is known, since asking took time; who is gone is gone for it, too.
        stored = self._known.schedules.get(name)
        if stored is None or not self._may_go_on(name):
            return
        schedule = stored.schedule
        if schedule.ready is None and (hidden := self._known.hidden(schedule)):
            log.error("disk_schedule.not_taken_over", disk=name, unreadable=hidden)
            return
        match self._decide(schedule, gone):
            case LetGo():
                if FINALIZER in stored.finalizers:
                    await self._write(stored, "", release_patch(stored.finalizers, stored.version))
            case NodeUnknown(node=node):
                log.warning("disk_schedule.node_unknown", disk=name, node=node)
            case Decision() as decision:
                await self._carry_out(stored, decision)

    def _writes(self) -> bool:
        return self._may_write() and not self._known.rivals()

    def _may_go_on(self, name: DiskId) -> bool:
        """Whether to go on with a pass; if not, it is due again."""
        if self._writes():
            return True
        self._due.setdefault(name, self._clock())
        return False

    def _decide(
        self, schedule: DiskSchedule, gone: Collection[Owner]
    ) -> Decision | LetGo | NodeUnknown:
        known, name = self._known, schedule.name
        found = {}
        if schedule.ready is None:
            found = found_on_disk(schedule, known.replicas_on(name), known.copies_on(name))
        return decide_schedule(
            schedule,
            known.nodes.get(schedule.node),
            known.over_provisioning_percent,
            gone=gone,
            found=found,
            shuffled=self._shuffled,
        )

    async def _carry_out(self, stored: StoredSchedule, decision: Decision) -> None:
        """Write the requirements, if they changed, and then the entries with the version got."""
        if decision.changes_spec:
            stored = await self._write(stored, "", spec_patch(decision, stored.version))
        if decision.changes_status:
            if not self._may_go_on(stored.name):
                return
            patch = status_patch(decision, stored.version, stored.conditions, self._wall_clock())
            await self._write(stored, "status", patch)
        if decision.changes_spec or decision.changes_status:
            _log(decision)
        self._on_decision(decision)

    async def _write(self, stored: StoredSchedule, part: str, patch: Patch) -> StoredSchedule:
        """Write a patch; return the object as it is then, which is known from now on.

        Raises:
            ApiError: It was not written, or that is not known.
        """
        path = STORED_SCHEDULES.path(self._namespace, stored.name, part)
        content = await self._connection.request(
            "PATCH",
            path,
            query=[("fieldManager", NAME)],
            body=patch,
            deadline_seconds=_REQUEST_SECONDS,
        )
        try:
            record = read_item(STORED_SCHEDULES, content).record
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise MalformedError(f"the answer to PATCH {path} is no DiskSchedule") from error
        if not isinstance(record, StoredSchedule):
            raise MalformedError(f"the answer to PATCH {path} is no DiskSchedule")
        self._known.learn(record, instead_of=stored)
        return record

    async def _gone(self, suspects: Iterable[Owner]) -> set[Owner]:
        """Ask the API server which owners no longer exist or are being deleted."""
        return {owner for owner in sorted(suspects) if await self._is_gone(owner)}

    async def _is_gone(self, owner: Owner) -> bool:
        resource = REPLICAS if owner.kind is OwnerKind.REPLICA else IMAGE_COPIES
        try:
            path = resource.path(self._namespace, owner.name)
        except ImpossibleNameError:  # who may change a DiskSchedule may have written any text
            return True
        try:
            content = await self._connection.request("GET", path, deadline_seconds=_REQUEST_SECONDS)
            found = msgspec.json.decode(content, type=_Owner)
        except StatusError as error:
            if error.status != _NOT_FOUND:
                raise
            # A proxy, or a server that does not know the kind yet, says 404 as well.
            if f'{resource.name} "{owner.name}"' not in str(error):
                raise MalformedError(f"GET {path} says {error}, but not of the object") from error
            return True
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise MalformedError(f"the answer to GET {path} is no object") from error
        return found.metadata.deletion_timestamp is not None

    def _shuffled(self, owners: Sequence[Owner]) -> Sequence[Owner]:
        return self._random.sample(owners, len(owners))


def _log(decision: Decision) -> None:
    after, counts = decision.after, dict[str, int]()
    for change in decision.changes:
        counts[change.happened] = counts.get(change.happened, 0) + 1
    log.info(
        "disk_schedule.written",
        disk=after.name,
        node=after.node,
        scheduled_bytes=after.scheduled_bytes,
        limit_bytes=decision.limit_bytes,
        closed=decision.closed,
        **counts,
    )
