"""What to ask the API server for one kind of objects, and how its answers change the mirror.

No I/O: the reflector sends the queries and passes the bytes on. Facts about the protocol are those
of k8s.io/apiserver: a watch answers 200 even if its version is gone, and says so in its first
event; the events of a streamed list come in no order, so that their versions count only once the
bookmark at their end has come; DELETED carries the object as it was.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import msgspec

from app.errors import BrokenObjectError
from app.kube.connection import JSON, Query, Status, refusal_of
from app.kube.errors import ApiError, MalformedError, StatusError
from app.kube.mirror import Change, Mirror
from app.kube.records import Item, read_item
from app.kube.resource import Resource

Decoded = TypeVar("Decoded")

_PAGE_OBJECTS = 500
_INITIAL_END = "k8s.io/initial-events-end"
_NOT_SUPPORTED = frozenset({400, 405, 422, 500, 501})
"""Answers of servers that do not support streamed lists, or whose etcd is too old for them."""
_JSON_ERRORS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """Which objects to list and watch."""

    resource: Resource
    namespace: str = ""
    """Empty for all, as for the API server."""
    fields: str = ""
    """Which of them, as a field selector; empty for all."""
    labels: str = ""
    """The same as a label selector."""

    @property
    def path(self) -> str:
        """Where they are listed and watched."""
        return self.resource.path(self.namespace)

    @property
    def list_form(self) -> str:
        """In which form a list is asked for."""
        return self._form("PartialObjectMetadataList")

    @property
    def watch_form(self) -> str:
        """In which form each object of a watch is asked for."""
        return self._form("PartialObjectMetadata")

    def _form(self, metadata: str) -> str:
        """Ask for metadata alone where no more is read; who does not know that sends all of it."""
        if not self.resource.is_metadata_alone:
            return JSON
        return f"{JSON};as={metadata};g=meta.k8s.io;v=v1,{JSON}"

    @property
    def selector(self) -> Query:
        """The part of a query that picks them."""
        fields = [("fieldSelector", self.fields)] if self.fields else []
        return [*fields, ("labelSelector", self.labels)] if self.labels else fields


class PageMeta(msgspec.Struct, frozen=True):
    """What a page says of the list."""

    resource_version: str = msgspec.field(name="resourceVersion")
    token: str | None = msgspec.field(default=None, name="continue")


class Page(msgspec.Struct, frozen=True):
    """A list, or a part of one."""

    metadata: PageMeta
    items: list[msgspec.Raw] | None = None


class Event(msgspec.Struct, frozen=True, gc=False):
    """One line of a watch."""

    type: str
    object: msgspec.Raw


class BookmarkMeta(msgspec.Struct, frozen=True):
    """What a bookmark says."""

    resource_version: str = msgspec.field(name="resourceVersion")
    annotations: dict[str, str] | None = None


class Bookmark(msgspec.Struct, frozen=True):
    """An object of which only the version counts."""

    metadata: BookmarkMeta


class Feed:
    """The protocol of list and watch for one mirror."""

    def __init__(self, source: Source, *, on_skipped: Callable[[str], None]) -> None:
        self.source = source
        self.mirror = Mirror()
        self._on_skipped = on_skipped
        self._streams_lists = True
        """Until the server says that it does not."""
        self._pages = True
        self.is_listing = False
        """Whether the events of the watch are still those of a streamed list."""

    @property
    def wants_pages(self) -> bool:
        """Whether the next thing to do is a list in pages, else a watch."""
        return not self.mirror.version and not self._streams_lists

    def page_query(self, token: str) -> Query:
        """Begin a list, or continue it after the page that gave *token*."""
        query = [*self.source.selector]
        if self._pages:
            query.append(("limit", str(_PAGE_OBJECTS)))
        if token:
            return [*query, ("continue", token)]
        self.mirror.begin_listing()
        return query

    def read_page(self, content: bytes) -> Page:
        """Split a page into its objects, for `take_objects`, and the token of the next page."""
        try:
            return _decoded(_PAGE, content)
        except _JSON_ERRORS as error:
            raise self._malformed("a list", error) from error

    def take_objects(self, objects: Iterable[msgspec.Raw]) -> Iterator[Change]:
        """Put listed objects into the mirror; return what that changes."""
        try:
            for raw in objects:
                item = self._read(raw)
                if item is not None and (change := self.mirror.put(item)) is not None:
                    yield change
        except _JSON_ERRORS as error:
            raise self._malformed("a list", error) from error

    def end_pages(self, page: Page) -> Iterator[Change]:
        """End a list with its last page; return the objects that are gone."""
        self._pages = True
        return self.mirror.end_listing(page.metadata.resource_version)

    def watch_query(self, timeout_seconds: int) -> Query:
        """Begin a watch: from where the last one ended, or with a streamed list."""
        self.is_listing = not self.mirror.version
        query = [
            *self.source.selector,
            ("watch", "1"),
            ("allowWatchBookmarks", "true"),
            ("timeoutSeconds", str(timeout_seconds)),
        ]
        if self.is_listing:
            self.mirror.begin_listing()
            return [
                *query,
                ("sendInitialEvents", "true"),
                ("resourceVersionMatch", "NotOlderThan"),
            ]
        return [*query, ("resourceVersion", self.mirror.version)]

    def take_events(self, lines: Iterable[bytes]) -> Iterator[Change]:
        """Apply the events of a watch, a line each; return what they change.

        Raises:
            ApiError: One of them is an error, or no event at all. Those before it count.
        """
        try:
            for line in lines:
                yield from self._take_event(line)
        except _JSON_ERRORS as error:
            raise self._malformed("a watch", error) from error

    def list_again(self) -> None:
        """List everything next, whatever is known."""
        self.mirror.version = ""

    def forget(self) -> Iterator[Change]:
        """Take in that there is no such kind: then no objects are all there are."""
        self.is_listing = False
        self.mirror.begin_listing()
        return self.mirror.end_listing("")

    def failed(self, error: ApiError) -> bool:
        """Learn from a failure what to ask for next; return whether to ask at once."""
        if self.is_listing and isinstance(error, StatusError) and error.status in _NOT_SUPPORTED:
            self._streams_lists = self.is_listing = False
            return True
        if error.cause == "expired" and not self.mirror.version:
            self._pages = False  # the pages take longer than their version is kept
        if error.cause in ("expired", "malformed"):
            self.list_again()
        self.is_listing = False
        return False

    def _take_event(self, line: bytes) -> Iterable[Change]:
        event = _decoded(_EVENT, line)
        match event.type:
            case "BOOKMARK":
                return self._take_bookmark(_BOOKMARK.decode(event.object).metadata)
            case "ERROR":
                raise refusal_of(msgspec.json.decode(event.object, type=Status))
            case "ADDED" | "MODIFIED" | "DELETED":
                item = self._read(event.object)
                if item is None:
                    return ()
                if not self.is_listing:
                    self.mirror.version = item.version or self.mirror.version
                is_gone = event.type == "DELETED"
                change = self.mirror.remove(item.key) if is_gone else self.mirror.put(item)
                return () if change is None else (change,)
        raise MalformedError(f"an event of {self._name} has type {event.type[:30]!r}")

    def _take_bookmark(self, bookmark: BookmarkMeta) -> Iterable[Change]:
        if not self.is_listing:
            self.mirror.version = bookmark.resource_version
        elif (bookmark.annotations or {}).get(_INITIAL_END) == "true":
            self.is_listing = False
            return self.mirror.end_listing(bookmark.resource_version)
        return ()

    def _read(self, raw: msgspec.Raw) -> Item | None:
        try:
            try:
                return read_item(self.source.resource, raw)
            except RecursionError:
                return read_item(self.source.resource, _shallow(bytes(raw)))
        except BrokenObjectError as error:
            self._on_skipped(f"an object {error}")
            return None

    def _malformed(self, what: str, error: Exception) -> MalformedError:
        return MalformedError(f"{what} of {self._name} is not what an API server sends: {error}")

    @property
    def _name(self) -> str:
        return self.source.resource.name


def _decoded(decoder: msgspec.json.Decoder[Decoded], content: bytes) -> Decoded:
    """Decode *content*, however deeply what we do not read is nested."""
    try:
        return decoder.decode(content)
    except RecursionError:
        return decoder.decode(_shallow(content))


def _shallow(content: bytes) -> bytes:
    """Return JSON with null for everything that is nested too deep to be decoded.

    The API server stores what clients send as managedFields as it is, up to 10,000 levels, so that
    anyone who may create a claim could otherwise keep all claims from being read.
    """
    kept = []
    depth = 0
    for match in _TOKEN.finditer(content):
        token = match[0]
        if token in (b"{", b"["):
            depth += 1
            if depth == _DEPTH_LIMIT + 1:
                kept.append(b"null")
        if depth <= _DEPTH_LIMIT:
            kept.append(token)
        if token in (b"}", b"]"):
            depth -= 1
    return b"".join(kept)


_DEPTH_LIMIT = 100
"""What we read is nested ten levels deep at most."""
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]|[^"\[\]{}]+', re.DOTALL)
"""A string, a bracket, or what stands between them."""
_PAGE = msgspec.json.Decoder(Page)
_EVENT = msgspec.json.Decoder(Event)
_BOOKMARK = msgspec.json.Decoder(Bookmark)
