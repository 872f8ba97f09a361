"""The loop that keeps one mirror in step with the API server: list, watch, and start again."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from itertools import islice
from random import Random
from typing import NoReturn, TypeVar

import structlog

from app.config import SILENCE_SECONDS
from app.kube.backoff import Backoff
from app.kube.connection import Chunks, Connection
from app.kube.discovery import is_served
from app.kube.errors import ApiError, IdleError, MalformedError, StatusError, UnreachableError
from app.kube.feed import Feed, Source
from app.kube.mirror import Change
from app.kube.records import Item
from longhorn import Unreadable

log = structlog.get_logger()

Raw = TypeVar("Raw")

CAUSES = ("ended", "ended_early", "expired", "idle", "connection", "malformed", "status")
"""Why a list or a watch was started again; the first one is the ordinary end of a watch."""

_REFUSED = frozenset({403, 404})
"""Answers about a kind that may not be read, or is not served."""
_PAGE_SECONDS = 30.0
_ANSWER_SECONDS = 10.0
"""For a watch to begin; the API server answers at once."""
_DOUBT_SECONDS = 600.0
"""After this time without event or bookmark everything is listed again: a watch from a version that
the API server has not reached, as after a restore of etcd, is accepted and stays silent."""
_SHORTEST_WATCH_SECONDS, _LONGEST_WATCH_SECONDS = 300, 600
"""As client-go: at random, so that watches do not end all at once."""
_HEALTHY_SECONDS = 2.0
"""A watch that fails sooner makes the next pause longer."""
_LINE_LIMIT_BYTES = 2**25
"""Objects have 1.5 MB at most; a line without end must not fill the memory."""
_ABSENT_SECONDS = 30.0
"""How long a kind that is not served is taken not to be. It must be well below the age that the
view may have: to have asked is all that is ever heard of such a kind."""
_BATCH_OBJECTS = 100
"""So many are read or applied, and as many changes passed on, before another task may run."""


class Reflector:
    """Follows one kind of objects.

    Of a kind that clusters may do without it first asks whether it is served. If not, no objects
    are all there are, until it is.

    Args:
        connection: To the API server.
        source: What to follow.
        on_changes: Called with what has changed, in order, to bring the view up to date.
        on_restart: Called with the cause, one of `CAUSES`, whenever a list or watch is started
            again.
        clock: Monotonic seconds.
        random: Spreads pauses and the lengths of watches.
        known: The only object to follow, if another source has given it: later changes are
            reported, and nothing is listed unless its version is too old to watch from.
    """

    def __init__(
        self,
        connection: Connection,
        source: Source,
        *,
        on_changes: Callable[[Sequence[Change]], None],
        on_restart: Callable[[str], None],
        clock: Callable[[], float],
        random: Random,
        known: Item | None = None,
    ) -> None:
        self.source = source
        self.heard_at: float | None = None
        """When the API server last confirmed what these objects are; None if it never did."""
        self.trouble = ""
        """Why they are not followed now, empty if they are."""
        self.is_done_without = False
        """Whether they cannot be read, and need not be."""
        self._connection = connection
        self._on_changes = on_changes
        self._on_restart = on_restart
        self._clock = clock
        self._random = random
        self._feed = Feed(source, on_skipped=self._skip)
        self._backoff = Backoff(random)
        self._is_from_elsewhere = known is not None
        """Whether what is known did not come from the API server itself."""
        if known is not None:
            self._feed.mirror.begin_with(known)
        self._may_be_absent = source.resource.is_optional
        """Whether to ask next if the kind is served at all."""
        self._skipped = 0
        self._trouble_cause = ""
        self._failure = ""
        """The cause of the last failure, also after it has ended."""
        self._sent_at = 0.0
        """When an event, a bookmark or a complete listing last came."""

    @property
    def name(self) -> str:
        """The kind followed, as CRDs are named."""
        return self.source.resource.name

    @property
    def version(self) -> str:
        """Up to where the objects are known, as the API server counts."""
        return self._feed.mirror.version

    @property
    def is_complete(self) -> bool:
        """Whether all objects were known at some time."""
        return self._feed.mirror.is_complete

    @property
    def is_absent(self) -> bool:
        """Whether the API server has no such kind; it is asked again now and then."""
        return self._may_be_absent and self.is_complete and not self.trouble

    @property
    def objects(self) -> int:
        """How many are known."""
        return len(self._feed.mirror)

    @property
    def unreadable(self) -> int:
        """How many of them cannot be read, and are known by name alone or not at all."""
        return self._feed.mirror.unreadable + self._skipped

    async def run(self) -> NoReturn:
        """Follow the objects until cancelled; what fails is tried again after a pause."""
        while True:
            try:
                await self._follow()
            except ApiError as error:
                if self.source.resource.is_advisory and _is_refused(error):
                    await self._do_without(error)
                    continue
                self._may_be_absent |= self.source.resource.is_optional
                is_quiet = isinstance(error, IdleError) and not self._feed.is_listing
                is_from_elsewhere, self._is_from_elsewhere = self._is_from_elsewhere, False
                if self._feed.failed(error) or (is_from_elsewhere and error.cause == "expired"):
                    continue
                if is_quiet:
                    self._on_restart(error.cause)
                    if self._clock() - self._sent_at >= _DOUBT_SECONDS:
                        self._feed.list_again()
                    continue
                if error.cause == "expired" and self._failure != "expired":
                    self._backoff.reset()  # the server is back after an outage, and well
                self._failure = error.cause
                self._restarted(error.cause, str(error))
                requested = error.retry_after_seconds if isinstance(error, StatusError) else 0.0
                await asyncio.sleep(self._backoff.next_seconds(requested))

    async def _follow(self) -> None:
        """Do the next thing: find out whether there is such a kind, list its objects, or watch."""
        if self._may_be_absent:
            self._may_be_absent = not await is_served(
                self._connection, self.source, deadline_seconds=_ANSWER_SECONDS
            )
        if self._may_be_absent:
            await self._be_without()
        elif self._feed.wants_pages:
            await self._list()
        else:
            await self._watch()

    async def _be_without(self) -> None:
        """Know no objects, as there is no such kind, until it is time to ask again."""
        if self.objects or not self.is_complete:
            log.info("view.kind_absent", resource=self.name)
        await self._know_none()

    async def _do_without(self, error: ApiError) -> None:
        """Know no objects, as there is no such kind for us, until it is time to try again."""
        if not self.is_done_without:
            log.warning("view.kind_not_readable", resource=self.name, error=str(error))
        self.is_done_without = True
        await self._know_none()

    async def _know_none(self) -> None:
        self._skipped = 0
        await self._report(self._feed.forget())
        self._heard()
        await asyncio.sleep(_ABSENT_SECONDS)

    async def _list(self) -> None:
        """List all objects, page by page; decisions go on meanwhile."""
        token, self._skipped = "", 0
        while True:
            content = await self._connection.request(
                "GET",
                self.source.path,
                query=self._feed.page_query(token),
                accept=self.source.list_form,
                deadline_seconds=_PAGE_SECONDS,
            )
            page = self._feed.read_page(content)
            for batch in _batches(page.items or ()):
                await self._report(self._feed.take_objects(batch))
            token = page.metadata.token or ""
            if not token:
                await self._report(self._feed.end_pages(page))
                self.is_done_without = False
                self._heard()
                return

    async def _watch(self) -> None:
        """Apply events until the server ends the watch."""
        started = self._clock()
        seconds = self._random.randint(_SHORTEST_WATCH_SECONDS, _LONGEST_WATCH_SECONDS)
        async with self._connection.stream(
            self.source.path,
            query=self._feed.watch_query(seconds),
            accept=self.source.watch_form,
            deadline_seconds=_ANSWER_SECONDS,
        ) as chunks:
            if self._feed.is_listing:
                self._skipped = 0
            async for lines in self._lines(chunks):
                for batch in _batches(lines):
                    await self._report(self._feed.take_events(batch))
                if not self._feed.is_listing:  # half a list does not say what the other half is
                    self.is_done_without = False
                    self._heard()
                if self._clock() - started >= _HEALTHY_SECONDS:
                    self._backoff.reset()
        if self._feed.is_listing:
            raise UnreachableError(f"the watch of {self.name} ended before all objects had come")
        if self._clock() - started >= _HEALTHY_SECONDS:
            self._on_restart("ended")
        else:
            self._restarted("ended_early", f"the watch of {self.name} ended at once")
            await asyncio.sleep(self._backoff.next_seconds())

    async def _lines(self, chunks: Chunks) -> AsyncIterator[list[bytes]]:
        """Yield what has arrived, in whole lines."""
        begun, begun_bytes = list[bytes](), 0  # the pieces of a line that is not over yet
        patience = _HEALTHY_SECONDS
        while True:
            try:
                chunk = await chunks.next(within_seconds=patience)
                patience = SILENCE_SECONDS
            except TimeoutError as error:
                if patience == _HEALTHY_SECONDS:
                    self._confirmed()
                    patience = SILENCE_SECONDS - _HEALTHY_SECONDS
                    continue
                raise IdleError(
                    f"the watch of {self.name} was silent for {SILENCE_SECONDS:g} s"
                ) from error
            if not chunk:
                return
            first, *others = chunk.split(b"\n")
            begun.append(first)
            begun_bytes += len(first)
            if others:
                lines = [b"".join(begun), *others[:-1]]
                begun, begun_bytes = others[-1:], len(others[-1])
                yield lines
            elif begun_bytes > _LINE_LIMIT_BYTES:
                raise MalformedError(f"an event of {self.name} is larger than any object")

    async def _report(self, changes: Iterator[Change]) -> None:
        """Pass on what has changed, also what comes before an error, and give way to other tasks.

        The end of a list may change much more than a batch does: it removes all that was missing.
        """
        is_over = False
        while not is_over:
            taken: list[Change] = []
            try:
                for change in islice(changes, _BATCH_OBJECTS):
                    taken.append(change)
            finally:
                self._pass_on(taken)
            is_over = len(taken) < _BATCH_OBJECTS
            await asyncio.sleep(0)

    def _pass_on(self, changes: Sequence[Change]) -> None:
        self._on_changes(changes)
        for change in changes:
            if isinstance(change.new, Unreadable):
                log.warning(
                    "view.object_unreadable",
                    kind=change.new.kind,
                    object=change.new.name,
                    error=change.new.why[:300],
                )

    def _confirmed(self) -> None:
        """Count a silent watch as news: its version is accepted, and nothing has changed."""
        if not self._feed.is_listing:
            self._follows()

    def _heard(self) -> None:
        self._sent_at = self._clock()
        self._follows()

    def _follows(self) -> None:
        self.heard_at = self._clock()
        if self.trouble:
            log.info("view.followed", resource=self.name)
        self.trouble = self._trouble_cause = ""

    def _restarted(self, cause: str, why: str) -> None:
        self._on_restart(cause)
        if cause != self._trouble_cause:
            log.warning("view.not_followed", resource=self.name, cause=cause, error=why)
        self.trouble, self._trouble_cause = why, cause

    def _skip(self, why: str) -> None:
        self._skipped += 1
        log.warning("view.object_skipped", resource=self.name, error=why)


def _is_refused(error: ApiError) -> bool:
    return isinstance(error, StatusError) and error.status in _REFUSED


def _batches(items: Sequence[Raw]) -> Iterator[Sequence[Raw]]:
    for first in range(0, len(items), _BATCH_OBJECTS):
        yield items[first : first + _BATCH_OBJECTS]
