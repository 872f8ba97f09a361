"""What `filter` prints for people: the answer first, then the pod, then the nodes by reason."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from cli.catalogue import ERRORS
from cli.explaining.claims import ClaimReport
from cli.explaining.report import (
    Explanation,
    ReasonReport,
    SpreadReport,
    best_first,
    shows_every_disk,
)
from cli.pages import Form, Page
from cli.report import disk_lines, other_lines, score_text
from extender.explaining import Hindrance
from extender.verdicts import REASONS, ClusterChange
from longhorn import VolumeName
from planner.sizes import amount, short_amount

_TOLD_AS_WELL = ("pending_replicas", "volumes_do_not_fit")
_ABOUT_EXTENDER = ("does_not_ask", "opted_out", "of_daemon_set", "other_scheduler")
_FIRST_NODES = 3
"""Most nodes of one reason that are shown unless all are asked for."""


def lines(found: Explanation, form: Form) -> Iterator[str]:
    """Write the answer, what the pod asks for, notes, and the nodes with reasons and remedies."""
    page = _Page(found, form)
    colour = "green" if found.fits else "red"
    yield from page.text(f"pod {found.pod}: ", found.answer, colour=colour)
    yield from page.nearest()
    yield from page.help()
    if found.error:
        yield from page.text("  ", found.error)
        yield from page.action(ERRORS[found.error_code].action)
    yield from page.claims()
    yield from page.notes()
    yield from page.spreads()
    yield from page.accepted()
    yield from page.rejected()
    yield from page.excluded()
    yield from page.notes(about_extender=True)
    if found.nodes and page.shows_bars:
        yield "# scheduled  + what the pod would take  . logical headroom"


class _Page(Page):
    """The parts of the output, all about one explanation."""

    def __init__(self, found: Explanation, form: Form) -> None:
        super().__init__(form)
        self._found = found
        self._names = found.volume_names
        total = len(found.accepted) + len(found.reasons)
        self.shows_bars = shows_every_disk(total, all_nodes=form.all_nodes)
        """Whether each disk has its line."""

    def nearest(self) -> Iterator[str]:
        """Name the smallest change that would let the pod in, if no node takes it."""
        found = self._found
        short = [
            (each.short_bytes, name, each.short_disk)
            for name, each in found.reasons.items()
            if each.short_bytes is not None
        ]
        if short and not found.accepted:
            size_bytes, name, disk = min(short)
            yield from self.text("nearest: ", f"{short_amount(size_bytes)} short on {name}/{disk}")

    def help(self) -> Iterator[str]:
        """Write what would get the pod a node."""
        if self._found.remedies:
            yield from self.text("  ", "each of these would help, as tried here:")
            yield from self.remedies(self._found.remedies)

    def claims(self) -> Iterator[str]:
        """Write what the pod asks for, claim by claim."""
        namespace = self._found.pod.partition("/")[0]
        for each in self._found.claims:
            name = each.claim.removeprefix(f"{namespace}/")
            yield from self.text(f"  {name}  ", _asked(each, wide=self.form.wide))
            for selector in each.selectors:
                tags = ",".join(selector.tags)
                hint = f": {selector.hint}" if selector.hint else ""
                yield from self.text("    ", f"{selector.of} tags {tags} ({selector.source}){hint}")
            if each.replicas:
                yield from self.text("    ", f"replicas: {'; '.join(self._replicas(each))}")
            if each.error and each.error != self._found.error:
                yield from self.text("    ", each.error)

    def _replicas(self, claim: ClaimReport) -> Iterator[str]:
        for each in claim.replicas:
            name = f" ({each.name})" if self.form.wide else ""
            yield f"{each.node} {each.state}{name}" if each.node else f"{each.state}{name}"

    def notes(self, *, about_extender: bool = False) -> Iterator[str]:
        """Write what stands outside the disks; last, whether the extender is asked at all."""
        for each in self._found.notes:
            if (each.code in _ABOUT_EXTENDER) != about_extender:
                continue
            yield from self.text("note: ", each.text, colour="yellow")
            if not (self._found.remedies and each.code in [*Hindrance]):
                yield from self.action(each.action)

    def spreads(self) -> Iterator[str]:
        """Write where the replicas or shards would go that need not be on the pod's node."""
        in_shards = {each.volume for each in self._found.claims if each.shard_bytes}
        for each in self._found.spreads:
            if each.others:
                name = self._names[VolumeName(each.volume)]
                parts = "shards" if each.volume in in_shards else "replicas"
                yield from self.text(f"  {name}  ", f"{parts} would go to {_places(each)}")

    def accepted(self) -> Iterator[str]:
        """Write the nodes that fit, the best first."""
        shown = self._cut(best_first(self._found))
        for name in shown:
            score = score_text(self._found.scores[name])
            yield from self.text(f"{name}: ", f"accepted, {score}", colour="green")
            yield from self._disks(name)
        yield from self._more(len(self._found.accepted) - len(shown))

    def rejected(self) -> Iterator[str]:
        """Write the rejected nodes, by reason; of each reason the nearest to fitting first."""
        yield from self._grouped(self._found.reasons, self._rejected_node)

    def excluded(self) -> Iterator[str]:
        """Write the nodes that kube-scheduler itself leaves out, by reason."""
        yield from self._grouped(
            self._found.excluded,
            lambda *_: iter(()),
            start="excluded by kube-scheduler",
        )

    def _grouped(
        self,
        reasons: Mapping[str, ReasonReport],
        node_lines: Callable[[str, ReasonReport, str], Iterable[str]],
        start: str = "",
    ) -> Iterator[str]:
        groups: dict[tuple[str, str], list[str]] = {}
        for name, each in sorted(reasons.items(), key=_nearness):
            groups.setdefault((each.code, each.text), []).append(name)
        for (_, text), names in sorted(groups.items(), key=lambda group: -len(group[1])):
            shown = self._cut(names)
            prefix = (
                f"{', '.join(names)}: " if len(names) <= _FIRST_NODES else f"{len(names)} nodes: "
            )
            verdict = f"{start}: {text}" if start else text
            yield from self.text(prefix, verdict, colour="red")
            indent = "  " if len(names) > 1 else ""  # below the node's own line
            inner = {name: [*node_lines(name, reasons[name], indent)] for name in shown}
            for name in filter(inner.__getitem__, shown):
                if len(names) > 1:
                    yield f"  {name}"
                yield from inner[name]
            if not any(inner.values()) and len(names) > _FIRST_NODES:
                yield from self.text("  ", ", ".join(shown))
            yield from self._more(len(names) - len(shown))
            if not self._is_tried(reasons[names[0]]):
                yield from self.action(reasons[names[0]].action)

    def _rejected_node(self, name: str, reason: ReasonReport, indent: str) -> Iterator[str]:
        for detail in reason.details:
            yield from self.text("    ", detail)
        yield from self._disks(name, indent)
        refused = self._found.disks.get(name, {}) if self._is_about_disks(reason) else {}
        for disk, each in () if self.shows_bars else refused.items():
            yield from self.text(f"    {disk} ", each.text)

    def _is_tried(self, reason: ReasonReport) -> bool:
        """Whether what helps against it stands above."""
        if any(note.code == "strict_local_cut_off" for note in self._found.notes):
            return True  # no node will do, whatever is said of each
        is_tried = self._is_about_disks(reason) or reason.code == "too_few_replicas"
        return bool(self._found.remedies) and is_tried and reason.code not in _TOLD_AS_WELL

    @staticmethod
    def _is_about_disks(reason: ReasonReport) -> bool:
        return reason.code in REASONS and ClusterChange.DISKS in REASONS[reason.code].ended_by

    def _disks(self, name: str, indent: str = "") -> Iterator[str]:
        node = self._found.nodes.get(name)
        if node is None:
            return
        if self.shows_bars:
            whys = {disk: each.text for disk, each in self._found.disks.get(name, {}).items()}
            for line in disk_lines(node, whys, self._names):
                yield from self.text("", f"{indent}{line}")
        else:
            placed = (
                f"{self._names.get(volume, volume)} on {disk}"
                for volume, disk in node.assignment.items()
            )
            if text := ", ".join(placed):
                yield from self.text("    ", text)
        for line in other_lines(node):
            yield from self.text("", f"{indent}{line}")

    def _cut(self, names: Sequence[str]) -> Sequence[str]:
        return names if self.shows_bars else names[:_FIRST_NODES]

    def _more(self, count: int) -> Iterator[str]:
        if count > 0:
            yield f"  and {count} more: --all shows them"


