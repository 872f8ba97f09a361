"""What marks the tests that need the real Prometheus, and says so if there is none."""

import shutil
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PROGRAMS = ("prometheus", "promtool")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.prometheus)


@pytest.fixture(autouse=True, scope="session")
def _programs() -> None:
    missing = [each for each in PROGRAMS if shutil.which(each) is None]
    if missing:
        pytest.fail(f"{' and '.join(missing)} not found: install prometheus", pytrace=False)
