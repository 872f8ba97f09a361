"""The screens of `make demo`: bars that are as full as the disks, and reasons that fit."""

from typing import Any

import pytest

from examples.demo.screen import WIDTH, bars, print_lines, reasons, row, table_head, verdict

GIB = 2**30
Capture = pytest.CaptureFixture[str]


def disk(limit_gib: int, *, scheduled_gib: int = 0) -> dict[str, Any]:
    return {
        "limit_bytes": limit_gib * GIB,
        "scheduled_bytes": scheduled_gib * GIB,
        "logical_headroom_bytes": (limit_gib - scheduled_gib) * GIB,
    }


def node(*disks: dict[str, Any], held_gib: tuple[int, ...] = ()) -> dict[str, Any]:
    return {
        "disks": list(disks),
        "holds": [{"pod": "default/a", "volume_bytes": {"pvc-a": size * GIB}} for size in held_gib],
    }


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        pytest.param(node(disk(400)), "[............]", id="empty"),
        pytest.param(node(disk(400, scheduled_gib=100)), "[###.........]", id="in-use"),
        pytest.param(node(disk(400), held_gib=(100, 100)), "[++++++......]", id="held"),
        pytest.param(
            node(disk(400, scheduled_gib=300), held_gib=(100,)), "[#########+++]", id="full"
        ),
        pytest.param(node(disk(99)), "[...]", id="a-little-smaller"),
        pytest.param(
            node(disk(100, scheduled_gib=100), disk(100), held_gib=(100,)),
            "[###][+++]",
            id="held-where-there-is-room",
        ),
        pytest.param(node(), "", id="no-disk"),
    ],
)
def test_bars_are_as_full_as_the_disks(shown, expected):
    assert bars(shown) == expected


@pytest.mark.parametrize(
    ("pod", "chosen", "expected"),
    [
        pytest.param("web-0", "node-1", "web-0       node-1 [...]", id="has-a-node"),
        pytest.param("web-0", "", "web-0       waits  [...]", id="waits"),
        pytest.param("", "", "                   [...]", id="the-disks-alone"),
    ],
)
def test_a_line_says_where_a_pod_goes(pod, chosen, expected, capsys):
    print_lines([row(pod, chosen, {"node-1": node(disk(100))})])

    assert capsys.readouterr().out == f"{expected}\n"


def test_names_of_nodes_stand_above_their_bars(capsys):
    nodes = {"node-1": node(disk(400)), "node-2": node(disk(100), disk(100))}

    print_lines([*table_head(nodes), row("a", "node-1", nodes)])

    *_, names, line = capsys.readouterr().out.splitlines()
    assert names.index("node-2") == line.index("[...][...]")


def test_nodes_of_one_reason_stand_together_within_the_width():
    full = "no disk of the Longhorn node has room for a volume of 100 GiB"
    held = "Longhorn node's room is held for other pods that are being scheduled"

    lines = list(reasons({"node-1": full, "node-2": held, "node-3": full}))

    assert [line.split(":")[0].strip() for line in lines if ":" in line] == [
        "not node-1, node-3",
        "not node-2",
    ]
    assert " ".join(line.strip() for line in lines) == (
        f"not node-1, node-3: {full} not node-2: {held}"
    )
    assert max(map(len, lines)) <= WIDTH


def test_the_end_counts_the_answers(capsys):
    print_lines(verdict(checked=3, wrong=1))

    _, counts = capsys.readouterr().out.splitlines()
    assert counts.strip("= ") == "3 answers, 2 as expected"
