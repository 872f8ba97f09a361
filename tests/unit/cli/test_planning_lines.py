"""The text of a plan: what does not work first, the same told once, as wide as the terminal."""

import re
from typing import Any

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
    already: tuple[PlanWarning, ...] = (),
    width: int = 98,
    show_all: bool = False,
    **step: Any,
) -> list[str]:
    """Write a plan of one step, without the colours of a terminal."""
    now = StepReport(title="now", nodes=before, warnings=already)
    placing = StepReport(title="place it", events=events, **step)
    plan = PlanReport(origin="x", policy="today", seed=1, steps=(now, placing), placed=0, pending=0)
    form = Form(width=width, show_all=show_all)
    return [COLOUR.sub("", line) for line in lines(answered(plan, is_capacity=False), form)]


def pending(name: str, *reasons: Reason) -> Event:
    return Event(kind=Kind.PENDING, object=name, text="0 of 2 nodes", reasons=reasons)


def reason(text: str, nodes: str, code: str = "x") -> Reason:
    return Reason(code=code, text=text, nodes=tuple(nodes))


def placed(number: int, *places: tuple[Place, ...]) -> Event:
    """Build a pod with a volume for each of *places*, where its replicas are."""
    of: dict[str, Any] = {"name": "a/v", "size_bytes": GIB, "locality": "disabled"}
    volumes = tuple(PlannedVolume(replicas=each, **of) for each in places)
    return Event(kind=Kind.PLACED, object=f"a/web-{number}", node="node-1", volumes=volumes)


OLD, NEW = Place(node="node-1", disk="a", is_new=False), Place(node="node-2", disk="b")
MANY = [placed(number) for number in range(25)]
WARNINGS = tuple(PlanWarning(code="x", object=f"V {n}", text="is bad") for n in range(25))
TOO_MANY = {"warnings": WARNINGS, "already": WARNINGS}
CHANGED: dict[str, Any] = {
    "before": tuple(NodeReport(name=n, zone="z", disks=(disk(),)) for n in ("n-10", "n-2", "n-3")),
    "nodes": (NodeReport(name="n-10", zone="z", pods=("a/b",), disks=(disk(scheduled_gib=120),)),
        NodeReport(name="n-2", zone="z", problem="is cordoned", disks=(disk(problem="is off"),))),
    "removed_nodes": ("n-3",),
}  # fmt: skip
PLANS: dict[str, tuple[str, list[Event], dict[str, Any]]] = {
    "same-told-once": ("x-0, x-1, x-2 and 2 more: 0 of 2 nodes",
        [placed(0), *(pending(f"x-{n}", reason("has no room", "ab")) for n in range(5))], {}),
    "reasons": ("all 4 nodes: is full", [ pending("one", reason("is full", "a")),
        pending("all", reason("is full", "abcd")),
        pending("most", reason("is full", "abcd"), reason("is old", "e", "y")),
        pending("gone", reason("C is gone", "ab", "object_not_found")),
        pending("used", reason("C is used", "ab", "claim_in_use")), ], {}),
    "what-stays-and-what-is-new": ("stays on node-1/a; new on node-2/b; 1 replica without a place",
        [placed(0, (OLD, NEW, Place())), placed(1, (OLD,)), placed(2, (NEW,)), placed(3, ())], {}),
    "cut": ("and 5 more events: --all", MANY, TOO_MANY),
    "all": ("warning V 24 is bad", MANY, {**TOO_MANY, "show_all": True}),
    "nodes-that-change": ("n-10 z 0 -> 1 disk-1 0.0 -> 120.0 100.0 over the limit", [], CHANGED),
    "nothing-changes": ("no node changes", [], {}),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANS)
def test_text_of_a_plan(golden, name):
    fact, events, more = PLANS[name]

    text = "".join(f"{line}\n" for line in text_of(*events, **more))

    assert fact in " ".join(text.split())
    golden(f"plan-lines/{name}", text)


@pytest.mark.parametrize("width", [50, 80, 98])
def test_texts_are_as_wide_as_the_terminal(width):
    many = "so many words " * 20
    warning = PlanWarning(code="x", object="Volume v", text=many)

    text = text_of(pending("default/web-0", reason(many, "a")), warnings=(warning,), width=width)

    assert max(map(len, text)) <= width


def test_control_characters_become_blanks():
    event = Event(kind=Kind.REFUSED, object="a\x1b[2Jb", text="c\rd\ne")
    nodes = (NodeReport(name="n\x1b", zone="\x07", disks=(disk("\x00"),)),)

    assert "".join(text_of(event, nodes=nodes)).isprintable()
