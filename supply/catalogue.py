"""Write the tables of docs/ that are made from the catalogue: ``python -m supply.catalogue``.

Each stands between ``<!-- catalogue: TABLE, TABLE -->`` and ``<!-- /catalogue -->``. Below
``<!-- catalogue actions: TABLE -->`` rows begin by hand with a code, and get what to do. With
--check nothing is written, and the exit status is 1 if a page is not up to date.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from cli import catalogue
from cli.catalogue import RISKS, Table

DOCS = Path(__file__).parents[1] / "docs"
_TABLE = re.compile(r"(<!-- catalogue: ([^>]+) -->\n\n).*?(\n<!-- /catalogue -->)", re.DOTALL)


def written(page: str) -> str:
    """Return a page with its tables as the catalogue has them."""
    page = _TABLE.sub(lambda found: found[1] + _rows(found[2]) + found[3], page)
    return _ACTIONS.sub(lambda found: _with_actions(found[0], _table(found[1])), page)


def _with_actions(rows: str, table: Table) -> str:
    def row(found: re.Match[str]) -> str:
        entry = table[found[2]]
        return f"{found[1]} | {entry.meaning} {entry.action} |".replace("|  ", "| ")

    return _ROW.sub(row, rows)


def _table(name: str) -> Table:
    table: Table = getattr(catalogue, name.strip().upper())
    return table


def pages() -> Iterator[Path]:
    """Yield the pages that have such tables."""
    for page in sorted(DOCS.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        if _TABLE.search(text) or _ACTIONS.search(text):
            yield page


def _rows(names: str) -> str:
    tables = [_table(name) for name in names.split(",")]
    lines = [line for table in tables for line in _lines(table)]
    has_severity = tables == [RISKS]
    head = "| Code | Severity | What it means |\n|---|---|---|\n" if has_severity else _HEAD
    return head + "".join(lines)


def _lines(table: Table) -> Iterator[str]:
    for code, each in table.items():
        severity = f" {each.severity} |" if table is RISKS else ""
        yield f"| `{code}` |{severity} {each.meaning} |\n"


_ACTIONS = re.compile(r"<!-- catalogue actions: (\w+) -->.*?<!-- /catalogue -->", re.DOTALL)
_ROW = re.compile(r"^(\| `(\w+)`: (?:[^|])*?) \| .* \|$", re.MULTILINE)
_HEAD = "| Code | What it means |\n|---|---|\n"


def main() -> None:
    """Write the pages, or say which are not up to date."""
    is_check, stale = sys.argv[1:] == ["--check"], []
    for page in pages():
        before = page.read_text(encoding="utf-8")
        after = written(before)
        if after != before:
            stale.append(page.name)
            if not is_check:
                page.write_text(after, encoding="utf-8")
    if stale and is_check:
        sys.exit(f"not as the catalogue has it: {', '.join(stale)}; run python -m supply.catalogue")


if __name__ == "__main__":
    main()
