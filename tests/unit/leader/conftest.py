"""Log lines go nowhere, unless a test captures them."""

from collections.abc import Iterator, MutableMapping
from typing import Any, NoReturn

import pytest
import structlog


def _drop(_logger: object, _method: str, _event: MutableMapping[str, Any]) -> NoReturn:
    raise structlog.DropEvent


@pytest.fixture(autouse=True)
def _silence() -> Iterator[None]:
    structlog.configure(processors=[_drop])
    yield
    structlog.reset_defaults()
