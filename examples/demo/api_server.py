"""The API server of the demonstration: the one of the tests, in memory, over real HTTP.

It needs no more than the service does, so who has the repository has it.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from random import Random
from typing import Any

from app.kube.longhorn.resources import LONGHORN_RESOURCES
from app.kube.resource import Resource
from tests.fakes import FakeApiServer, Object, Served, in_a_thread


class ApiServer:
    """Where the cluster is kept that is played.

    Args:
        server: The server.
        served: The thread that runs it.

    Attributes:
        port: Of loopback, on which it answers.
    """

    def __init__(self, server: FakeApiServer, served: Served) -> None:
        self.port = served.port
        self._server = server
        self._served = served
        self._versions: dict[str, int] = {}
        server.observers.append(
            lambda resource, change: self._versions.update({resource.key: change.version})
        )

    def get(self, resource: Resource, name: str) -> Object | None:
        """Return an object: of the default namespace, if there are several; None if it is none."""
        return self._served.do(
            lambda: self._server.get(resource.name, name, namespace_of(resource))
        )

    def put(self, obj: Mapping[str, Any]) -> None:
        """Create or replace an object."""
        self._served.do(lambda: self._server.put(obj))

    def delete(self, resource: Resource, name: str) -> None:
        """Delete an object, which must exist."""
        self._served.do(lambda: self._server.delete(resource.name, name, namespace_of(resource)))

    def version(self, resource: Resource) -> int:
        """Return the version of the last change of a kind, 0 if there was none."""
        return self._versions.get(resource.name, 0)


@contextmanager
def api_server() -> Iterator[ApiServer]:
    """Serve until the end of the block."""
    server = FakeApiServer(Random(1))
    with in_a_thread(server) as served:
        yield ApiServer(server, served)


def namespace_of(resource: Resource) -> str:
    """Return where the objects of a kind are, empty for what is in no namespace."""
    if resource in LONGHORN_RESOURCES:
        return "longhorn-system"
    return "default" if resource.has_namespaces else ""
