"""What a trial says at its end: for programs, and in a table. Nothing in it names the cluster."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median

import msgspec

from cli.paragraphs import paragraph, table
from cli.trial.cases import Skipped
from cli.trial.manifests import Way
from cli.trial.outcome import Outcome
from planner.sizes import amount

_TOLD = {
    Way.NONE: "without an extender",
    Way.OURS: "with this extender",
    Way.LONGHORN: "with Longhorn's own",
}
_NAMES = (
    "case",
    "asked",
    "right",
    "pods by node",
    "waiting",
    "without room",
    "missing",
    "time",
    "calls",
)


class TrialNode(msgspec.Struct, frozen=True, kw_only=True):
    """One node of the trial."""

    name: str
    """Not its own one."""
    room_bytes: tuple[int, ...]
    """What could be scheduled on each of its disks."""
    claims: int
    """So many of the trial's fit there."""


class TrialCase(msgspec.Struct, frozen=True, kw_only=True):
    """One case, and what came of it in one way."""

    case: str
    told: str
    way: Way
    runs: tuple[Outcome, ...]

    @property
    def right(self) -> int:
        """So many runs ended with all pods running where their volumes are or have room."""
        return sum(each.is_right for each in self.runs)


class TrialReport(msgspec.Struct, frozen=True, kw_only=True):
    """What `trial -o json` prints."""

    extender: str
    """Its version, as that of the others; empty if it is not known."""
    kubernetes: str
    longhorn: str
    nodes: tuple[TrialNode, ...]
    claim_bytes: int
    cases: tuple[TrialCase, ...]
    skipped: tuple[Skipped, ...]
    unasked: Mapping[Way, str]
    """Ways that could not be tried, and why."""
    is_complete: bool
    """Whether it was carried out to its end."""


def cases_of(
    outcomes: Iterable[Outcome], told: Mapping[str, str], names: Mapping[str, str]
) -> tuple[TrialCase, ...]:
    """Put the runs of each case and way together.

    Args:
        outcomes: What came of each run.
        told: What each case is.
        names: What nodes are called in the report.
    """
    found: dict[tuple[str, Way], list[Outcome]] = {}
    for each in outcomes:
        by_node = {name: each.by_node.get(node, 0) for node, name in names.items()}
        renamed = msgspec.structs.replace(each, by_node=by_node)
        found.setdefault((each.case, each.way), []).append(renamed)
    return tuple(
        TrialCase(case=case, told=told[case], way=way, runs=tuple(runs))
        for (case, way), runs in found.items()
    )


def lines(found: TrialReport, width: int) -> Iterator[str]:
    """Write the table, and what it does not tell."""
    if found.cases:
        rows = [_row(each) for each in found.cases]
        yield from table([_NAMES, *rows], figures={4, 5, 6, 7, 8})
        yield ""
    for case, told in {each.case: each.told for each in found.cases}.items():
        yield from paragraph(f"{case}: ", told, width)
    for each in found.skipped:
        yield from paragraph(f"{each.name}: ", f"not tried: {each.why}", width)
    for way, why in found.unasked.items():
        yield from paragraph("", f"{_TOLD[way]}: not tried: {why}", width, indent=0)
    if not found.is_complete:
        yield "It was ended early: what is above is what was carried out."
    yield ""
    yield from paragraph("", _ground(found), width, indent=0)


def way_told(way: Way) -> str:
    """Say who was asked."""
    return _TOLD[way]


def _row(case: TrialCase) -> tuple[str, ...]:
    runs = [each for each in case.runs if not each.problem]
    shapes = dict.fromkeys("/".join(map(str, each.by_node.values())) for each in runs)
    seconds = [each.seconds for each in runs if each.seconds is not None]
    calls = [each.calls for each in runs if each.calls is not None]
    return (
        case.case,
        _TOLD[case.way],
        f"{case.right} of {len(case.runs)}",
        ", ".join([*shapes][:3]) + (" ..." if len(shapes) > 3 else "") or "not carried out",
        _span([each.waiting for each in runs]),
        _span([each.without_room for each in runs]),
        _span([each.replicas_missing for each in runs]),
        f"{median(seconds):.1f} s" if seconds and len(seconds) == len(runs) else "-",
        f"{median(calls):.0f}" if calls else "-",
    )


def _span(figures: Sequence[int]) -> str:
    if not figures:
        return "-"
    least, most = min(figures), max(figures)
    return str(least) if least == most else f"{least}-{most}"


def _ground(found: TrialReport) -> str:
    slots = "/".join(str(each.claims) for each in found.nodes)
    versions = [
        f"{name} {version}"
        for name, version in (
            ("Kubernetes", found.kubernetes),
            ("Longhorn", found.longhorn),
            ("the extender", found.extender),
        )
        if version
    ]
    return (
        f"Claims of {amount(found.claim_bytes)}, of which {len(found.nodes)} nodes take {slots}. "
        f"{', '.join(versions)}. Right is a run after which all pods run, each on a node that has "
        "its volumes."
    )
