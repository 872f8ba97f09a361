"""One file, or stdin: its bytes, and the objects that its YAML or JSON has."""

import json
import re
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import yaml

from app.errors import InputError
from cli.archives import PIECE_BYTES, SIZE_LIMIT_BYTES, gunzipped, pieces
from cli.loader import (
    Counted,
    Loader,
    check_shape,
    number,
    too_many,
    without_collecting,
)
from cli.progress import progress
from cli.stdin import INPUT, name_of, read_input

SUFFIXES = frozenset({".yaml", ".yml", ".json"})
"""Of the files that are read of a folder, or an archive of one."""
_CUT = "; if it was cut off there, make it again"
_MAY_BE_JSON = re.compile(rb"(\xef\xbb\xbf)?\s*[{\[]")
_BLANKS = re.compile(r"[ \t\r\n]*")
_JSON = json.JSONDecoder(parse_float=number)


def load_documents(path: Path, loader: type[yaml.CSafeLoader] = Loader) -> list[tuple[str, object]]:
    """Read the objects of one YAML or JSON file, packed by gzip or not, each with file and index.

    Raises:
        InputError: There is no such file, or it cannot be read or parsed.
    """
    content, most_values = gunzipped(path, read_bytes(path))
    return list(objects(name_of(path), suffix(path), content, loader, most_values))


def suffix(path: Path) -> str:
    """Return the suffix of a file, without that of gzip."""
    return path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix


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
            return b"".join(islice(pieces(file), limit_bytes // PIECE_BYTES + 1))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error


def parse_yaml(
    origin: str,
    text: bytes,
    loader: type[yaml.CSafeLoader] = Loader,
    most_values: int = sys.maxsize,
) -> list[object]:
    """Return all documents of *text*, as Kubernetes reads their values.

    Raises:
        InputError: It is no YAML, is nested too deep, has a key twice, or too many values.
    """
    try:
        # It is parsed twice; then objects are made of it, which takes a third of the time.
        with without_collecting(), progress("reading", 3 * len(text), counts=False) as count:
            check_shape(Counted(text, count), most_values)
            return list(yaml.load_all(Counted(text, count), loader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = f" at line {mark.line + 1}" if mark else ""
        cut = _CUT if mark and mark.index >= len(text.decode(errors="replace").rstrip()) else ""
        raise InputError(f"{origin} is not YAML: {error.problem}{line}{cut}") from error
    except (ValueError, yaml.YAMLError, RecursionError) as error:
        raise InputError(f"{origin} cannot be parsed: {one_line(error)}") from error


def objects(
    origin: str,
    suffix: str,
    text: bytes,
    loader: type[yaml.CSafeLoader] = Loader,
    most_values: int = sys.maxsize,
) -> Iterator[tuple[str, object]]:
    """Read the objects of a text, each with where it comes from and its index.

    Args:
        origin: Where the text comes from.
        suffix: `.json` for what is JSON. Anything else is JSON or YAML.
        text: The text.
        loader: Of YAML.
        most_values: More than so many values are refused.

    Raises:
        InputError: It cannot be parsed, or was cut off.
    """
    if suffix == ".json" or _MAY_BE_JSON.match(text):
        try:
            documents = _parse_json(text, most_values)
        except (ValueError, RecursionError) as error:
            if suffix == ".json":
                cut = _CUT if isinstance(error, json.JSONDecodeError) and _is_cut(error) else ""
                raise InputError(f"{origin} cannot be parsed: {one_line(error)}{cut}") from error
            documents = parse_yaml(origin, text, loader, most_values)
    else:
        documents = parse_yaml(origin, text, loader, most_values)
        for index, document in enumerate(documents):
            _check_whole(f"{origin}[{index}]", document)
    for index, document in enumerate(documents):
        yield from _flattened(f"{origin}[{index}]", document)


def _parse_json(text: bytes, most_values: int) -> list[object]:
    """Return the values of *text*, of which there may be some one after another."""
    if sum(map(text.count, (b",", b"[", b"{"))) > most_values:
        raise too_many(most_values)
    given, end = text.decode(json.detect_encoding(text), "surrogatepass"), 0
    documents = list[object]()
    while end < len(given) or not documents:
        document, end = _JSON.raw_decode(given, _end_of_blanks(given, end))
        documents.append(document)
        end = _end_of_blanks(given, end)
    return documents


def one_line(error: Exception) -> str:
    """Return the text of an error in one line."""
    return " ".join(str(error).split())


def _end_of_blanks(text: str, begin: int) -> int:
    found = _BLANKS.match(text, begin)
    assert found
    return found.end()


def _is_cut(error: json.JSONDecodeError) -> bool:
    return error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated string")


def _check_whole(origin: str, document: object) -> None:
    """Refuse a List that was cut off: kubectl writes `kind` behind the items in YAML."""
    if (
        isinstance(document, dict)
        and {"apiVersion", "items"} <= document.keys() <= {"apiVersion", "items", "kind"}
        and document.get("kind") is None
    ):
        raise InputError(
            f"{origin} was cut off: it has items, and no kind behind them; make the file again, or "
            f"add `kind: List` if it is whole"
        )


def _flattened(origin: str, document: object) -> Iterator[tuple[str, object]]:
    """Take lists apart: an array, `kind: List`, a typed list such as NodeList, one without kind."""
    if not isinstance(document, list):
        yield from _listed(origin, document)
        return
    for index, each in enumerate(document):
        yield from _listed(f"{origin}[{index}]", each)


def _listed(origin: str, document: object) -> Iterator[tuple[str, object]]:
    """Take apart what has items."""
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
