"""What answers for people have in common: lines of a width, what to do, and what would help."""

from collections.abc import Iterator, Sequence

import msgspec

from cli.catalogue import in_words
from cli.paragraphs import ANY_WIDTH, paragraph
from cli.remedies.remedy import RemedyReport

_ARROW = "-> "
_FEW_REMEDIES = 4


class Form(msgspec.Struct, frozen=True, kw_only=True):
    """How much to print."""

    width: int
    """Most characters of a line of text; names and figures are never broken."""
    all_nodes: bool = False
    """Every node with every disk, and every remedy."""
    wide: bool = False
    """Lines of any length, with the names of volumes and replicas in Longhorn."""


class Page:
    """The lines of one answer."""

    def __init__(self, form: Form) -> None:
        self.form = form

    def text(self, start: str, text: str, *, colour: str | None = None) -> Iterator[str]:
        """Break a text into lines; the later ones are indented as far as *start* is long."""
        width = ANY_WIDTH if self.form.wide else self.form.width
        yield from paragraph(start, text, width, colour=colour)

    def action(self, action: str, indent: str = "  ") -> Iterator[str]:
        """Write what to do, if anything."""
        if action and action != "Nothing.":
            yield from self.text(f"{indent}{_ARROW}", in_words(action), colour="cyan")

    def remedies(self, found: Sequence[RemedyReport], indent: str = "  ") -> Iterator[str]:
        """Write what would help, the least costly first."""
        shown = found if self.form.all_nodes else found[:_FEW_REMEDIES]
        for each in shown:
            yield from self.action(each.text, indent)
        if len(shown) < len(found):
            yield f"{indent}and {len(found) - len(shown)} more: --all shows them"
