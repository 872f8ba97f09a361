"""The JSON schema of what `overview -o json` prints.

`python -m app.cli.overview.schema PATH` writes it: docs/overview.schema.json.
"""

import json
import sys
from pathlib import Path
from typing import Any

import msgspec

from app.cli.overview.figures import Overview

_DRAFT = "https://json-schema.org/draft/2020-12/schema"


def schema() -> dict[str, Any]:
    """Return the schema. Programs must ignore fields that they do not know."""
    return {"$schema": _DRAFT, **msgspec.json.schema(Overview)}


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(schema(), indent=2) + "\n", encoding="utf-8")
