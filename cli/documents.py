"""One file, or stdin: its bytes, and the objects that its YAML or JSON has."""

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import yaml

from app.errors import InputError
from cli.archives import SIZE_LIMIT_BYTES, content_of, gunzipped
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
_BETWEEN = re.compile(rb"\}\r?\n\{")
"""Where one object ends and another one begins. Within one this cannot be: it would have a comma
there, and its texts have no end of line."""


class Undecoded(NamedTuple):
    """An object as it is in JSON, of which nothing is decoded before its kind is asked for."""

    origin: str
    text: msgspec.Raw
    inherited: Mapping[str, Any]
    """What its list says of it; what it says itself counts more."""

    def decoded(self) -> object:
        """Return all of it.

        Raises:
            InputError: It cannot be parsed.
        """
        try:
            [document] = _parse_json(bytes(self.text))
        except (ValueError, RecursionError) as error:
            raise InputError(f"{self.origin} cannot be parsed: {one_line(error)}") from error
        return {**self.inherited, **document} if isinstance(document, dict) else document


class _List(msgspec.Struct, rename="camel"):
    """What has items."""

    items: list[msgspec.Raw]
    api_version: Any = None
    kind: Any = None


_Outermost = list[msgspec.Raw] | _List | msgspec.Raw | None
"""What is decoded of a value: that of a list alone, whose items are not."""
_SEVERAL = msgspec.json.Decoder(list[msgspec.Raw] | _List | None)
_ONE = msgspec.json.Decoder(msgspec.Raw)


def load_documents(path: Path, loader: type[yaml.CSafeLoader] = Loader) -> list[tuple[str, object]]:
    """Read the objects of one YAML or JSON file, packed by gzip or not, each with file and index.

    Raises:
        InputError: There is no such file, or it cannot be read or parsed.
    """
    return [
        (origin, each.decoded() if isinstance(each, Undecoded) else each)
        for origin, each in documents_of(path, loader)
    ]


def documents_of(
    path: Path, loader: type[yaml.CSafeLoader] = Loader
) -> Iterator[tuple[str, object]]:
    """Read them one after another, those of JSON `Undecoded`."""
    content, most_values = gunzipped(path, read_bytes(path))
    return objects(name_of(path), suffix(path), content, loader, most_values)


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
            return content_of(file, limit_bytes)  # A pipe does not say how much comes.
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

    Those of JSON are `Undecoded`, unless it has what only Python's reader takes.

    Args:
        origin: Where the text comes from.
        suffix: `.json` for what is JSON. Anything else is JSON or YAML.
        text: The text.
        loader: Of YAML.
        most_values: More than so many values are refused.

    Raises:
        InputError: It cannot be parsed, or was cut off.
    """
    documents: Sequence[object]
    if suffix == ".json" or _MAY_BE_JSON.match(text):
        try:
            documents = _split_json(text, most_values) or _parse_json(text)
        except (ValueError, RecursionError) as error:
            if suffix == ".json":
                cut = _CUT if isinstance(error, json.JSONDecodeError) and _is_cut(error) else ""
                raise InputError(f"{origin} cannot be parsed: {one_line(error)}{cut}") from error
            documents = parse_yaml(origin, text, loader, most_values)
    else:
        documents = parse_yaml(origin, text, loader, most_values)
        for index, document in enumerate(documents):
            _check_whole(f"{origin}[{index}]", document)
    with progress("reading", len(text), counts=False) as count:
        for index, document in enumerate(documents):
            for each in _flattened(f"{origin}[{index}]", document):
                yield each
                if isinstance(each[1], Undecoded):
                    count(len(memoryview(each[1].text)))


def _split_json(text: bytes, most_values: int) -> list[_Outermost]:
    """Return the values of *text* undecoded; none if it has what `_parse_json` alone may read."""
    if most_values < sys.maxsize and sum(map(text.count, (b",", b"[", b"{"))) > most_values:
        raise too_many(most_values)
    places = [0, *(each.end() - 1 for each in _BETWEEN.finditer(text)), len(text)]
    try:
        return [_outermost(memoryview(text)[begin:end]) for begin, end in pairwise(places)]
    except (msgspec.DecodeError, RecursionError):
        return []


def _outermost(text: memoryview | msgspec.Raw) -> _Outermost:
    try:
        found: _Outermost = _SEVERAL.decode(text)
    except msgspec.ValidationError:
        found = _ONE.decode(text)
    return found


def _parse_json(text: bytes) -> list[object]:
    """Return the values of *text*, of which there may be some one after another."""
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
        part = _outermost(each) if isinstance(each, msgspec.Raw) else each
        yield from _listed(f"{origin}[{index}]", part)


def _listed(origin: str, document: object) -> Iterator[tuple[str, object]]:
    """Take apart what has items."""
    if document is None:
        return
    if isinstance(document, _List):
        inherited = _inherited(document.api_version, document.kind)
        for index, text in enumerate(document.items):
            where = f"{origin}.items[{index}]"
            yield where, Undecoded(where, text, inherited)
    elif isinstance(document, msgspec.Raw):
        yield origin, Undecoded(origin, document, {})
    elif isinstance(document, dict) and isinstance(document.get("items"), list):
        inherited = _inherited(document.get("apiVersion"), document.get("kind"))
        for index, item in enumerate(document["items"]):
            whole = {**inherited, **item} if isinstance(item, dict) else item
            yield f"{origin}.items[{index}]", whole
    else:
        yield origin, document


def _inherited(api_version: object, kind: object) -> Mapping[str, object]:
    """Return what the items of a typed list do not say themselves."""
    if isinstance(kind, str) and kind.endswith("List") and kind != "List":
        return {"apiVersion": api_version, "kind": kind.removesuffix("List")}
    return {}
