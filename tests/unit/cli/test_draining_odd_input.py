"""Odd values anywhere in the objects: `may-drain` answers or says what it cannot read."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.effort import examples
from tests.unit.cli import drained
from tests.unit.cli.drained import Document, node, pod, replica, volume
from tests.unit.cli.plans import Run, write


@pytest.fixture
def ask(called: Run, tmp_path: Path) -> Run:
    """Ask about a node of these documents, for this form of the answer."""

    def asked(output: str, *documents: Document) -> tuple[int, str, str]:
        file = write(tmp_path / "cluster.json", *documents)
        return called("may-drain", "node-1", "-o", output, "--cluster-file", file)

    return asked


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.text(max_size=5),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


def spots(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return where something stands in a document."""
    inner = [*value.items()] if isinstance(value, dict) else []
    inner += [*enumerate(value)] if isinstance(value, list) else []
    found = [path] if path else []
    for key, each in inner:
        found += spots(each, (*path, key))
    return found


GOOD = [*node(), *node("node-2"), volume(claim="data"), replica(), replica("node-2"),
        pod(claims=["data"]), *drained.settings()]  # fmt: skip
GOOD.append(drained.attachment(csi_attacher="node-1"))
GOOD.append(drained.budget("web", "default", labels={"app": "web"}, allowed=1))
SPOTS = [(number, *spot) for number, each in enumerate(GOOD) for spot in spots(each)]


@settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(spot=st.sampled_from(SPOTS), value=VALUES, output=st.sampled_from(["table", "json"]))
def test_odd_values_anywhere_give_an_answer_or_an_error(ask, spot, value, output):
    """No traceback; and what cannot be read is said, and is no yes."""
    number, *path, last = spot
    odd = deepcopy(GOOD)
    target: Any = odd[number]
    for key in path:
        target = target[key]
    target[last] = value

    status, out, err = ask(output, *odd)

    assert status in (0, 1, 2)
    assert out or err.rpartition("error: ")[2]
    assert not ("cannot be read" in err and status == 0)


def test_the_objects_of_that_test_are_fine(ask):
    assert ask("table", *GOOD)[0] == 0
