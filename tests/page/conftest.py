"""What marks the tests that need a browser, and starts one for all of them."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.page import browser
from tests.tools import give_up


def pytest_itemcollected(item: pytest.Item) -> None:
    item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def chromium() -> Iterator[str]:
    """Where the browser is driven at."""
    path = browser.program()
    if path is None:
        give_up(f"none of {', '.join(browser.NAMES)} is on the PATH, so no page can be drawn")
    with browser.started(path) as address:
        yield address


@pytest.fixture
async def tab(chromium: str) -> AsyncIterator[browser.Tab]:
    """An empty page of 1,200 by 900 pixels."""
    async with browser.tab(chromium) as page:
        await page.resize(1200, 900)
        yield page
