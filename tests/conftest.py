"""Hypothesis profiles, and lines that tests add to pytest's summary."""

import asyncio
import gc
from collections.abc import Callable, Generator, Iterator

import pytest
import structlog
from hypothesis import settings

from tests import tools
from tests.effort import IN_GATE, examples

SUMMARY = "measured"

settings.register_profile("usual", deadline=None, derandomize=IN_GATE, max_examples=examples(100))
settings.load_profile("usual")


def pytest_configure() -> None:
    # looptime asks for the current loop before every test, also before one that has none. Said so
    # here, asyncio does not make one then, which nobody would close.
    asyncio.set_event_loop(None)


def pytest_collection_finish() -> None:
    # Modules and tests stay to the end: to look through them again and again takes a twentieth of
    # the time.
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    tools.judge(report, item)
    return report


@pytest.fixture
def summarise(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Add a line to the summary at the end of the run, for what a test measured."""
    # A property of the test, since tests run in processes of their own.
    return lambda line: request.node.user_properties.append((SUMMARY, line))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    lines = [
        line
        for report in terminalreporter.getreports("passed")
        for name, line in report.user_properties
        if name == SUMMARY
    ]
    if lines:
        terminalreporter.section("measured")
    for line in lines:
        terminalreporter.write_line(line)


@pytest.fixture(autouse=True)
def _forget_log_setup() -> Iterator[None]:
    """Commands set up logging to the stdout of their test, which is closed after it."""
    yield
    structlog.reset_defaults()
