"""The API server of the demonstration: objects in memory, read and written over real HTTP.

It does what the service asks of an API server: lists, watches, and writes that name the version
they are based on. Lists come whole, and watches begin at a version. Labels are not looked at.
"""

import copy
import json
import re
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

Object = dict[str, Any]

_NAMED = re.compile(r"(/api/v1|/apis/[^/]+/[^/]+)(/namespaces/[^/]+)?/[^/]+/[^/]+")
"""The path of one object; anything else is that of a list."""


class Event(NamedTuple):
    """One change of one object."""

    type: str
    path: str
    object: Object


class ApiServer(ThreadingHTTPServer):
    """The server, on a free port of loopback. Objects are known by their paths."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128  # the service opens all its watches at once

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self._objects: dict[str, Object] = {}
        self._events: list[Event] = []
        """All that ever changed. The version of an object is the number of its last event."""
        self._changed = threading.Condition()

    def get(self, path: str) -> Object | None:
        """Return a copy of the object at *path*, None if there is none."""
        with self._changed:
            return copy.deepcopy(self._objects.get(path))

    def select(self, path: str, fields: str = "") -> tuple[str, list[Object]]:
        """Return the version now, and the objects of a list that a field selector leaves."""
        with self._changed:
            found = [
                each
                for place, each in self._objects.items()
                if _is_listed(place, path) and _matches(each, fields)
            ]
            return str(len(self._events)), found

    def version(self, path: str) -> int:
        """Return the version of the last change in a list, 0 if there was none."""
        with self._changed:
            return max(
                (n for n, each in enumerate(self._events, 1) if _is_listed(each.path, path)),
                default=0,
            )

    def put(self, path: str, obj: Mapping[str, Any]) -> Object:
        """Create or replace the object at *path*; return it with its version."""
        with self._changed:
            kind = "MODIFIED" if path in self._objects else "ADDED"
            self._objects[path] = self._record(kind, path, obj)
            return self._objects[path]

    def delete(self, path: str) -> None:
        """Delete the object at *path*, which must exist."""
        with self._changed:
            self._record("DELETED", path, self._objects.pop(path))

    def write(self, path: str, obj: Object) -> Object | None:
        """Do as `put`, but only if *obj* has the version that is there; else return None."""
        with self._changed:
            there = self._objects.get(path)
            expected = there["metadata"]["resourceVersion"] if there else None
            if obj["metadata"].get("resourceVersion") != expected:
                return None
            return self.put(path, obj)

    def patch(self, path: str, change: Object) -> Object | None:
        """Merge *change* into the object at *path*; return None if there is none."""
        with self._changed:
            there = self._objects.get(path)
            return None if there is None else self.put(path, _merged(there, change))

    def follow(self, path: str, fields: str, after: int) -> Iterator[Event]:
        """Yield what changes in a list after version *after*, for as long as the caller likes."""
        while True:
            with self._changed:
                while len(self._events) == after:
                    self._changed.wait()
                news, after = self._events[after:], len(self._events)
            for event in news:
                if _is_listed(event.path, path) and _matches(event.object, fields):
                    yield event

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that have gone."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def _record(self, kind: str, path: str, obj: Mapping[str, Any]) -> Object:
        version = str(len(self._events) + 1)
        stored = {**obj, "metadata": {**obj["metadata"], "resourceVersion": version}}
        self._events.append(Event(kind, path, stored))
        self._changed.notify_all()
        return stored


class _Handler(BaseHTTPRequestHandler):
    """Answers one request, and closes the connection: so a watch needs no framing."""

    server: ApiServer

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        query = dict(parse_qsl(url.query))
        fields = query.get("fieldSelector", "")
        if "sendInitialEvents" in query:  # the service lists instead
            self._refuse(400, "lists are not streamed")
        elif "watch" in query:
            self._begin(200)
            for event in self.server.follow(url.path, fields, int(query["resourceVersion"])):
                line = {"type": event.type, "object": event.object}
                self.wfile.write(json.dumps(line).encode() + b"\n")
        elif _NAMED.fullmatch(url.path):
            self._answer(self.server.get(url.path), 404)
        else:
            version, items = self.server.select(url.path, fields)
            self._answer({"metadata": {"resourceVersion": version}, "items": items}, 404)

    def do_POST(self) -> None:
        body = self._body()
        self._answer(self.server.write(f"{self.path}/{body['metadata']['name']}", body), 409)

    def do_PUT(self) -> None:
        self._answer(self.server.write(self.path, self._body()), 409)

    def do_PATCH(self) -> None:
        self._answer(self.server.patch(self.path, self._body()), 404)

    def log_message(self, *_: object) -> None:
        """Keep the screen for the demonstration."""

    def _body(self) -> Object:
        body: Object = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        return body

    def _answer(self, obj: Object | None, otherwise: int) -> None:
        if obj is None:
            self._refuse(otherwise, "it does not exist, or has changed")
        else:
            self._begin(200)
            self.wfile.write(json.dumps(obj).encode())

    def _refuse(self, code: int, why: str) -> None:
        self._begin(code)
        self.wfile.write(json.dumps({"kind": "Status", "code": code, "message": why}).encode())

    def _begin(self, code: int) -> None:
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.end_headers()


@contextmanager
def api_server() -> Iterator[ApiServer]:
    """Serve until the end of the block."""
    with ApiServer() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def _is_listed(place: str, path: str) -> bool:
    """Whether the object at *place* is in the list at *path*, of one namespace or of all."""
    inside = place.rpartition("/")[0]
    return path in (inside, re.sub("/namespaces/[^/]+", "", inside))


def _matches(obj: Object, fields: str) -> bool:
    for term in filter(None, fields.split(",")):
        field, _, wanted = term.partition("=")
        value: Any = obj
        for name in field.split("."):
            value = value.get(name, {})
        if value != wanted:
            return False
    return True


def _merged(there: Object, change: Object) -> Object:
    """Return *there* after a merge patch that adds and replaces."""
    return {
        **there,
        **{
            name: _merged(there.get(name) or {}, value) if isinstance(value, dict) else value
            for name, value in change.items()
        },
    }
