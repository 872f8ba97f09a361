"""One file, or stdin: its bytes, and the objects that its YAML or JSON has."""

import json
import re
import sys
from collections.abc import Hashable, Iterator
from decimal import Decimal
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Any

import msgspec
import yaml

from app.errors import InputError
from cli.stdin import INPUT, name_of, read_input

SIZE_LIMIT_BYTES = 2**30
"""Most that is read of one file, or unpacked of one bundle."""
BY_HAND = "unpack it yourself and give the folder"
"""What to do with a bundle that is not read."""
_PIECE_BYTES = 2**20
_DEPTH_LIMIT = 200
_DIGITS_LIMIT = 30


def load_documents(path: Path) -> list[tuple[str, object]]:
    """Read the objects of one YAML or JSON file, each with its file and index.

    Raises:
        InputError: There is no such file, or it cannot be read or parsed.
    """
    content = read_bytes(path)
    return list(objects(name_of(path), suffix(path, content), content))


def in_namespace(document: object, namespace: str) -> object:
    """Return an object with a namespace, which is *namespace* if it names none."""
    metadata = document.get("metadata") if isinstance(document, dict) else None
    if (
        not isinstance(document, dict)
        or not isinstance(metadata, dict)
        or metadata.get("namespace")
    ):
        return document
    return {**document, "metadata": {**metadata, "namespace": namespace}}


def read_bytes(path: Path, limit_bytes: int = SIZE_LIMIT_BYTES) -> bytes:
    """Read one file, or stdin.

    Raises:
        InputError: There is no such file, it cannot be read, or it is too large.
    """
    content = read_input(limit_bytes) if path == INPUT else _read(path, limit_bytes)
    if len(content) > limit_bytes:
        raise InputError(f"{name_of(path)} is larger than {limit_bytes} B")
    return content


