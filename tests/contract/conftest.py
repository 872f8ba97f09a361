"""The servers that the contract is asked of; a further one is a further parameter of `cluster`.

A server must serve the kinds of `tests/fakes/resources.py`, the custom ones by any schema that
keeps unknown fields and without a status subresource, and must allow everything.
"""

import random
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable

import msgspec
import pytest
from kubernetes_asyncio.client import ApiClient

from tests.contract.exchange import ask, named
from tests.fakes import FakeApiServer


class Cluster(msgspec.Struct, frozen=True):
    """A server: how to talk to it, and how to make it forget all versions but the newest."""

    api_client: ApiClient
    compact: Callable[[], Awaitable[None]]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: needs more than ten seconds where time is real")


@pytest.fixture(params=[pytest.param("fake", marks=pytest.mark.looptime)])
async def cluster() -> AsyncIterator[Cluster]:
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
