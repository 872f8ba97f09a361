"""Strangers: 500 connections and 10 MB a second that reach a port of the service.

Run as ``python -m tests.strangers HOST PORT KIND SECONDS [ADDRESS ...]``; prints what they got.
With a folder of certificates in the variable CERTIFICATES they show kube-scheduler's.
"""

import contextlib
import itertools
import os
import socket
import ssl
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import NamedTuple

THREADS, CONNECTIONS = 10, 50
"""Each thread has so many connections: 500 together."""
BYTES_PER_SECOND = 10 * 10**6
CHUNKS = b"1\r\n \r\n"
HEADS = {
    "chunks": b"POST /healthz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
    "bodies": b"POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\n",
    "metrics": b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n",
    "nothing that is there": b"GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n",
}
HANDSHAKES = "handshakes"


class Target(NamedTuple):
    """What is attacked, and how: one of `HEADS`, or `HANDSHAKES`, on a port of HTTPS."""

    host: str
    port: int
    kind: str
    certificates: Path | None = None
    """A folder with ca.crt, tls.crt and tls.key; then all kinds go over TLS."""


@contextlib.contextmanager
def attacking(target: Target, addresses: Sequence[str] = ()) -> Iterator[Counter[str]]:
    """Send without a pause from such addresses of this machine; yields what strangers got."""
    stop, seen = Event(), Counter[str]()
    froms = itertools.cycle(addresses or [""])
    threads = [
        Thread(target=_send, args=(target, address, stop, seen))
        for _, address in zip(range(THREADS), froms, strict=False)
    ]
    for thread in threads:
        thread.start()
    try:
        yield seen
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def _send(target: Target, address: str, stop: Event, seen: Counter[str]) -> None:
    opened: list[socket.socket] = []
    sent, began, kind = 0, monotonic(), target.kind
    data = CHUNKS * 2_000 if kind == "chunks" else b"x" * 10_000 if kind == "bodies" else b""
    while not stop.is_set():
        stop.wait(max(0.0, began + sent * THREADS / BYTES_PER_SECOND - monotonic()))
        try:
            if len(opened) < CONNECTIONS:
                opened.append(_open(target, address))
                seen["opened"] += 1
            each = opened.pop(0)
            opened.append(each)
            each.sendall(data or HEADS.get(kind, b""))
            sent += len(data) or 1_000
        except OSError as error:
            seen[type(error).__name__] += 1
            sent += 1_000
            for each in opened[-1:]:
                each.close()
            opened = opened[:-1]
    for each in opened:
        each.close()


def _open(target: Target, address: str) -> socket.socket:
    source = (address, 0) if address else None
    opened = socket.create_connection((target.host, target.port), 1, source_address=source)
    if target.kind == HANDSHAKES or target.certificates:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if target.certificates:
            chain, key = target.certificates / "tls.crt", target.certificates / "tls.key"
            context.load_cert_chain(chain, key)
        opened = context.wrap_socket(opened)
    if target.kind == HANDSHAKES:
        opened.send(b"GET / HTTP/1.1\r\n\r\n")
        if not opened.recv(1):
            raise ConnectionResetError
        return opened
    opened.sendall(HEADS[target.kind])
    return opened


def main() -> None:
    """Attack for so long."""
    host, port, kind, seconds, *addresses = sys.argv[1:]
    folder = os.environ.get("CERTIFICATES")
    with attacking(
        Target(host, int(port), kind, Path(folder) if folder else None), addresses
    ) as seen:
        Event().wait(float(seconds))
    sys.stdout.write(f"{dict(seen)}\n")


if __name__ == "__main__":
    main()
