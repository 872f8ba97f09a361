"""An API server on a loopback port with an empty cluster, for tests of the real process.

It knows one Service and one pod, keeps Leases and EndpointSlices, and lists nothing of anything
else; watches begin and stay silent. Versions are checked; nothing else is.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

Object = dict[str, Any]


class Write(NamedTuple):
    """A request that was carried out."""

    method: str
    path: str
    body: Object


class ApiStub(ThreadingHTTPServer):
    """The server, on a port of its choice.

    Attributes:
        writes: What was written, in order.
    """

    daemon_threads = True
    block_on_close = False

    def __init__(self, *objects: Object) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.writes: list[Write] = []
        self.objects = {_path_of(each): each for each in objects}
        self.lock = threading.Lock()
        self.is_over = threading.Event()

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def write(self, method: str, path: str, body: Object) -> tuple[int, Object]:
        """Create or replace an object, unless it is there already or has changed."""
        with self.lock:
            metadata = body["metadata"]
            place = path if method == "PUT" else f"{path}/{metadata['name']}"
            found = self.objects.get(place)
            expected = found["metadata"]["resourceVersion"] if found else None
            if metadata.get("resourceVersion") != expected:
                return 409, {"kind": "Status", "code": 409, "reason": "Conflict"}
            self.writes.append(Write(method, path, body))
            version = str(len(self.writes) + 1)
            self.objects[place] = {**body, "metadata": {**metadata, "resourceVersion": version}}
            return 200, self.objects[place]

    def handle_error(self, *_: object) -> None:
        """Say nothing of clients that go away."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ApiStub

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        query = parse_qs(url.query)
        if "sendInitialEvents" in query:
            self._answer(422, {"kind": "Status", "code": 422, "reason": "Invalid"})
        elif "watch" in query:
            self._stay_silent()
        elif url.path in self.server.objects:
            self._answer(200, self.server.objects[url.path])
        elif url.path.rsplit("/", 1)[0].endswith(("/leases", "/services", "/pods")):
            self._answer(404, {"kind": "Status", "code": 404, "reason": "NotFound"})
        else:
            items = [obj for path, obj in self.server.objects.items() if path.startswith(url.path)]
            self._answer(200, {"metadata": {"resourceVersion": "1"}, "items": items})

    def do_POST(self) -> None:
        self._write()

    def do_PUT(self) -> None:
        self._write()

    def log_message(self, *_: object) -> None:
        pass

    def _write(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._answer(*self.server.write(self.command, self.path, body))

    def _answer(self, status: int, body: Object) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _stay_silent(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.server.is_over.wait()
        self.close_connection = True


@contextmanager
def api_stub(*objects: Object) -> Iterator[ApiStub]:
    """Serve until the end of the block; objects need an apiVersion, a kind and a uid."""
    with ApiStub(*objects) as stub:
        thread = threading.Thread(target=stub.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield stub
        finally:
            stub.is_over.set()
            stub.shutdown()
            thread.join()


def _path_of(obj: Object) -> str:
    metadata = obj["metadata"]
    metadata.setdefault("resourceVersion", "1")
    metadata.setdefault("uid", f"uid-{metadata['name']}")
    plural = obj["kind"].lower() + "s"
    return f"/api/v1/namespaces/{metadata['namespace']}/{plural}/{metadata['name']}"
