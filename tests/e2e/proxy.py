"""Plays kube-proxy for one Service: `python -m tests.e2e.proxy`.

A loopback port takes the place of the Service's cluster IP. A new connection goes to any of the
endpoints that are ready then, and stays with it as long as it lasts, whatever becomes of the
slices. Not a byte is changed; the calls of filter are read as they pass and written to a file.

EndpointSlices take no loopback addresses, so made-up ones are published; the ports are real, and
each of the known endpoints is on loopback at its port. Any other refuses.
"""

import argparse
import asyncio
import contextlib
import random
import signal
import socket
import struct
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, NoReturn

import msgspec
from kubernetes_asyncio.client import ApiClient, Configuration
from kubernetes_asyncio.config import load_kube_config

from tests.actors.api import ENDPOINT_SLICES, SERVICES, Api, Informer, Object, RefusedError
from tests.e2e.calls import GAVE_UP, PROXY_ENDED, REFUSED, RESET, Call, Watcher

LOOPBACK = "127.0.0.1"
_SERVICE_LABEL = "kubernetes.io/service-name"
_FAMILIES = ("IPv4", "IPv6")
_REFUSAL_SECONDS = 0.5
_RETRY_SECONDS = 0.2
_NO_LINGER = struct.pack("ii", 1, 0)


class Backend(NamedTuple):
    """An endpoint: the address that is published for it, and where it is."""

    address: str
    host: str
    port: int


_NOBODY = Backend("", LOOPBACK, 0)


