"""An API server that serves `objects.py` and nothing else, fast: lists in pages, and watches.

Run as ``python -m benchmarks.api_stub [--streaming]``; it prints its port and serves until its
standard input ends. Answers are chunked, a chunk an object, as kube-apiserver's are. With
--streaming, watches may begin with all objects; else they are refused as the real one does it.

``POST /emit?path=P&form=F&count=N`` sends N events to the watches of P, each on its own;
``POST /expire`` ends all watches with 410. Anything else is answered with a small object.
"""

import asyncio
import sys
from collections import defaultdict
from urllib.parse import parse_qsl, urlsplit

import uvicorn

from benchmarks.objects import Kind, kinds, unchanged_node

Query = dict[str, str]

_VERSION = "1600000000"
_BLOCK_OBJECTS = 100
"""So many of a streamed list are written before something else may run."""
_GAP_SECONDS = 0.002
"""Between events, so that each is taken in before the next."""
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
_CHUNKED = _HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
_NOT_OFFERED = (
    b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"sendInitial'
    b"Events: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature"
    b' gate is enabled","reason":"Invalid","code":422}'
)
_EXPIRED = (
    b'{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",'
    b'"message":"too old resource version","reason":"Expired","code":410}}\n'
)


class Stub:
    """The server's state: which watches are open, and pages made ahead."""

    def __init__(self, *, streams_lists: bool) -> None:
        self._streams_lists = streams_lists
        self._kinds = {kind.path: kind for kind in kinds()}
        self._watches: defaultdict[str, set[asyncio.StreamWriter]] = defaultdict(set)
        self._ahead: dict[tuple[str, int], bytes] = {}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                method, target, _ = head.decode().split(" ", 2)
                await reader.readexactly(_content_length(head))
                url = urlsplit(target)
                await self._answer(method, url.path, dict(parse_qsl(url.query)), writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            for watches in self._watches.values():
                watches.discard(writer)
            writer.close()

    async def _answer(
        self, method: str, path: str, query: Query, writer: asyncio.StreamWriter
    ) -> None:
        kind = self._kinds.get(path)
        if kind is None or method != "GET":
            if path == "/emit":
                await self._emit(**query)
            elif path == "/expire":
                self._expire()
            writer.write(_whole(b'{"metadata":{"name":"x","resourceVersion":"1"}}'))
        elif "watch" not in query:
            await self._list(kind, query, writer)
        elif "sendInitialEvents" not in query:
            writer.write(_CHUNKED)
            self._watches[path].add(writer)
        elif not self._streams_lists:
            writer.write(_whole(_NOT_OFFERED, b"422 Unprocessable Entity"))
        else:
            await self._stream(kind, writer)
        await writer.drain()

    async def _list(self, kind: Kind, query: Query, writer: asyncio.StreamWriter) -> None:
        """Answer with a page; make the next one while the client is busy with this."""
        first, limit = int(query.get("continue", 0)), int(query.get("limit", kind.total))
        page = self._ahead.pop((kind.path, first), None) or _page(kind, first, limit)
        writer.write(page)
        await writer.drain()
        if first + limit < kind.total:
            self._ahead[kind.path, first + limit] = _page(kind, first + limit, limit)

    async def _stream(self, kind: Kind, writer: asyncio.StreamWriter) -> None:
        writer.write(_CHUNKED)
        for first in range(0, kind.total, _BLOCK_OBJECTS):
            numbers = range(first, min(first + _BLOCK_OBJECTS, kind.total))
            writer.write(b"".join(_chunk(_event(b"ADDED", kind.make(n, 0))) for n in numbers))
            await writer.drain()
            await asyncio.sleep(0)
        bookmark = (
            '{"metadata":{"annotations":{"k8s.io/initial-events-end":"true"},'
            f'"resourceVersion":"{_VERSION}"}}}}'
        )
        writer.write(_chunk(_event(b"BOOKMARK", bookmark.encode())))
        self._watches[kind.path].add(writer)

    async def _emit(self, path: str, form: str, count: str) -> None:
        kind = self._kinds[path]
        make = unchanged_node if form == "unchanged" else kind.make
        for number in range(int(count)):
            edition = 1 + number // kind.total
            event = _chunk(_event(b"MODIFIED", make(number * 7919 % kind.total, edition)))
            for writer in self._watches[path]:
                writer.write(event)
            await asyncio.sleep(_GAP_SECONDS)

    def _expire(self) -> None:
        for watches in self._watches.values():
            for writer in watches:
                writer.write(_chunk(_EXPIRED) + b"0\r\n\r\n")
            watches.clear()


def _page(kind: Kind, first: int, limit: int) -> bytes:
    """Return a whole answer with the objects from *first* on."""
    last = min(first + limit, kind.total)
    token = f',"continue":"{last}"' if last < kind.total else ""
    head = (
        f'{{"kind":"{kind.name}List","apiVersion":"{kind.api_version}",'
        f'"metadata":{{"resourceVersion":"{_VERSION}"{token}}},"items":['
    )
    chunks = [_CHUNKED, _chunk(head.encode())]
    comma = b""
    for number in range(first, last):
        chunks.append(_chunk(comma + kind.make(number, 0)))
        comma = b","
    return b"".join([*chunks, _chunk(b"]}\n"), b"0\r\n\r\n"])


def _event(kind: bytes, object_: bytes) -> bytes:
    return b'{"type":"%b","object":%b}\n' % (kind, object_)


def _chunk(content: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(content), content)


def _whole(content: bytes, status: bytes = b"200 OK") -> bytes:
    return b"HTTP/1.1 %b\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (
        status,
        len(content),
        content,
    )


def _content_length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.partition(b":")[2])
    return 0


async def _serve() -> None:
    stub = Stub(streams_lists="--streaming" in sys.argv)
    loop = asyncio.get_running_loop()
    over = asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), over.set)  # whoever started us is gone
    server = await asyncio.start_server(stub.serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await over.wait()
    server.close()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvicorn.Config("").get_loop_factory()) as runner:
        runner.run(_serve())
