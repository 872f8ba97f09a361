"""The schemas in the documentation are the program's."""

import json
from pathlib import Path

import jsonschema
import pytest

from cli.schema import PRINTED, schema

DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.parametrize("command", PRINTED)
def test_the_documentation_has_the_schema_of_the_program(command):
    written = json.loads((DOCS / f"{command}.schema.json").read_text(encoding="utf-8"))

    assert written == json.loads(json.dumps(schema(command))), "run `make schema`"
    jsonschema.Draft202012Validator.check_schema(written)


def test_no_schema_is_left_over():
    assert {path.name.partition(".")[0] for path in DOCS.glob("*.schema.json")} == {*PRINTED}
