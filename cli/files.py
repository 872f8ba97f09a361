"""A cluster from files: YAML, JSON, a directory of them, or a Longhorn support bundle."""

import json
import re
import sys
import zipfile
import zlib
from collections.abc import Hashable, Iterator
from decimal import Decimal
from functools import partial
from itertools import islice
from pathlib import Path, PurePath, PurePosixPath
from typing import IO, Any

import msgspec
import yaml

from app.errors import BrokenObjectError, InputError
from app.kube.resource import Kinds
from cli.kube.cluster_objects import ClusterObjects
from cli.kube.documents import read_object
from cli.kube.resources import IN_FILES
from cli.stdin import INPUT, name_of, read_input
from longhorn import Unreadable

_SUFFIXES = frozenset({".yaml", ".yml", ".json"})
_SIZE_LIMIT_BYTES = 2**30
"""Most that is read of one file, or unpacked of one bundle."""
RATIO_LIMIT = 50
"""A bundle and each file in it unpack to at most so many times their size. YAML of Kubernetes is
some ten times its size, and twenty times where objects hardly differ."""
_SMALL_BYTES = 2**20
"""So much is unpacked whatever the ratio is."""
VALUES_PER_BYTE = 2
"""A file of a bundle has at most so many values, each of which takes some 350 B of memory, for each
byte that it is packed to. YAML of Kubernetes has less than one."""
FEW_VALUES = 100_000
"""So many are read in any case."""
_PIECE_BYTES = 2**20
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
"""As bundles are packed. Of the others Python unpacks any amount at once."""
_DEPTH_LIMIT = 200
_DIGITS_LIMIT = 30
_BUNDLE_FOLDER = "yamls"
_ZIP_START = b"PK\x03\x04"
_ARCHIVES = {b"\x1f\x8b": "gzip", b"\xfd7zXZ": "xz", b"BZh": "bzip2", b"7z\xbc\xaf": "7-Zip"}
"""What files begin with."""
_TAR, _TAR_AT = b"ustar", 257
"""What is in the first header of a tar, and where."""
_ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    OSError,
    EOFError,
    RuntimeError,  # encrypted
)


_BY_HAND = "unpack it yourself and give the folder"


def load_cluster(
    path: Path, *also: Path, kinds: Kinds = IN_FILES
) -> tuple[ClusterObjects, list[str]]:
    """Read all objects below *path* and below each of *also* that we use.

    Of an object that is below several of them the first one counts: what is added to a bundle is
    younger, and its objects belong together.

    Args:
        path: The first file or folder.
        also: More of them.
        kinds: Those to read.

    Returns:
        The objects, and a line for each that is broken or the second of its name, with its file
        and index; a single line for all that were there before. Such an object is left out.

    Raises:
        InputError: One of them does not exist, cannot be read or parsed, or holds no object of a
            kind we use.
    """
    cluster, problems = ClusterObjects(), list[str]()
    for each in (path, *also):
        problems += _load(each, cluster, kinds)
    return cluster, problems


def _load(path: Path, cluster: ClusterObjects, kinds: Kinds) -> list[str]:
    """Add what is below *path* and not in *cluster* yet; return what there is to complain of."""
    found, problems, again, used = ClusterObjects(), list[str](), list[str](), 0
    for origin, document in _documents(path):
        try:
            record = read_object(document, kinds)
        except BrokenObjectError as error:
            problems.append(f"{origin} {error}")
            continue
        if record is None:
            continue
        used += 1
        if isinstance(record, Unreadable):
            problems.append(f"{origin}: {record.kind} {record.name} cannot be read: {record.why}")
        if not found.add(record):
            problems.append(f"{origin} is the second {_name(document)}; the first one counts")
        elif not cluster.add(record):
            again.append(_name(document))
    if again:
        more = f" and {len(again) - 1} more" if len(again) > 1 else ""
        problems.append(
            f"{name_of(path)} has {again[0]}{more} again; those of the files before it count"
        )
    if not used:
        first = f" ({problems[0]})" if problems else ""
        raise InputError(
            f"{name_of(path)} holds no object of a cluster{first}; give Longhorn's Nodes, Volumes, "
            f"Replicas and Settings and the PVCs, PVs and StorageClasses, as `kubectl get -o yaml` "
            f"prints"
        )
    return problems


