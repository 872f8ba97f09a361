"""What `filter` prints of a claim or a volume for people."""

from collections.abc import Iterator

from cli.catalogue import in_words
from cli.pages import Form, Page
from cli.paragraphs import table
from cli.volumes.report import PlaceReport, State, VolumeReport
from planner.sizes import gib

_NOWHERE = "no node takes it; each of these would help, as tried here:"
_FEW_NODES = 4
"""So many nodes that take no replica are shown for one reason, unless all are asked for."""


def volume_lines(found: VolumeReport, form: Form) -> Iterator[str]:
    """Write the answer, the replicas, what is lacking and why, the pods, and Longhorn's word."""
    page = _Page(found, form)
    what = f"claim {found.claim}" if found.claim else f"volume {found.volume}"
    good = found.done or found.state is State.OTHER_STORAGE
    yield from page.text(f"{what}: ", found.answer, colour="green" if good else "red")
    if found.action:
        yield from page.action(found.action)
    if found.volume:
        yield from page.text("  ", _is(found))
        yield from page.replicas()
    yield from page.held()
    yield from page.waiting()
    yield from page.nodes()
    yield from page.pods()
    yield from page.scheduled()


class _Page(Page):
    """The parts of the output, all about one volume."""

    def __init__(self, found: VolumeReport, form: Form) -> None:
        super().__init__(form)
        self._found = found

    def replicas(self) -> Iterator[str]:
        """Write a line for each replica."""
        rows = [
            (
                f"  {each.node}/{each.disk}" if each.node else "  not placed",
                f"{each.text} ({each.name})" if self.form.wide else each.text,
            )
            for each in self._found.replicas
        ]
        yield from table(rows) if rows else ()

    def held(self) -> Iterator[str]:
        """Write what holds the volume, and what ends that."""
        for each in self._found.held:
            yield from self.text("held: ", each.text, colour="yellow")
            yield from self.action(each.action)

    def waiting(self) -> Iterator[str]:
        """Write what the next replica waits for, and where it would go."""
        found = self._found
        if found.waiting is None:
            return
        yield from self.text("next replica: ", found.waiting.text, colour="yellow")
        yield from self.text("  ", in_words(found.waiting.meaning))
        if not found.remedies:
            yield from self.action(found.waiting.action)
        if found.next:
            yield from self.text("  ", f"it would go to {' or '.join(found.next)}", colour="green")
        elif found.nodes:
            yield from self.text(
                "  ", _NOWHERE if found.remedies else "no node takes it", colour="red"
            )
            yield from self.remedies(found.remedies)
        if found.in_the_way:
            yield from self.text("  ", found.in_the_way)

    def nodes(self) -> Iterator[str]:
        """Write what each node is to it, those of one reason together."""
        groups: dict[tuple[str, str], list[PlaceReport]] = {}
        for each in self._found.nodes:
            groups.setdefault((each.code, each.text), []).append(each)
        for (_, text), nodes in sorted(groups.items(), key=_usefulness):
            shown = nodes if self.form.all_nodes else nodes[:_FEW_NODES]
            more = f" and {len(nodes) - len(shown)} more" if len(shown) < len(nodes) else ""
            names = ", ".join(each.node for each in shown)
            colour = "green" if nodes[0].takes else "red"
            yield from self.text(f"{names}{more}: ", text, colour=colour)
            for each in shown:
                if len(nodes) > 1 and (each.details or each.disks):
                    yield f"  {each.node}"
                for detail in each.details:
                    yield from self.text("    ", detail)
                for disk, why in each.disks.items():
                    yield from self.text(f"    {disk}  ", why)
        if any(len(nodes) > _FEW_NODES for nodes in groups.values()) and not self.form.all_nodes:
            yield "  --all shows every node"

    def pods(self) -> Iterator[str]:
        """Write how the pods stand that use the volume."""
        for each in self._found.pods:
            where = f" on {each.node}" if each.node else ""
            yield from self.text(f"pod {each.pod}{where}: ", each.text)
            if each.action != self._found.action:
                yield from self.action(each.action)

    def scheduled(self) -> Iterator[str]:
        """Write Longhorn's own condition, and what to make of it."""
        found = self._found.scheduled
        if found is None:
            return
        said = ": ".join(filter(None, (found.reason, found.message)))
        yield from self.text(
            "Longhorn says: ", f"Scheduled {found.status}{f', {said}' * bool(said)}"
        )
        for each in found.meaning:
            yield from self.text("  ", each)
        if found.judgement:
            yield from self.text("  but ", found.judgement, colour="yellow")


def _usefulness(group: tuple[tuple[str, str], list[PlaceReport]]) -> tuple[bool, bool]:
    (code, _), nodes = group
    return code != "next", not nodes[0].takes


def _is(found: VolumeReport) -> str:
    parts = [f"volume {found.volume}"] if found.claim else []
    return ", ".join([*parts, f"{gib(found.size_bytes)} GiB", f"locality {found.locality}"])
