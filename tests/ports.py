"""Ports for processes that listen on loopback."""

import random
import socket
from contextlib import closing

_PORTS = range(10_000, 32_768)
"""Below those that systems give to connections going out (Linux from 32768, others from 49152): one
of these could take a port after it was found free and before the process listens there."""


def free_port() -> int:
    """Return a port that nobody listens on."""
    return free_ports(1)[0]


def free_ports(count: int) -> list[int]:
    """Return as many different ports that nobody listens on."""
    ports: set[int] = set()
    while len(ports) < count:
        port = random.SystemRandom().choice(_PORTS)
        if _is_free(port):
            ports.add(port)
    return sorted(ports)


def _is_free(port: int) -> bool:
    with closing(socket.socket()) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