def bundled_namespaces(path: Path) -> frozenset[str]:
    """Return the namespaces that a support bundle has objects of; none if *path* is no bundle.

    Args:
        path: As given to `load_cluster`, which has read it: a bundle, packed or not, or another
            file or folder.
    """
    if path == INPUT:
        files: list[PurePath] = []
    elif path.is_dir():
        files = [file.absolute() for file in path.rglob("*.yaml")]
    elif path.is_file() and zipfile.is_zipfile(path):  # a pipe can be read once only
        with zipfile.ZipFile(path) as archive:
            files = [PurePosixPath(name) for name in archive.namelist()]
    else:
        files = []
    places = [_place_in_bundle(file) for file in files]
    return frozenset(place[1] for place in places if place[:1] == ("namespaced",) and place[2:])


def load_documents(path: Path) -> list[tuple[str, object]]:
    """Read the objects of one YAML or JSON file, each with its file and index.

    Raises:
        InputError: There is no such file, or it cannot be read or parsed.
    """
    content = read_bytes(path)
    return list(_objects(name_of(path), _suffix(path, content), content))


def _suffix(path: Path, content: bytes) -> str:
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


def read_bytes(path: Path, limit_bytes: int = _SIZE_LIMIT_BYTES) -> bytes:
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
            return b"".join(islice(_pieces(file), limit_bytes // _PIECE_BYTES + 1))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    return iter(partial(file.read, _PIECE_BYTES), b"")


def parse_yaml(origin: str, text: bytes) -> list[object]:
    """Return all documents of *text*, as Kubernetes reads their values.

    Raises:
        InputError: It is no YAML, is nested too deep, or has a key twice.
    """
    return _parsed(origin, ".yaml", text)


def _documents(path: Path) -> Iterator[tuple[str, object]]:
    try:
        if path != INPUT and path.is_dir():
            for file in sorted(path.rglob("*")):
                if file.suffix in _SUFFIXES and file.is_file():
                    yield from _file(file, read_bytes(file))
        elif path != INPUT and path.is_file() and zipfile.is_zipfile(path):
            yield from _bundle(path)
        else:
            content = read_bytes(path)
            if path == INPUT and content.startswith(_ZIP_START):
                raise InputError("the input is a zip; give its file")
            _refuse_archive(path, content)
            yield from _file(path, content)
    except OSError as error:  # a name too long, a folder that may not be read
        raise InputError(f"{path} cannot be read: {error.strerror}") from error


def _file(path: Path, content: bytes) -> Iterator[tuple[str, object]]:
    """Read the objects of one file, which may be of a bundle that was unpacked."""
    loader = _BundleLoader if _place_in_bundle(path.absolute()) else _Loader
    return _objects(name_of(path), _suffix(path, content), content, loader)


def _place_in_bundle(path: PurePath) -> tuple[str, ...]:
    """Return `cluster` or `namespaced` and what follows in the path of a file of a bundle."""
    parts = path.parts
    for at, folder in enumerate(parts[:-1], start=1):
        if folder == _BUNDLE_FOLDER and parts[at] in ("cluster", "namespaced"):
            return parts[at:]
    return ()


def _refuse_archive(path: Path, content: bytes) -> None:
    """Raise InputError for what is packed in a way that is not read, and for a zip that is none."""
    if content.startswith(_ZIP_START):
        raise InputError(f"{path} is a zip without its end; download or copy it again")
    for start, name in _ARCHIVES.items():
        if content.startswith(start):
            raise InputError(
                f"{name_of(path)} is packed by {name}; unpack it, and give the file or folder"
            )
    if content.startswith(_TAR, _TAR_AT):
        raise InputError(
            f"{name_of(path)} is packed by tar; unpack it, and give the file or folder"
        )
    if path.suffix == ".zip":
        raise InputError(
            f"{path} is not a zip; download the bundle again, or end its name in .yaml or .json "
            f"if it is that"
        )


def _bundle(path: Path) -> Iterator[tuple[str, object]]:
    """Read the objects of a support bundle (rancher/support-bundle-kit): */yamls/**/*.yaml."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [
                member
                for member in archive.infolist()
                if _BUNDLE_FOLDER in (file := PurePosixPath(member.filename)).parts
                and file.suffix == ".yaml"
            ]
            if not members:
                raise InputError(
                    f"{path} is a zip but no support bundle: it has no folder yamls; unpack it, "
                    f"and give the folder"
                )
            packed_bytes = path.stat().st_size
            left_bytes = min(_SIZE_LIMIT_BYTES, _most_unpacked_bytes(packed_bytes))
            for member in members:
                origin = f"{path}:{member.filename}"
                text = _member(archive, member, origin, left_bytes)
                left_bytes -= len(text)
                packed = min(packed_bytes, member.compress_size)
                most_values = max(FEW_VALUES, VALUES_PER_BYTE * packed)
                yield from _objects(origin, ".yaml", text, _BundleLoader, most_values)
    except _ZIP_ERRORS as error:
        raise InputError(_not_unpacked(str(path), error)) from error


def _member(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, origin: str, limit_bytes: int
) -> bytes:
    """Unpack one file of a bundle, piece by piece: no more than the bundle says it has.

    Args:
        archive: The bundle.
        member: The file.
        origin: Both, as errors name them.
        limit_bytes: What the bundle may still unpack to.

    Raises:
        InputError: It cannot be unpacked, or is too large for what it is packed to.
    """
    if member.compress_type not in _METHODS:
        raise InputError(f"{origin} is packed by a method that is not read; {_BY_HAND}")
    if member.file_size > min(limit_bytes, _most_unpacked_bytes(member.compress_size)):
        raise InputError(
            f"{origin} unpacks to too much: a bundle may unpack to {_SIZE_LIMIT_BYTES} B, and it "
            f"and each file in it to {RATIO_LIMIT} times its size; if you trust it, {_BY_HAND}"
        )
    try:
        with archive.open(member) as file:
            # In pieces: all at once is unpacked first, and cut to the size it has then.
            return b"".join(_pieces(file))
    except _ZIP_ERRORS as error:
        raise InputError(_not_unpacked(origin, error)) from error


def _most_unpacked_bytes(packed_bytes: int) -> int:
    return max(_SMALL_BYTES, RATIO_LIMIT * packed_bytes)


def _not_unpacked(origin: str, error: Exception) -> str:
    why = _one_line(error)
    return f"{origin} cannot be unpacked: {why}; download or copy it again, or {_BY_HAND}"


def _objects(
    origin: str,
    suffix: str,
    text: bytes,
    loader: type[yaml.CSafeLoader] | None = None,
    most_values: int = sys.maxsize,
) -> Iterator[tuple[str, object]]:
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
        return list(yaml.load_all(text, loader or _Loader))
    except yaml.MarkedYAMLError as error:
        line = f" at line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise InputError(f"{origin} is not YAML: {error.problem}{line}") from error
    except (ValueError, yaml.YAMLError, RecursionError) as error:
        raise InputError(f"{origin} cannot be parsed: {_one_line(error)}") from error


def _check_shape(text: bytes, most_values: int) -> None:
    """Refuse what is nested so deep that the C parser, which recurses, would crash the process.

    And what has more than *most_values*, before all of them are in memory.
    """
    depth = values = 0
    for event in yaml.parse(text, yaml.CSafeLoader):
        values += isinstance(event, yaml.NodeEvent)
        if values > most_values:
            raise ValueError(f"it has more than {most_values} values; if you trust it, {_BY_HAND}")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _DEPTH_LIMIT:
                raise ValueError(f"it is nested more than {_DEPTH_LIMIT} levels deep")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _one_line(error: Exception) -> str:
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


def _name(document: object) -> str:
    """Say the kind and name of an object that was read."""
    if not isinstance(document, dict):
        return "object"
    return f"{document['kind']} {document['metadata']['name']}"


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


class _Loader(yaml.CSafeLoader):
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


class _BundleLoader(_Loader):
    """Reads the YAML of support bundles, which print empty strings and nulls as "null"."""


for _tag, _pattern, _first in (
    ("bool", "true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("null", "~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("int", "[-+]?[0-9]+", list("-+0123456789")),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", list("-+.0123456789")),
    ("merge", "<<", ["<"]),
):
    _Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", re.compile(f"^({_pattern})$"), _first
    )
_BundleLoader.add_constructor(
    "tag:yaml.org,2002:str", lambda _, node: None if node.value == "null" else node.value
)