def _nearness(item: tuple[str, ReasonReport]) -> tuple[float, str]:
    name, reason = item
    return (float("inf") if reason.short_bytes is None else reason.short_bytes), name


def _asked(claim: ClaimReport, *, wide: bool) -> str:
    size = amount(claim.size_bytes)
    of_class = f"class {claim.storage_class}" if claim.storage_class else "no class"
    if claim.state == "unusable":
        return f"cannot be used; {of_class}"
    if claim.state == "other":
        return f"{size}, {of_class}: not Longhorn's, so not judged"
    is_named = claim.state == "exists" or wide
    volume = f"volume {claim.volume}" if is_named else "new volume"
    replicas = "1 replica" if claim.wanted_replicas == 1 else f"{claim.wanted_replicas} replicas"
    if claim.shard_bytes:
        replicas = f"{claim.wanted_replicas} shards of {amount(claim.shard_bytes)} each"
    local = "one on the pod's node" if claim.local else "none has to be on the pod's node"
    parts = [size, of_class, volume, replicas, f"locality {claim.locality} ({local})"]
    if claim.actual_bytes:
        parts.append(f"holds {amount(claim.actual_bytes)} with its snapshots")
    if claim.disk_type != "filesystem":
        parts.append(f"{claim.disk_type} disks")
    if claim.backing_image:
        parts.append(f"backing image {claim.backing_image}")
    return ", ".join(parts)


def _places(spread: SpreadReport) -> str:
    places = [f"{spread.local} (the pod's node)"] if spread.local else []
    text = ", ".join([*places, *spread.others])
    return f"{text}; {spread.missing} find no place" if spread.missing else text
