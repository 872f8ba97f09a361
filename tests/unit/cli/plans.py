"""What tests of the command `plan` share."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples"
BUNDLE = str(EXAMPLES / "bundle")
WIKI = str(EXAMPLES / "plans" / "wiki.yaml")

Run = Callable[..., tuple[int, str, str]]
Golden = Callable[[str, str], None]
Complaints = Callable[[str, Iterable[str]], str]
Shown = Callable[..., tuple[int, str]]


def write(path: Path, *documents: object) -> str:
    """Write objects as one list; return the path."""
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": documents}))
    return str(path)
