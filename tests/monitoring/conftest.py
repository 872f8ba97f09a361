"""What marks the tests that need the real Prometheus, and says so if there is none."""

import shutil

import pytest

PROGRAMS = ("prometheus", "promtool")


def pytest_itemcollected(item: pytest.Item) -> None:
    item.add_marker(pytest.mark.prometheus)


@pytest.fixture(autouse=True, scope="session")
def _programs() -> None:
    missing = [each for each in PROGRAMS if shutil.which(each) is None]
    if missing:
        pytest.fail(f"{' and '.join(missing)} not found: install prometheus", pytrace=False)
