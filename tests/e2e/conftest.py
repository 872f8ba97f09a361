"""One control plane for all end-to-end tests, what marks them as such, and their report."""

import asyncio
import os
from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import pytest
import pytest_asyncio

from tests.e2e.control_plane import ControlPlane, running
from tests.e2e.effort import REPORT_VARIABLE
from tests.e2e.lending import Lending
from tests.e2e.report import Report
from tests.e2e.world import World

HERE = Path(__file__).parent
LAST_LINES = 15


class MakeWorld(Protocol):
    """Builds a world of one test; arguments as of `World`."""

    def __call__(self, **options: Any) -> AbstractAsyncContextManager[World]: ...


def pytest_itemcollected(item: pytest.Item) -> None:
    item.add_marker(pytest.mark.e2e)
    # An API server that is killed in the middle of a handshake leaves sockets behind, which asyncio
    # closes when they are collected.
    item.add_marker(pytest.mark.filterwarnings("default::pytest.PytestUnraisableExceptionWarning"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the last lines of every log with a failure; the whole logs stay where it says."""
    report = yield
    if report.failed and isinstance(item, pytest.Function) and HERE in item.path.parents:
        arguments = item.funcargs.values()
        folders = [each.folder for each in arguments if isinstance(each, ControlPlane | Lending)]
        folders += [each for each in arguments if isinstance(each, Path)]
        for log in sorted(log for folder in folders for log in folder.glob("*.log")):
            lines = log.read_text(errors="replace").splitlines()[-LAST_LINES:]
            report.sections.append((str(log), "\n".join(line[:300] for line in lines)))
    return report


@pytest.fixture(scope="package")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Run a control plane without nodes; its logs stay in pytest's temporary folder."""
    with running(tmp_path_factory.mktemp("control-plane")) as control_plane:
        yield control_plane


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[ControlPlane]:
    """Run a control plane in which nothing of ours is installed."""
    with running(tmp_path, with_service=False) as control_plane:
        yield control_plane


@pytest.fixture
def make_world(control_plane: ControlPlane, tmp_path: Path) -> MakeWorld:
    """Return what builds a world in this test's folder."""

    def make(**options: Any) -> World:
        return World(control_plane, tmp_path, **options)

    return make


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def share_world(
    control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[MakeWorld]:
    """Return what lends the world of the test before, if that asked for the same.

    The module must have the mark `ONE_LOOP`.
    """
    lending = Lending(control_plane, lambda: tmp_path_factory.mktemp("world"))
    yield lending
    await lending.end()


@pytest.fixture(scope="package")
def report(request: pytest.FixtureRequest, control_plane: ControlPlane) -> Iterator[Report]:
    """Collect what the tests find; written at their end if all passed and a folder is named."""
    report = Report()
    kubernetes = asyncio.run(control_plane.version())
    yield report
    folder = os.environ.get(REPORT_VARIABLE)
    if folder and not request.session.testsfailed:
        report.write(Path(folder), today=datetime.now(UTC).date(), kubernetes=kubernetes)
