"""The table of what was scheduled and measured, one row a case. Pure but for writing the files."""

import platform
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from statistics import median

import msgspec

from tests.e2e.outcome import Outcome
from tests.e2e.plan_report import PlanRow, render_plans
from tests.e2e.plot import bound_over_time, pods_and_room

EXTENDER = {True: "extender, names", False: "extender, whole nodes"}
"""Variants by `nodeCacheCapable`."""
NO_EXTENDER = "no extender"


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One case in one variant, with all its runs."""

    case: str
    variant: str
    nodes: tuple[str, ...]
    runs: list[Outcome]


class VolumesRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a case with volumes of several replicas."""

    bound: int
    missing: int
    elsewhere: int
    overcommitted: int
    excess_gib: int
    bound_seconds: float
    next_seconds: float | None


class VolumesRow(msgspec.Struct, frozen=True, kw_only=True):
    """One such case in one variant, with all its runs."""

    case: str
    variant: str
    pods: int
    optimum: int
    runs: list[VolumesRun]


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """Something else that was measured, in words."""

    what: str
    figures: str


class Report:
    """Collects what the tests of one session have found."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str], Row] = {}
        self.volume_rows: dict[tuple[str, str], VolumesRow] = {}
        self.plan_rows: list[PlanRow] = []
        self.measurements: list[Measurement] = []
        self.plots: dict[str, str] = {}
        self.rooms: dict[str, tuple[str, Mapping[str, int]]] = {}

    def run(self, case: str, variant: str, nodes: Iterable[str], outcome: Outcome) -> None:
        """Add one run of a case."""
        row = Row(case=case, variant=variant, nodes=tuple(nodes), runs=[])
        self.rows.setdefault((case, variant), row).runs.append(outcome)

    def volumes(self, case: str, variant: str, pods: int, optimum: int, found: VolumesRun) -> None:
        """Add one run of a case with volumes of several replicas.

        Args:
            case: Its name.
            variant: The way of scheduling.
            pods: How many there are.
            optimum: How many of them can be bound with all their replicas.
            found: What came of it.
        """
        row = VolumesRow(case=case, variant=variant, pods=pods, optimum=optimum, runs=[])
        self.volume_rows.setdefault((case, variant), row).runs.append(found)

    def plan(self, row: PlanRow) -> None:
        """Add a workload that was planned and then created."""
        self.plan_rows.append(row)

    def measured(self, what: str, figures: str) -> None:
        """Add a figure."""
        self.measurements.append(Measurement(what=what, figures=figures))

    def plot(self, case: str, file: str) -> None:
        """Draw the runs of a case, all its variants in one plot."""
        self.plots[case] = file

    def plot_room(self, case: str, file: str, room: Mapping[str, int]) -> None:
        """Draw how many pods each node got in a case, beside how many it has room for."""
        self.rooms[case] = file, room

    def write(self, folder: Path, *, today: date, kubernetes: str) -> None:
        """Write `end-to-end.md`, its plots, `plans.md` and `report.json` into *folder*."""
        folder.mkdir(parents=True, exist_ok=True)
        rows = [*self.rows.values()]
        for case, file in self.plots.items():
            (folder / file).write_text(_plot(case, [row for row in rows if row.case == case]))
        for case, (file, room) in self.rooms.items():
            medians = _medians([row for row in rows if row.case == case])
            got = {
                "without the extender": medians[NO_EXTENDER].placement,
                "with the extender": medians[EXTENDER[True]].placement,
            }
            title = f"{sum(room.values())} pods at once, each with a volume"
            (folder / file).write_text(pods_and_room(title, room, got))
        text = render(
            rows,
            [*self.volume_rows.values()],
            self.measurements,
            plots=self.plots,
            today=today,
            kubernetes=kubernetes,
            machine=_machine(),
        )
        (folder / "end-to-end.md").write_text(text)
        (folder / "plans.md").write_text(render_plans(self.plan_rows))
        data = {
            "rows": rows,
            "volumes": [*self.volume_rows.values()],
            "plans": self.plan_rows,
            "measurements": self.measurements,
        }
        (folder / "report.json").write_bytes(msgspec.json.format(msgspec.json.encode(data)))


def render(
    rows: Sequence[Row],
    volumes: Sequence[VolumesRow],
    measurements: Sequence[Measurement],
    *,
    plots: Mapping[str, str],
    today: date,
    kubernetes: str,
    machine: str,
) -> str:
    """Render a report as Markdown."""
    table = [_line(_HEADINGS), _line("---" for _ in _HEADINGS), *map(_row, rows)]
    list_ = [f"- **{each.what}**: {each.figures}" for each in measurements]
    images = [f"![{case}: pods bound over time]({file})\n" for case, file in plots.items()]
    head = _HEAD.format(today=today, kubernetes=kubernetes, machine=machine)
    several = [_line(_VOLUMES), _line("---" for _ in _VOLUMES), *map(_volumes_row, volumes)]
    rest = [_VOLUMES_HEAD, *several, "", "## Faults and other measurements", "", *list_, ""]
    return "\n".join([head, *table, "", *images, *rest])


_HEAD = """\
# End-to-end report

