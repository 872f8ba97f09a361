"""Puts the screen together, of the survey's findings and the figures of `overview` and `filter`.

Nothing is judged here again: a line is as bad as the worst finding of which it tells.
"""

from collections.abc import Iterable, Sequence

import msgspec

from app.page.now import claims_by_volume
from cli.catalogue import Severity
from cli.doctor.facts import LeaseSeen, Unread
from cli.explaining.answering import Seen
from cli.explaining.explainer import Explainer
from cli.explaining.pending import PendingPods, pending_pods
from cli.findings import Finding, count_line
from cli.kube.pods import Pod
from cli.kube.resources import PODS
from cli.overview.figures import NodeFigures, node_figures
from cli.status.figures import (
    EVICTION,
    OF_VOLUMES,
    Figures,
    about_of,
    expanding,
    figures_of,
    findings_of,
)
from cli.survey.found import count
from cli.survey.survey import Survey, survey_of
from longhorn import Unreadable
from planner.sizes import gib

_ORDER = (Severity.ERROR, Severity.WARNING, Severity.UNKNOWN, Severity.INFO, Severity.OK)
_OF_NODES, _OF_DISKS = "node-unusable", "disk-"
_OF_PODS = ("volume-held", "claim-shared")
_NO_DISK = "none of its disks does"
_NO_POD = "no pod is known"
_ATTENTION = (Severity.ERROR, Severity.WARNING)


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """What `status -o json` prints."""

    answer: str
    """In one line."""
    lines: Sequence[Finding]
    """How each part is; `remedies` has the commands that say more."""
    figures: Figures
    notes: Sequence[str]
    """What is not known."""

    @property
    def worst(self) -> Severity:
        """How bad the worst line is."""
        return _worst(self.lines)


def status_of(explainer: Explainer, seen: Seen | None) -> Status:
    """Look at all of a cluster; *seen* is who answers about pods, None if that is not known."""
    found = survey_of(explainer)
    nodes = node_figures(explainer.view, explainer.extender, explainer.utc)
    pods = pending_pods(explainer, explainer.cluster.candidates())
    claims = claims_by_volume(explainer.view.claims.values(), explainer.view)
    figures = figures_of(found, nodes, pods, explainer.view, claims)
    lines = [
        *([] if seen is None else [_extender(seen)]),
        _nodes(found, nodes, figures),
        _disks(found, nodes, figures),
        _volumes(found, figures),
        _pods(pods, figures, explainer),
        _held(found, explainer),
        _under_way(found, [*expanding(explainer.view, claims)]),
        _others(found),
    ]
    return Status(answer=_answer(lines), lines=lines, figures=figures, notes=found.notes)


def _answer(lines: Sequence[Finding]) -> str:
    bad = [each.check for each in lines if each.severity in _ATTENTION]
    if bad:
        need = "1 thing needs" if len(bad) == 1 else f"{len(bad)} things need"
        return f"{need} attention: {', '.join(bad)}"
    return "all is well" + (", as far as is known" if _worst(lines) is Severity.UNKNOWN else "")


def _worst(found: Iterable[Finding]) -> Severity:
    return min((each.severity for each in found), key=_ORDER.index, default=Severity.OK)


def _line(
    check: str, severity: Severity, text: str, objects: Sequence[str] = (), *more: str
) -> Finding:
    """Make a line; *more* are commands that say more, where it is not well."""
    is_well = severity in (Severity.OK, Severity.INFO)
    return Finding(
        check=check,
        severity=severity,
        text=text,
        objects=objects,
        remedies=() if is_well else [f"`{each}`" for each in more],
    )


def _extender(seen: Seen) -> Finding:
    def line(severity: Severity, text: str) -> Finding:
        return _line("extender", severity, text, (), "doctor")

    if seen.elsewhere:
        where = ", ".join(seen.elsewhere)
        text = f"not in {seen.namespace}; it is in {where}: EXTENDER_NAMESPACE says where to look"
        return line(Severity.UNKNOWN, text)
    parts, missing = (seen.lease, seen.config_map, seen.scheduler), seen.answering
    unread = " or ".join(each.what for each in parts if isinstance(each, Unread))
    is_there = any(not isinstance(each, Unread | None) for each in parts)
    if is_there and missing.why_nobody_leads:
        return line(Severity.ERROR, f"no instance leads: {missing.why_nobody_leads}")
    if seen.scheduler is not None and missing.why_no_scheduler:
        text = f"the second scheduler does not run: {missing.why_no_scheduler}"
        return line(Severity.ERROR, text)
    if unread:
        return line(Severity.UNKNOWN, f"not known: you cannot {unread}")
    if not isinstance(seen.lease, LeaseSeen):
        return line(Severity.OK, "not installed")
    beside = "no second scheduler" if seen.scheduler is None else "the second scheduler runs"
    return line(Severity.OK, f"pod {seen.lease.pod} leads; {beside}")


