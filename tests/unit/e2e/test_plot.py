"""The plot of pods bound over time."""

from xml.etree import ElementTree

import pytest

from tests.e2e.plot import HEIGHT, WIDTH, bound_over_time

SVG = "{http://www.w3.org/2000/svg}"


def lines(drawn: str) -> list[list[tuple[float, float]]]:
    """Return the points of the thick lines, which are the variants'."""
    found = ElementTree.fromstring(drawn).iter(f"{SVG}polyline")  # noqa: S314 (our own)
    return [
        [(float(x), float(y)) for x, _, y in (each.partition(",") for each in text.split())]
        for line in found
        if line.get("stroke-width") == "2"
        for text in (line.get("points", ""),)
    ]


def test_each_variant_is_a_line_that_rises_by_one_pod_at_a_time() -> None:
    drawn = bound_over_time("a & b", {"fast": [3.0, 3.5], "slow": [3.0, 6.0]}, pods=2)

    fast, slow = lines(drawn)
    assert [y for _, y in fast] == [y for _, y in slow]
    assert len({y for _, y in fast}) == 3
    assert fast[-1][0] < slow[-1][0]
    assert "a &amp; b" in drawn


@pytest.mark.parametrize("times", [[1.0], [0.3, 0.4], [2.0, 64.0], [3.0, 700.0]])
def test_all_of_it_is_within_the_picture(times: list[float]) -> None:
    [line] = lines(bound_over_time("any", {"one": times}, pods=len(times)))

    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in line)


def test_pods_that_were_never_bound_leave_the_line_below_the_top() -> None:
    all_of_them, some = lines(bound_over_time("any", {"a": [1.0, 2.0], "b": [1.0]}, pods=2))

    assert min(y for _, y in some) > min(y for _, y in all_of_them)
