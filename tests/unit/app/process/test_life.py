"""What every process does."""

import asyncio
import gc
import sys
from collections.abc import Iterator

import pytest

from app.process.life import run_until_told


@pytest.fixture
def collector() -> Iterator[None]:
    gc.unfreeze()
    yield
    gc.freeze()


@pytest.mark.usefixtures("collector")
def test_the_garbage_collector_passes_over_modules():
    looked_through = list[object]()

    async def main(_: asyncio.Event) -> None:
        looked_through.extend(gc.get_objects())

    run_until_told(main)

    assert looked_through
    assert not [each for each in looked_through if each is sys.modules]
