"""One world for several tests: to start and to end one takes longer than many tests do."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.control_plane import ControlPlane
from tests.e2e.world import World

ONE_LOOP = pytest.mark.asyncio(loop_scope="module")
"""For modules that borrow worlds: the loop in which one runs must outlast a test."""


class Lending:
    """Lends a world to one test after another, for as long as they ask for the same.

    What a test has left in it is removed, and what has ended is started again. A world in which a
    test has failed is not lent again.

    Attributes:
        folder: Of the logs of the world that was lent last.
    """

    def __init__(self, control_plane: ControlPlane, make_folder: Callable[[], Path]) -> None:
        self.folder = Path()
        self._control_plane = control_plane
        self._make_folder = make_folder
        self._world: World | None = None
        self._options: dict[str, Any] = {}

    @asynccontextmanager
    async def __call__(self, **options: Any) -> AsyncIterator[World]:
        """Lend a world; arguments as of `World`."""
        if options != self._options:
            await self.end()
        if self._world is None:
            self.folder, self._options = self._make_folder(), options
            self._world = await World(self._control_plane, self.folder, **options).__aenter__()
        try:
            yield self._world
            await self._world.begin_anew()
        except BaseException:
            await self.end()
            raise

    async def end(self) -> None:
        """End the world that is there."""
        world, self._world = self._world, None
        if world is not None:
            await world.__aexit__(None, None, None)
