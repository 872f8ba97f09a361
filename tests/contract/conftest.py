"""The servers that the contract is asked of: the in-memory one, and with `-m e2e` a real one.

A server must serve the kinds of `tests/fakes/resources.py`, the custom ones by any schema that
keeps unknown fields and without a status subresource, and must allow everything.
"""

import random
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import msgspec
import pytest
from kubernetes_asyncio.client import ApiClient

from tests.actors.api import CONFIG_MAPS, ENDPOINT_SLICES, LEASES, SETTINGS
from tests.contract.exchange import CUSTOM, Folder, ask, named
from tests.e2e.control_plane import ControlPlane, running
from tests.fakes import FakeApiServer


class Cluster(msgspec.Struct, frozen=True):
    """A server: how to talk to it, and how to make it forget all versions but the newest.

    The real one takes a while to forget them.
    """

    api_client: ApiClient
    compact: Callable[[], Awaitable[None]]


@pytest.fixture(scope="package")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Run a control plane for these tests alone; it is gone before others start theirs."""
    with running(tmp_path_factory.mktemp("contract")) as control_plane:
        yield control_plane


@pytest.fixture(
    params=[
        pytest.param("fake", marks=pytest.mark.looptime),
        pytest.param("real", marks=[pytest.mark.e2e, pytest.mark.gate]),
    ]
)
def real(request: pytest.FixtureRequest) -> ControlPlane | None:
    """Return the real server, started at first use; None where the in-memory one is asked."""
    if request.param == "fake":
        return None
    control_plane: ControlPlane = request.getfixturevalue("control_plane")
    return control_plane


@pytest.fixture
async def cluster(real: ControlPlane | None) -> AsyncIterator[Cluster]:
    if real is not None:
        async with await real.client() as api_client:
            yield Cluster(api_client, real.compact)
        return

    server = FakeApiServer(random.Random(0), chop=0.3)
    server.compact()

    async def compact() -> None:
        server.compact()

    async with server.client("contract") as api_client:
        yield Cluster(api_client, compact)


@pytest.fixture
def api_client(cluster: Cluster) -> ApiClient:
    return cluster.api_client


@pytest.fixture
async def namespace(api_client: ApiClient) -> str:
    """Create a namespace of its own for a test; it stays, so that no controller is needed."""
    name = f"contract-{uuid.uuid4()}"
    answer = await ask(api_client, "POST", "/api/v1/namespaces", body=named(name))
    assert answer.status == 201
    return name


@pytest.fixture
def config_maps(api_client: ApiClient, namespace: str) -> Folder:
    return Folder(api_client, CONFIG_MAPS.path(namespace))


@pytest.fixture
def leases(api_client: ApiClient, namespace: str) -> Folder:
    return Folder(api_client, LEASES.path(namespace))


@pytest.fixture
def slices(api_client: ApiClient, namespace: str) -> Folder:
    return Folder(api_client, ENDPOINT_SLICES.path(namespace))


@pytest.fixture
def settings(api_client: ApiClient, namespace: str) -> Folder:
    """Longhorn's, which are custom resources."""
    return Folder(api_client, SETTINGS.path(namespace), **CUSTOM)
