"""What marks the tests that need a browser, and starts one for all of them."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.page import browser

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def chromium() -> Iterator[str]:
    """Where the browser is driven at."""
    path = browser.program()
    if path is None:
        browser.give_up()
    with browser.started(path) as address:
        yield address


@pytest.fixture
async def tab(chromium: str) -> AsyncIterator[browser.Tab]:
    """An empty page of 1,200 by 900 pixels."""
    async with browser.tab(chromium) as page:
        await page.resize(1200, 900)
        yield page
