"""What was planned beside what then happened, one row a workload. Pure."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec


class Span(msgspec.Struct, frozen=True):
    """The least and the most of some numbers."""

    least: int
    most: int

    def __contains__(self, number: int) -> bool:
        return self.least <= number <= self.most

    def __str__(self) -> str:
        return f"{self.least}" if self.least == self.most else f"{self.least} to {self.most}"


def span_of(numbers: Iterable[int]) -> Span:
    """Return the span of numbers, of which there is one at least."""
    found = [*numbers]
    return Span(min(found), max(found))


class PlanRow(msgspec.Struct, frozen=True, kw_only=True):
    """One workload that was planned with several seeds, and then created."""

    case: str
    pods: int
    placed: int
    """So many pods got a node."""
    planned: Span
    """So many did in the plans."""
    waiting: Mapping[str, int]
    """By workload: so many pods got no node, or were not created."""
    planned_waiting: Mapping[str, Span]
    by_node: tuple[int, ...]
    """Pods of each node, in the order of the nodes."""
    planned_by_node: tuple[tuple[int, ...], ...]
    """The same of each plan."""
    is_determined: bool
    """Whether plans that choose nodes by lot, from those that fit, all end with one *by_node*."""

    @property
    def is_foretold(self) -> bool:
        """Whether the run ended as the plans say, where they leave it to chance as one of them."""
        return (
            self.placed in self.planned
            and all(number in self.planned_waiting[name] for name, number in self.waiting.items())
            and (not self.is_determined or self.by_node in self.planned_by_node)
        )

    @property
    def told(self) -> str:
        """How it ended, and how the plans did, in a line."""
        spans = ", ".join(f"{name}: {span}" for name, span in self.planned_waiting.items())
        return (
            f"{self.case}: {self.placed} placed ({self.planned} planned), waiting "
            f"{dict(self.waiting)} ({spans} planned), by node {self.by_node}"
        )

    @property
    def same(self) -> int:
        """How many plans give each node as many pods as it really got."""
        return self.planned_by_node.count(self.by_node)


def render_plans(rows: Sequence[PlanRow]) -> str:
    """Render a table of workloads as Markdown, and in a sentence what is in it."""
    within = sum(row.placed in row.planned for row in rows)
    sure = sum(row.planned.least == row.planned.most for row in rows)
    determined = sum(row.is_determined for row in rows)
    alike = sum(row.same > 0 for row in rows)
    text = (
        f"The number of pods is within what is planned in {within} of {len(rows)} cases; in {sure} "
        f"of them\nall plans give the same number. By node, {determined} cases are determined; in "
        f"{alike} some plan ends as\nthe real run.\n"
    )
    lines = [_HEADINGS, ["---"] * len(_HEADINGS), *map(_cells, rows)]
    return "\n".join([text, *(f"| {' | '.join(cells)} |" for cells in lines), ""])


_HEADINGS = (
    "case",
    "pods",
    "placed",
    "planned",
    "waiting",
    "by node",
    "determined",
    "plans with it",
    "difference",
)


def _cells(row: PlanRow) -> Sequence[str]:
    waiting = [f"{name}: {number}" for name, number in row.waiting.items() if number]
    ways = len({*row.planned_by_node})
    return (
        row.case,
        str(row.pods),
        str(row.placed),
        str(row.planned),
        ", ".join(waiting) or "none",
        "/".join(map(str, row.by_node)),
        "yes" if row.is_determined else "no",
        f"{row.same} of {len(row.planned_by_node)}" + (f", {ways} ways" if ways > 1 else ""),
        _difference(row),
    )


def _difference(row: PlanRow) -> str:
    if not row.is_foretold:
        return "**not as planned**"
    if not row.same:
        return "other nodes"
    return "none" if row.planned.least == row.planned.most else "number by chance"
