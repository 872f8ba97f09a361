"""Write the tables of docs/ that are made from the catalogue: ``python -m supply.catalogue``.

Each stands between ``<!-- catalogue: TABLE, TABLE -->`` and ``<!-- /catalogue -->``. With --check
nothing is written, and the exit status is 1 if a page is not up to date.
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
    return _TABLE.sub(lambda found: found[1] + _rows(found[2]) + found[3], page)


def pages() -> Iterator[Path]:
    """Yield the pages that have such tables."""
    for page in sorted(DOCS.glob("*.md")):
        if _TABLE.search(page.read_text(encoding="utf-8")):
            yield page


def _rows(names: str) -> str:
    tables = [getattr(catalogue, name.strip().upper()) for name in names.split(",")]
    lines = [line for table in tables for line in _lines(table)]
    has_severity = tables == [RISKS]
    head = "| Code | Severity | What it means |\n|---|---|---|\n" if has_severity else _HEAD
    return head + "".join(lines)


def _lines(table: Table) -> Iterator[str]:
    for code, each in table.items():
        severity = f" {each.severity} |" if table is RISKS else ""
        yield f"| `{code}` |{severity} {each.meaning} |\n"


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