{today}, Kubernetes {kubernetes}, {machine}. Made by `make e2e-report`; how the cases are set up is
in [the tests](../../../tests/e2e/README.md).

- *pods*: how many pods each node got (in the nodes' order), and in how many runs.
- *no room*: volumes that do not fit on the disks of their pods' node, in the run with most. This is
  what scheduling must avoid. A volume that Longhorn places on another node takes room there, so one
  shortage may count twice.
- *elsewhere*: volumes that Longhorn placed on another node than their pods', in the run with most.
- *over-committed*: disks with more on them than Longhorn's own limit, in the run with most. If *no
  room* is 0, only Longhorn is the cause: it chooses disks for volumes that attach together before
  it knows its last choice. "Longhorn up to date" plays a Longhorn that knows it.
- *attempts*, *calls*: scheduling attempts and calls of /filter per run, the median.
- *longest*: the longest call of /filter of all runs.
- *bound*: from creating the pods until the last one has a node; the median of the runs, and the
  longest.
"""

_VOLUMES_HEAD = """\
## Volumes of several replicas

Pods at once, more than have room for all their volumes. Figures are the least and the most of all
runs.

- *optimum*: pods that can be bound with all their replicas that nodes and zones allow; found by
  CP-SAT. Longhorn starts a volume with fewer, so more may be bound.
- *bound*: pods that got a node; all of them ran.
- *missing*: replicas that their volumes lack.
- *elsewhere*: best-effort volumes without a replica beside their pod.
- *over-committed*: disks beyond Longhorn's own limit, and by how much together. With *old figures*
  Longhorn places by what nodes listed some tenths of a second ago, as it does; *up to date* it
  knows what it has placed.
- *next*: a bound pod is deleted with its claims; how long after its replicas were gone another one
  was accepted.
"""

_VOLUMES = (
    "case",
    "variant",
    "runs",
    "pods",
    "optimum",
    "bound",
    "missing",
    "elsewhere",
    "over-committed",
    "bound within",
    "next",
)

_HEADINGS = (
    "case",
    "variant",
    "runs",
    "pods",
    "no room",
    "elsewhere",
    "over-committed",
    "attempts",
    "calls",
    "longest",
    "bound",
)


def _row(row: Row) -> str:
    runs = row.runs
    pods = Counter(run.pods(row.nodes) for run in runs).most_common()
    bound = [run.bound_seconds for run in runs]
    return _line(
        (
            row.case,
            row.variant,
            str(len(runs)),
            ", ".join(f"{by_node} ({count})" for by_node, count in pods),
            str(max(run.without_room for run in runs)),
            str(max(run.elsewhere for run in runs)),
            str(max(run.overcommitted_disks for run in runs)),
            f"{median(run.attempts for run in runs):g}",
            f"{median(run.filter_calls for run in runs):g}",
            f"{max(run.longest_filter_seconds for run in runs) * 1000:.0f} ms",
            f"{median(bound):.1f} s, {max(bound):.1f} s",
        )
    )


def _volumes_row(row: VolumesRow) -> str:
    runs = row.runs
    nexts = [run.next_seconds for run in runs if run.next_seconds is not None]
    return _line(
        (
            row.case,
            row.variant,
            str(len(runs)),
            str(row.pods),
            str(row.optimum),
            _span(run.bound for run in runs),
            _span(run.missing for run in runs),
            _span(run.elsewhere for run in runs),
            f"{_span(run.overcommitted for run in runs)}, "
            f"{_span(run.excess_gib for run in runs)} GiB",
            f"{max(run.bound_seconds for run in runs):.1f} s",
            f"{max(nexts):.1f} s" if nexts else "-",
        )
    )


def _span(values: Iterable[int]) -> str:
    """Write the least and the most."""
    found = sorted(values)
    return f"{found[0]}" if found[0] == found[-1] else f"{found[0]} to {found[-1]}"


def _medians(rows: Sequence[Row]) -> dict[str, Outcome]:
    """Return the run of each variant that took the median time."""
    runs = {row.variant: sorted(row.runs, key=lambda run: run.bound_seconds) for row in rows}
    return {variant: each[len(each) // 2] for variant, each in runs.items()}


def _plot(case: str, rows: Sequence[Row]) -> str:
    medians = _medians(rows)
    pods = max(sum(run.placement.values()) for run in medians.values())
    return bound_over_time(case, {name: run.bound_at for name, run in medians.items()}, pods)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(_escaped(cell) for cell in cells)} |"


def _escaped(cell: str) -> str:
    return cell.replace("|", r"\|")


def _machine() -> str:
    cpus = Path("/proc/cpuinfo")
    models = [
        line.partition(":")[2].strip()
        for line in (cpus.read_text().splitlines() if cpus.exists() else ())
        if line.startswith("model name")
    ]
    return f"{len(models)} x {models[0]}" if models else platform.machine()
