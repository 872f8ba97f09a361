"""An in-memory API server of each sort."""

import random

import pytest

from tests.fakes import FakeApiServer
from tests.unit.app.kube.following import put


@pytest.fixture(params=[True, False], ids=["streamed", "paged"])
def server(request: pytest.FixtureRequest) -> FakeApiServer:
    """A server that offers streamed lists, or does not; what is read comes in pieces."""
    found = FakeApiServer(random.Random(7), streaming_lists=request.param, chop=0.4)
    put(found, "a", "b", "c")
    return found