def _read(path: Path, limit_bytes: int) -> bytes:
    """Read one file, of a pipe a little more than the limit at most."""
    try:
        if path.stat().st_size > limit_bytes:
            raise InputError(f"{path} is larger than {limit_bytes} B")
        with path.open("rb") as file:
            # A pipe does not say how much comes: no more than one piece too many is read.
            return b"".join(islice(pieces(file), limit_bytes // _PIECE_BYTES + 1))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error


def pieces(file: IO[bytes]) -> Iterator[bytes]:
    """Go through a file in pieces, until its end."""
    return iter(partial(file.read, _PIECE_BYTES), b"")


def parse_yaml(origin: str, text: bytes) -> list[object]:
    """Return all documents of *text*, as Kubernetes reads their values.

    Raises:
        InputError: It is no YAML, is nested too deep, or has a key twice.
    """
    return _parsed(origin, ".yaml", text)


def suffix(path: Path, content: bytes) -> str:
    """Return the suffix of a file; of stdin that which its content has."""
    if path != INPUT:
        return path.suffix
    if content.lstrip()[:1] in (b"{", b"["):  # YAML may begin so, too
        try:
            msgspec.json.decode(content, type=msgspec.Raw)
        except (msgspec.DecodeError, RecursionError):
            return ".yaml"
        return ".json"
    return ".yaml"


def objects(
    origin: str,
    suffix: str,
    text: bytes,
    loader: type[yaml.CSafeLoader] | None = None,
    most_values: int = sys.maxsize,
) -> Iterator[tuple[str, object]]:
    """Read the objects of a text, each with where it comes from and its index.

    Args:
        origin: Where the text comes from.
        suffix: `.json`, or one of YAML.
        text: The text.
        loader: Of YAML, in place of `Loader`.
        most_values: More than so many values are refused.

    Raises:
        InputError: It cannot be parsed.
    """
    for index, document in enumerate(_parsed(origin, suffix, text, loader, most_values)):
        yield from _flattened(f"{origin}[{index}]", document)


def _parsed(
    origin: str,
    suffix: str,
    text: bytes,
    loader: type[yaml.CSafeLoader] | None = None,
    most_values: int = sys.maxsize,
) -> list[object]:
    try:
        if suffix == ".json":
            return [json.loads(text, parse_float=_number)]
        _check_shape(text, most_values)
        return list(yaml.load_all(text, loader or Loader))
    except yaml.MarkedYAMLError as error:
        line = f" at line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise InputError(f"{origin} is not YAML: {error.problem}{line}") from error
    except (ValueError, yaml.YAMLError, RecursionError) as error:
        raise InputError(f"{origin} cannot be parsed: {one_line(error)}") from error


def _check_shape(text: bytes, most_values: int) -> None:
    """Refuse what is nested so deep that the C parser, which recurses, would crash the process.

    And what has more than *most_values*, before all of them are in memory.
    """
    depth = values = 0
    for event in yaml.parse(text, yaml.CSafeLoader):
        values += isinstance(event, yaml.NodeEvent)
        if values > most_values:
            raise ValueError(f"it has more than {most_values} values; if you trust it, {BY_HAND}")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _DEPTH_LIMIT:
                raise ValueError(f"it is nested more than {_DEPTH_LIMIT} levels deep")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def one_line(error: Exception) -> str:
    """Return the text of an error in one line."""
    return " ".join(str(error).split())


def _flattened(origin: str, document: object) -> Iterator[tuple[str, object]]:
    """Take lists apart: `kind: List`, a typed list such as NodeList, or one without any kind."""
    if document is None:
        return
    if not (isinstance(document, dict) and isinstance(document.get("items"), list)):
        yield origin, document
        return
    kind = document.get("kind")
    inherited = {}
    if isinstance(kind, str) and kind.endswith("List") and kind != "List":
        inherited = {"apiVersion": document.get("apiVersion"), "kind": kind.removesuffix("List")}
    for index, item in enumerate(document["items"]):
        yield f"{origin}.items[{index}]", {**inherited, **item} if isinstance(item, dict) else item


def _number(text: str) -> int | float:
    """Read a number with a point or an exponent; a whole one is exact, as bundles print sizes."""
    try:
        value = Decimal(text)
        if value.adjusted() < _DIGITS_LIMIT and value == value.to_integral_value():
            return int(value)
    except ArithmeticError:
        pass  # an exponent beyond all bounds
    return float(text)


def _bool(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(f"{text!r} is neither true nor false")
    return text.lower() == "true"


class Loader(yaml.CSafeLoader):
    """Reads plain scalars as Kubernetes means them, and no tags of other types.

    YAML 1.1 would also make dates of times, base-60 numbers of PCI addresses, and a string of
    5e+09.
    """

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
    yaml_constructors = {
        f"tag:yaml.org,2002:{name}": constructor
        for name, constructor in {
            "null": lambda _, _node: None,
            "bool": lambda _, node: _bool(node.value),
            "int": lambda _, node: int(node.value),
            "float": lambda _, node: _number(node.value),
            "str": yaml.CSafeLoader.construct_scalar,
            "seq": yaml.CSafeLoader.construct_yaml_seq,
            "map": yaml.CSafeLoader.construct_yaml_map,
        }.items()
    } | {None: yaml.CSafeLoader.construct_undefined}

    def construct_mapping(
        self,
        node: yaml.MappingNode,
        deep: bool = False,  # noqa: FBT001, FBT002 (PyYAML's signature)
    ) -> dict[Hashable, Any]:
        """Refuse a key that is there twice, of which PyYAML would silently drop the first."""
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                raise yaml.constructor.ConstructorError(
                    problem=f"key {key.value!r} is there twice; is a line --- missing before it?",
                    problem_mark=key.start_mark,
                )
            seen.add(key.value if isinstance(key, yaml.ScalarNode) else id(key))
        return super().construct_mapping(node, deep)


for _tag, _pattern, _first in (
    ("bool", "true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("null", "~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("int", "[-+]?[0-9]+", list("-+0123456789")),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", list("-+.0123456789")),
    ("merge", "<<", ["<"]),
):
    Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^({_pattern})$"), _first)
