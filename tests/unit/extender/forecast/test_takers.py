"""Whether it is certain which node Longhorn takes: never if two may have as much unused."""

import pytest

from extender.forecast.takers import may_tie
from longhorn import Node, need_of
from tests.builders import GIB, disk, node, view_of, volume
from tests.unit.extender.outlooks import forecast_of

NEED = need_of(volume(size_bytes=10 * GIB), None)


def host(name: str, *sizes_bytes: int) -> Node:
    disks = [disk(f"{name}-{n}", maximum_bytes=size) for n, size in enumerate(sizes_bytes)]
    return node(name, *disks)


@pytest.mark.parametrize(
    ("nodes", "sizes_bytes", "expected"),
    [
        pytest.param([host("a", 100), host("b", 100)], [10], True, id="alike"),
        pytest.param([host("a", 100), host("b", 120)], [10], True, id="after-two-more"),
        pytest.param([host("a", 100), host("b", 101)], [10], False, id="never"),
        pytest.param([host("a", 100), host("b", 105)], [10, 15], True, id="of-different-sizes"),
        pytest.param([host("a", 100), host("b", 101)], [], False, id="nothing-comes"),
        pytest.param([host("a", 50, 50), host("b", 101)], [10], True, id="several-disks"),
    ],
)
def test_nodes_tie_if_something_may_make_them_alike(
    nodes: list[Node], sizes_bytes: list[int], *, expected: bool
) -> None:
    grown = [host(each.name, *(of.maximum_bytes * GIB for of in each.disks)) for each in nodes]
    view = view_of(*grown)

    found = may_tie(forecast_of(view).assignment, [NEED], [size * GIB for size in sizes_bytes])

    assert found is expected
