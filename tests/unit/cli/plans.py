"""What tests of commands share: files, rows in golden files, and errors."""

import json
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import yaml

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples"
BUNDLE = str(EXAMPLES / "bundle")
WIKI = str(EXAMPLES / "plans" / "wiki.yaml")
GOLDEN = Path(__file__).parent / "golden"

Run = Callable[..., tuple[int, str, str]]
Golden = Callable[[str, str], None]
Complaints = Callable[[str, Iterable[str]], str]
Shown = Callable[..., tuple[int, str]]


def questions(name: str) -> list[str]:
    """Return the rows of a golden file that are answered in it: those after `$` or `#`.

    A new row is a line there, and REWRITE_GOLDEN=1 writes the answer below it.
    """
    lines = (GOLDEN / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return [line[2:] for line in lines if line.startswith(("$ ", "# "))]


def rows_of(name: str) -> dict[str, tuple[str, str]]:
    """Return the rows of a golden file by name, `# name: fact` and what is given below it.

    What comes of it stands there up to the next row, and REWRITE_GOLDEN=1 writes it. A comment
    may stand behind what is given, after two blanks and `#`.
    """
    lines = (GOLDEN / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    found = [(n, re.fullmatch(r"# (\S+): (.*)", line)) for n, line in enumerate(lines)]
    return {row[1]: (row[2], lines[n + 1]) for n, row in found if row}


def objects_of(
    text: str, builders: Mapping[str, Any], words: Mapping[str, object]
) -> list[dict[str, Any]]:
    """Read `node + kept 1 + pod owner=null`: builders, and what each is given.

    A value is YAML, or one of *words*. A builder may be what is built, or a list of it.
    """
    found = list[dict[str, Any]]()
    for each in text.partition("  # ")[0].split(" + "):
        name, *given = shlex.split(each)
        plain, named = list[Any](), dict[str, Any]()
        for word in given:
            key, _, value = word.rpartition("=")
            read = words[value] if value in words else yaml.safe_load(value)
            if key:
                named[key] = read
            else:
                plain.append(read)
        built = builders[name]
        if callable(built):
            built = built(*plain, **named)
        found += built if isinstance(built, list) else [built]
    return found


def shown(value: object) -> str:
    """Write a record without what is as by default."""
    if isinstance(value, msgspec.Struct):
        fields = {each.name: each for each in msgspec.structs.fields(value)}
        given = {name: getattr(value, name) for name in fields}
        kept = {n: each for n, each in given.items() if each != _default_of(fields[n])}
        return f"{type(value).__name__}({', '.join(f'{n}={shown(v)}' for n, v in kept.items())})"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {shown(each)}" for key, each in value.items()) + "}"
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(map(shown, value))}]"
    return f"{{{', '.join(sorted(value))}}}" if isinstance(value, frozenset) else repr(value)


def _default_of(field: Any) -> object:
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    return field.default


def error(said: tuple[int, str, str]) -> str:
    """Return the only line on stderr, without its beginning, of what ended with status 2."""
    status, out, err = said
    assert (status, out, err[:7], err.count("\n")) == (2, "", "error: ", 1)
    return err.removeprefix("error: ").removesuffix("\n")


def write(path: Path, *documents: object) -> str:
    """Write objects as one list; return the path."""
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": documents}))
    return str(path)
