"""What nodes lack, in figures."""

import pytest

from planner.lacking import figures
from planner.predicates.refusals import DISK_SPACE, Lack
from tests.builders import GIB


@pytest.mark.parametrize(
    ("lacks", "expected"),
    [
        ([], ""),
        ([Lack("cpu", 1000, 400, 4000)], ": asks 1 CPU, 0.4 left"),
        (
            [Lack("cpu", 1000, 400, 4000), Lack("cpu", 1000, 0, 4000)],
            ": asks 1 CPU, at most 0.4 left",
        ),
        ([Lack("cpu", 1000, -200, 4000)], ": asks 1 CPU, 0 left"),
        ([Lack("cpu", 1001, 1000, 4000)], ": asks 1.01 CPU, 1 left"),
        (
            [Lack("memory", 2 * GIB, GIB // 2, 4 * GIB)],
            ": asks 2 GiB of memory, 0.5 GiB left",
        ),
        ([Lack("memory", GIB + 1, GIB, 4 * GIB)], ": asks 1.01 GiB of memory, 1 GiB left"),
        ([Lack("example.com/gpu", 2, 1, 8)], ": asks 2 example.com/gpu, 1 left"),
        (
            [Lack("memory", GIB, 0, GIB), Lack("cpu", 500, 250, 1000)],
            ": asks 0.5 CPU, 0.25 left; asks 1 GiB of memory, 0 GiB left",
        ),
        ([Lack(DISK_SPACE, 9 * GIB, 2 * GIB, 0)], ": 2 GiB left on one disk"),
        ([Lack(DISK_SPACE, 9 * GIB, -GIB, 0)], ": 0 GiB left on one disk"),
        (
            [Lack(DISK_SPACE, 9 * GIB, 2 * GIB - 1, 0), Lack(DISK_SPACE, 9 * GIB, 0, 0)],
            ": at most 1.99 GiB left on one disk",
        ),
        ([Lack("pods", 1, 0, 110)], ": 110"),
        ([Lack("pods", 1, 0, 110), Lack("pods", 1, -1, 250)], ": 110 to 250"),
    ],
)
def test_what_is_asked_is_rounded_up_and_what_is_left_down(lacks, expected):
    assert figures(lacks) == expected
