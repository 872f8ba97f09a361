"""The documentation as its readers' programs see it: blocks of code, links, headings and tables."""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
REPORTS = ROOT / "benchmarks" / "reports"
PAGES = (
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")),
    ROOT / "benchmarks" / "README.md",
    ROOT / "packing" / "README.md",
    *sorted(REPORTS.rglob("*.md")),
    *(
        ROOT / "tests" / name
        for name in (
            "e2e/README.md",
            "simulation/README.md",
            "unit/planner/RULES.md",
        )
    ),
    ROOT / "charts" / "longhorn-scheduler-extender" / "README.md",
    *sorted(DOCS.rglob("*.md")),
)


class Heading(NamedTuple):
    """A heading and the name by which links reach it."""

    level: int
    text: str
    anchor: str


class Block(NamedTuple):
    """Code between fences, or indented code, which has no language."""

    page: Path
    line: int
    language: str
    text: str
    section: str
    """The anchor of the chapter it stands in (a heading of the second level), "" before the first.
    """

    @property
    def place(self) -> str:
        return f"{name_of(self.page)}:{self.line}"


def name_of(page: Path) -> str:
    """Return the page's path in the repository."""
    return page.relative_to(ROOT).as_posix()


@cache
def tokens(page: Path) -> tuple[Token, ...]:
    """Parse a page."""
    parser = MarkdownIt("commonmark").enable("table")
    return tuple(parser.parse(page.read_text(encoding="utf-8")))


@cache
def headings(page: Path) -> tuple[Heading, ...]:
    """Return a page's headings with their anchors as repository browsers make them."""
    found: list[Heading] = []
    seen: Counter[str] = Counter()
    for opening, inline in pairwise(tokens(page)):
        if opening.type == "heading_open":
            text = plain(inline)
            anchor = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
            again = f"-{seen[anchor]}" if seen[anchor] else ""
            seen[anchor] += 1
            found.append(Heading(int(opening.tag[1:]), text, anchor + again))
    return tuple(found)


def plain(inline: Token) -> str:
    """Return the text of a line without its markup."""
    return "".join(
        child.content for child in inline.children or () if child.type in {"text", "code_inline"}
    )


def blocks(page: Path) -> Iterator[Block]:
    """Go through the blocks of code."""
    left = iter(headings(page))
    section = ""
    for token in tokens(page):
        if token.type == "heading_open":
            heading = next(left)
            section = heading.anchor if heading.level == 2 else section
        elif token.type in {"fence", "code_block"}:
            line = token.map[0] + 1 if token.map else 0
            yield Block(page, line, token.info.strip(), token.content, section)


def inlines(page: Path, kind: str) -> Iterator[Token]:
    """Go through what stands within lines: `code_inline`, `link_open`, `image`."""
    for token in tokens(page):
        for child in token.children or ():
            if child.type == kind:
                yield child


def inline_code(page: Path) -> Iterator[str]:
    """Go through the code within lines."""
    return (token.content for token in inlines(page, "code_inline"))


def tables(page: Path, section: str) -> list[list[list[str]]]:
    """Return the tables of a chapter: rows of cells as they are written, without the header."""
    found: list[list[list[str]]] = []
    left = iter(headings(page))
    here, in_body = False, False
    for token in tokens(page):
        if token.type == "heading_open":
            heading = next(left)
            if heading.level <= 2:
                here = heading.anchor == section
        elif token.type in {"tbody_open", "tbody_close"}:
            in_body = token.type == "tbody_open"
            if here and in_body:
                found.append([])
        elif here and in_body and token.type == "tr_open":
            found[-1].append([])
        elif here and in_body and token.type == "inline":
            found[-1][-1].append(token.content)
    return found


def code_in(cell: str) -> list[str]:
    """Return what stands between backticks in a table's cell."""
    return re.findall(r"`([^`]+)`", cell)
