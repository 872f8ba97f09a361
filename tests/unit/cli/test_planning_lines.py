"""The text of a plan: what does not work first, the same told once, as wide as the terminal."""

import re

import pytest

from cli.planning.answer import answered
from cli.planning.lines import Form, lines
from planner.outcome import PlanReport
from planner.picture import (
    DiskReport,
    Event,
    Kind,
    NodeReport,
    Place,
    PlannedVolume,
    PlanWarning,
    Reason,
    StepReport,
)
from tests.builders import GIB

COLOUR = re.compile("\x1b\\[[0-9]+m")
NO_ROOM = Reason(code="insufficient_storage", text="has no room", nodes=("node-1", "node-2"))


def disk(name: str = "disk-1", scheduled_gib: int = 0, problem: str = "") -> DiskReport:
    return DiskReport(
        name=name,
        maximum_bytes=100 * GIB,
        reserved_bytes=0,
        available_bytes=100 * GIB,
        limit_bytes=100 * GIB,
        scheduled_bytes=scheduled_gib * GIB,
        problem=problem,
    )


def text_of(
    *events: Event,
    before: tuple[NodeReport, ...] = (),
    after: tuple[NodeReport, ...] = (),
    warnings: tuple[PlanWarning, ...] = (),
    already: tuple[PlanWarning, ...] = (),
    removed: tuple[str, ...] = (),
    width: int = 98,
    show_all: bool = False,
) -> list[str]:
    """Write a plan of one step, without the colours of a terminal."""
    now = StepReport(title="now", nodes=before, warnings=already)
    step = StepReport(
        title="place it", events=events, warnings=warnings, nodes=after, removed_nodes=removed
    )
    plan = PlanReport(origin="x", policy="today", seed=1, steps=(now, step), placed=0, pending=0)
    form = Form(width=width, show_all=show_all)
    return [COLOUR.sub("", line) for line in lines(answered(plan, is_capacity=False), form)]


def pending(name: str, *reasons: Reason) -> Event:
    return Event(kind=Kind.PENDING, object=name, text="0 of 2 nodes", reasons=reasons)


def placed(number: int) -> Event:
    return Event(kind=Kind.PLACED, object=f"default/web-{number}", node="node-1")


def test_what_does_not_work_is_told_first_and_the_same_only_once() -> None:
    text = text_of(placed(0), *(pending(f"default/x-{number}", NO_ROOM) for number in range(5)))

    assert text[4:7] == [
        "  pending  default/x-0, default/x-1, default/x-2 and 2 more: 0 of 2 nodes",
        "           node-1, node-2: has no room",
        "  placed   default/web-0 on node-1",
    ]


@pytest.mark.parametrize(
    ("reasons", "text"),
    [
        ((Reason(code="x", text="is full", nodes=("a",)),), ["a: is full"]),
        ((Reason(code="x", text="is full", nodes=tuple("abcd")),), ["all 4 nodes: is full"]),
        (
            (
                Reason(code="x", text="is full", nodes=tuple("abcd")),
                Reason(code="y", text="is old", nodes=("e",)),
            ),
            ["a, b, c and 1 more: is full", "e: is old"],
        ),
        ((Reason(code="object_not_found", text="C is gone", nodes=tuple("ab")),), ["C is gone"]),
        ((Reason(code="claim_in_use", text="C is used", nodes=tuple("ab")),), ["C is used"]),
    ],
)
def test_reasons_name_nodes_if_they_are_about_nodes(
    reasons: tuple[Reason, ...], text: list[str]
) -> None:
    assert [line.strip() for line in text_of(pending("p", *reasons))[5:-2]] == text


def test_what_stays_is_told_apart_from_what_is_new() -> None:
    old, new = (
        Place(node="node-1", disk="a", is_new=False),
        Place(node="node-2", disk="b"),
    )
    for places, told in (
        ((old, new, Place()), "stays on node-1/a; new on node-2/b; 1 replica without a place"),
        ((old,), "stays on node-1/a"),
        ((new,), "node-2/b"),
        ((), "no replica"),
    ):
        volume = PlannedVolume(
            name="default/data", size_bytes=GIB, locality="disabled", replicas=places
        )
        event = Event(kind=Kind.PLACED, object="default/web", node="node-1", volumes=(volume,))

        assert text_of(event)[5].strip() == f"data, 1.0 GiB: {told}"


def test_many_events_and_warnings_are_cut_unless_all_are_asked_for() -> None:
    events = [placed(number) for number in range(25)]
    warnings = tuple(PlanWarning(code="x", object=f"V {n}", text="is bad") for n in range(25))

    text = text_of(*events, warnings=warnings, already=warnings)

    assert "  and 5 more events: --all shows them" in text
    assert "  and 5 more warnings: --all shows them" in text
    assert "  and 20 more warnings: --all shows them" in text
    assert len(text_of(*events, warnings=warnings, already=warnings, show_all=True)) > 75


def test_before_and_after_has_the_nodes_that_change_as_people_count() -> None:
    before = tuple(
        NodeReport(name=name, zone="z", disks=(disk(),)) for name in ("n-10", "n-2", "n-3")
    )
    after = (
        NodeReport(name="n-10", zone="z", pods=("a/b",), disks=(disk(scheduled_gib=120),)),
        NodeReport(name="n-2", zone="z", problem="is cordoned", disks=(disk(problem="is off"),)),
    )

    text = text_of(before=before, after=after, removed=("n-3",))

    assert text[-4:] == [
        "node  zone  pods    disk    scheduled GiB  limit",
        "n-2   z     0       disk-1  0.0            100.0  is cordoned; disk is off",
        "n-3   z     0 -> -  disk-1  0.0 -> -       100.0  is gone",
        "n-10  z     0 -> 1  disk-1  0.0 -> 120.0   100.0  over the limit",
    ]


def test_a_step_after_which_all_is_as_before_says_so() -> None:
    assert text_of()[-3:] == ["  no pod and no replica moves", "", "no node changes"]


@pytest.mark.parametrize("width", [50, 80, 98])
def test_texts_are_as_wide_as_the_terminal(width: int) -> None:
    reason = Reason(code="x", text="so many words " * 20, nodes=("node-1",))
    warning = PlanWarning(code="x", object="Volume v", text="so many words " * 20)

    text = text_of(pending("default/web-0", reason), warnings=(warning,), width=width)

    assert max(map(len, text)) <= width


def test_control_characters_become_blanks() -> None:
    event = Event(kind=Kind.REFUSED, object="a\x1b[2Jb", text="c\rd\ne")
    nodes = (NodeReport(name="n\x1b", zone="\x07", disks=(disk("\x00"),)),)

    text = "".join(text_of(event, after=nodes))

    assert text.isprintable()