def _nodes(found: Survey, nodes: Sequence[NodeFigures], figures: Figures) -> Finding:
    bad = {each.name: each.problem or _NO_DISK for each in nodes if not each.takes_replicas}
    worst = _worst(findings_of(found, _OF_NODES))
    return _line(
        "nodes",
        worst if figures.nodes_that_take_replicas else Severity.ERROR,
        f"{figures.nodes_that_take_replicas} of {figures.nodes} take replicas",
        [f"{name} ({why})" for name, why in bad.items()],
        *(f"filter node/{name}" for name in [*bad][:1]),
    )


def _disks(found: Survey, nodes: Sequence[NodeFigures], figures: Figures) -> Finding:
    why = {f"{n.name}/{d.name}": d.problem for n in nodes for d in n.disks}
    findings = findings_of(found, _OF_DISKS)
    told = dict[str, str]()  # the worst of each disk
    for each in findings:
        for about in each.objects:
            is_in_words = each.code != "disk-unusable"
            told.setdefault(about, _in_words(each.code) if is_in_words else why[about])
    return _line(
        "disks",
        _worst(findings),
        f"{figures.disks_that_take_replicas} of {figures.disks} take replicas; "
        f"{gib(figures.scheduled_bytes)} of {gib(figures.limit_bytes)} GiB scheduled",
        [f"{about} ({text})" for about, text in told.items()],
        *(f"filter node/{about.partition('/')[0]}" for about in [*told][:1]),
    )


def _in_words(code: str) -> str:
    return code.partition("-")[2].replace("-", " ")


def _volumes(found: Survey, figures: Figures) -> Finding:
    findings = findings_of(found, *OF_VOLUMES)
    counts = {
        "healthy": figures.healthy,
        **{_in_words(code): getattr(figures, _in_words(code)) for code in reversed(OF_VOLUMES)},
        "being restored or copied": figures.filling,
        "detached": figures.detached,
    }
    states = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    objects = [f"{_in_words(each.code)} {about}" for each in findings for about in each.objects]
    return _line(
        "volumes",
        _worst(findings),
        f"{figures.volumes}{': ' if states else ''}{states}",
        objects,
        *(f"filter {_named(each.objects[0])}" for each in findings[:1]),
    )


def _named(about: str) -> str:
    """Return the name that `filter` takes of what a finding says of a volume."""
    name = about.partition(" ")[0]
    return f"pvc/{name}" if "/" in name else f"volume/{name}"


def _pods(found: PendingPods, figures: Figures, explainer: Explainer) -> Finding:
    unread = [name for kind, name in explainer.cluster.of(Unreadable) if kind == PODS.label]
    nowhere = [each for each in found.pods if not (each.fits or each.error)]
    unjudged = [each for each in found.pods if each.error]
    if not explainer.cluster.of(Pod) and not unread:
        return _line("pods", Severity.UNKNOWN, _NO_POD)
    text = f"{figures.waiting_pods} waiting for a node"
    text += f", {len(nowhere)} fitting nowhere" if nowhere else ""
    text += f", {len(unjudged)} not to be judged" if unjudged else ""
    text += f"; {len(unread)} cannot be read" if unread else ""
    severity = Severity.INFO if found.pods else Severity.OK
    if unjudged or unread:
        severity = Severity.WARNING
    if nowhere:
        severity = Severity.ERROR
    objects = [f"{each.pod} ({each.error or each.answer})" for each in (*nowhere, *unjudged)]
    first = [f"filter pod/{each.pod}" for each in (*nowhere, *unjudged)[:1]]
    return _line("pods", severity, text, objects, "filter", *first)


def _held(found: Survey, explainer: Explainer) -> Finding:
    if not explainer.cluster.of(Pod):
        return _line("held", Severity.UNKNOWN, _NO_POD)
    findings, objects = findings_of(found, *_OF_PODS), about_of(found, *_OF_PODS)
    text = "; ".join(each.text for each in findings)
    if findings and findings[0].code == "volume-held":
        more = f"filter pod/{objects[0].partition(' ')[0]}"
    else:
        more = "survey"
    nobody = "no pod is on a node without its volume"
    return _line("held", _worst(findings), text or nobody, objects, more)


def _under_way(found: Survey, expanded: Sequence[str]) -> Finding:
    moved = about_of(found, EVICTION)
    parts = [f"{count(len(moved), 'replica')} to be moved away"] if moved else []
    parts += [f"{count(len(expanded), 'volume')} being expanded"] if expanded else []
    severity = Severity.INFO if parts else Severity.OK
    text = ", ".join(parts) or "no eviction, no expansion"
    return _line("under way", severity, text, [*moved, *expanded])


def _others(found: Survey) -> Finding:
    """Count what the survey finds besides."""
    told = (_OF_NODES, _OF_DISKS, *OF_VOLUMES, *_OF_PODS, EVICTION)
    findings = [each for each in found.findings if not each.code.startswith(told)]
    text = count_line(findings) or "none found"
    return _line("other risks", _worst(findings), text, (), "survey")
