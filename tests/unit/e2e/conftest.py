"""A proxy for each test that asks for one."""

from collections.abc import AsyncIterator

import pytest

from tests.unit.e2e.bench import Bench


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    async with Bench() as running:
        yield running