class Proxy:
    """Passes connections on.

    Nothing waits for a slow reader: what one side sends is taken at once and kept until the other
    takes it, so that a client that gives up is noticed also if its backend stands still.

    Args:
        backends: Returns the endpoints that are ready now.
        record: Told of each call of filter when it is answered or has failed.
        chance: Chooses among the endpoints.
    """

    def __init__(
        self,
        backends: Callable[[], Sequence[Backend]],
        record: Callable[[Call], None],
        chance: random.Random,
    ) -> None:
        self._backends = backends
        self._record = record
        self._chance = chance

    async def run(self, listener: socket.socket) -> NoReturn:
        """Take connections until cancelled; then all are reset."""
        listener.settimeout(0)
        # asyncio does so only for sockets that name their protocol. Without it the end of an answer
        # waits up to 40 ms for the acknowledgement of its beginning.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        loop = asyncio.get_running_loop()
        async with asyncio.TaskGroup() as connections:
            while True:
                accepted, _ = await loop.sock_accept(listener)
                connections.create_task(self._pass_on(accepted))

    async def _pass_on(self, accepted: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        backend = self._chance.choice(self._backends() or [_NOBODY])
        watcher = Watcher(backend.address, self._record)
        client = _End(watcher.request, partial(watcher.end, GAVE_UP))
        service = _End(watcher.answer, partial(watcher.end, RESET))
        client.other, service.other = service, client
        try:
            await loop.connect_accepted_socket(lambda: client, accepted)
            try:
                await loop.create_connection(lambda: service, backend.host, backend.port)
            except OSError:
                await _refuse(client, watcher)
            else:
                service.begin()
                client.begin()
                await client.lost.wait()
                await service.lost.wait()
        finally:
            watcher.end(PROXY_ENDED, loop.time())
            client.reset()
            service.reset()


class _End(asyncio.Protocol):
    """One end of a connection: what comes in here goes out at the other, as does how it ends.

    Args:
        hear: Told of what comes in, and when.
        ended: Told when nothing more will.
    """

    other: "_End"

    def __init__(
        self, hear: Callable[[bytes, float], None], ended: Callable[[float], None]
    ) -> None:
        self.hear = hear
        self._ended = ended
        self._loop = asyncio.get_running_loop()
        self.lost = asyncio.Event()
        self._transport: asyncio.Transport | None = None
        self.is_finished = False

    def begin(self) -> None:
        """Take what comes in; until then it waits."""
        if self._transport is not None:
            self._transport.resume_reading()

    def reset(self) -> None:
        """Break off, and have the peer notice."""
        if self._transport is None:
            return
        if not self._transport.is_closing():
            peer = self._transport.get_extra_info("socket")
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        self._transport.abort()

    def send(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def finish(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write_eof()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        # Not at once: asyncio of Python 3.11.2 begins to read after this, paused or not.
        self._loop.call_soon(transport.pause_reading)

    def data_received(self, data: bytes) -> None:
        now = self._loop.time()
        self.other.send(data)
        self.hear(data, now)

    def eof_received(self) -> bool:
        self.is_finished = True
        self.other.finish()
        self._ended(self._loop.time())
        return not self.other.is_finished  # if not both directions are at their end, keep it

    def connection_lost(self, error: Exception | None) -> None:
        self.lost.set()
        self._ended(self._loop.time())
        if error:
            self.other.reset()
        else:
            self.other.close()


async def _refuse(client: _End, watcher: Watcher) -> None:
    """Wait until it is known what a connection is for that nobody takes, but not for long."""
    known = asyncio.Event()

    def hear(data: bytes, now: float) -> None:
        watcher.request(data, now)
        if watcher.is_asked:
            known.set()

    client.hear = hear
    client.begin()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_REFUSAL_SECONDS):
            await known.wait()
    watcher.end(REFUSED, asyncio.get_running_loop().time())


class Endpoint(NamedTuple):
    """What a slice publishes."""

    address: str
    port: int


def ready_endpoints(slices: Iterable[Object], service: Object) -> list[Endpoint]:
    """Return where kube-proxy sends connections to the first port of a Service.

    That is the first address of each ready endpoint, at the port whose name and protocol are those
    of the Service's port; slices without such a port lead nowhere.
    """
    wanted = _name_and_protocol(service["spec"]["ports"][0])
    name = service["metadata"]["name"]
    return sorted(
        {
            Endpoint(endpoint["addresses"][0], port["port"])
            for each in slices
            if (each["metadata"].get("labels") or {}).get(_SERVICE_LABEL) == name
            and each["addressType"] in _FAMILIES
            for port in each.get("ports") or ()
            if _name_and_protocol(port) == wanted
            for endpoint in each.get("endpoints") or ()
            if (endpoint.get("conditions") or {}).get("ready") is not False
        }
    )


def _name_and_protocol(port: Object) -> tuple[str, str]:
    return port.get("name") or "", port.get("protocol") or "TCP"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.proxy")
    parser.add_argument("--kubeconfig", required=True)
    parser.add_argument("--namespace", required=True)
    parser.add_argument("--service", required=True)
    parser.add_argument("--port", type=int, default=0, help="0: any that is free")
    parser.add_argument(
        "--endpoint", type=_endpoint, action="append", default=[], help="10.42.0.1:41001"
    )
    parser.add_argument("--record", type=Path, required=True, help="JSON lines of the calls")
    parser.add_argument("--seed", type=int, help="of the choice among endpoints")
    return parser.parse_args()


def _endpoint(text: str) -> Endpoint:
    address, _, port = text.rpartition(":")
    return Endpoint(address, int(port))


async def _run(arguments: argparse.Namespace) -> None:
    loop = asyncio.get_running_loop()
    this_task = asyncio.current_task()
    assert this_task is not None
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, this_task.cancel)
    configuration = Configuration()
    await load_kube_config(
        config_file=arguments.kubeconfig, client_configuration=configuration, persist_config=False
    )
    known = frozenset(arguments.endpoint)
    with arguments.record.open("ab") as file:
        async with ApiClient(configuration) as api_client, asyncio.TaskGroup() as tasks:
            api = Api(api_client)
            informer = Informer(api, ENDPOINT_SLICES, arguments.namespace)
            service = await api.get(SERVICES, arguments.service, arguments.namespace)
            assert service is not None, f"there is no Service {arguments.service}"

            def backends() -> list[Backend]:
                return [
                    Backend(each.address, LOOPBACK, each.port if each in known else 0)
                    for each in ready_endpoints(informer.objects.values(), service)
                ]

            def record(call: Call) -> None:
                file.write(msgspec.json.encode(call) + b"\n")
                file.flush()

            tasks.create_task(_follow(informer))
            await informer.synced.wait()
            with socket.create_server((LOOPBACK, arguments.port)) as listener:
                sys.stdout.write(f"listening on {listener.getsockname()[1]}\n")
                sys.stdout.flush()
                await Proxy(backends, record, random.Random(arguments.seed)).run(listener)


async def _follow(informer: Informer) -> NoReturn:
    """Follow the slices, also past an API server that starts and does not know its users yet."""
    while True:
        try:
            await informer.run()
        except RefusedError as error:
            sys.stderr.write(f"{error}\n")
            await asyncio.sleep(_RETRY_SECONDS)


def main() -> None:
    with contextlib.suppress(asyncio.CancelledError):  # by a signal
        asyncio.run(_run(_arguments()))


if __name__ == "__main__":
    main()
