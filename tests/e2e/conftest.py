"""One control plane for all end-to-end tests, and what marks them as such."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.control_plane import ControlPlane, running

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.e2e)


@pytest.fixture(scope="package")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Run a control plane without nodes; its logs stay in pytest's temporary folder."""
    with running(tmp_path_factory.mktemp("control-plane")) as control_plane:
        yield control_plane
