"""A Longhorn support bundle (rancher/support-bundle-kit), packed or not."""

import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePath, PurePosixPath

from app.errors import InputError
from cli.documents import BY_HAND, SIZE_LIMIT_BYTES, Loader, objects, one_line, pieces
from cli.stdin import INPUT, name_of

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
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
"""As bundles are packed. Of the others Python unpacks any amount at once."""
_FOLDER = "yamls"
ZIP_START = b"PK\x03\x04"
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
    places = [place_in_bundle(file) for file in files]
    return frozenset(place[1] for place in places if place[:1] == ("namespaced",) and place[2:])


def place_in_bundle(path: PurePath) -> tuple[str, ...]:
    """Return `cluster` or `namespaced` and what follows in the path of a file of a bundle."""
    parts = path.parts
    for at, folder in enumerate(parts[:-1], start=1):
        if folder == _FOLDER and parts[at] in ("cluster", "namespaced"):
            return parts[at:]
    return ()


def bundle(path: Path) -> Iterator[tuple[str, object]]:
    """Read the objects of a support bundle (rancher/support-bundle-kit): */yamls/**/*.yaml."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [
                member
                for member in archive.infolist()
                if _FOLDER in (file := PurePosixPath(member.filename)).parts
                and file.suffix == ".yaml"
            ]
            if not members:
                raise InputError(
                    f"{path} is a zip but no support bundle: it has no folder yamls; unpack it, "
                    f"and give the folder"
                )
            packed_bytes = path.stat().st_size
            left_bytes = min(SIZE_LIMIT_BYTES, _most_unpacked_bytes(packed_bytes))
            for member in members:
                origin = f"{path}:{member.filename}"
                text = _member(archive, member, origin, left_bytes)
                left_bytes -= len(text)
                packed = min(packed_bytes, member.compress_size)
                most_values = max(FEW_VALUES, VALUES_PER_BYTE * packed)
                yield from objects(origin, ".yaml", text, BundleLoader, most_values)
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
        raise InputError(f"{origin} is packed by a method that is not read; {BY_HAND}")
    if member.file_size > min(limit_bytes, _most_unpacked_bytes(member.compress_size)):
        raise InputError(
            f"{origin} unpacks to too much: a bundle may unpack to {SIZE_LIMIT_BYTES} B, and it "
            f"and each file in it to {RATIO_LIMIT} times its size; if you trust it, {BY_HAND}"
        )
    try:
        with archive.open(member) as file:
            # In pieces: all at once is unpacked first, and cut to the size it has then.
            return b"".join(pieces(file))
    except _ZIP_ERRORS as error:
        raise InputError(_not_unpacked(origin, error)) from error


def _most_unpacked_bytes(packed_bytes: int) -> int:
    return max(_SMALL_BYTES, RATIO_LIMIT * packed_bytes)


def _not_unpacked(origin: str, error: Exception) -> str:
    why = one_line(error)
    return f"{origin} cannot be unpacked: {why}; download or copy it again, or {BY_HAND}"


def refuse_archive(path: Path, content: bytes) -> None:
    """Raise InputError for what is packed in a way that is not read, and for a zip that is none."""
    if content.startswith(ZIP_START):
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


class BundleLoader(Loader):
    """Reads the YAML of support bundles, which print empty strings and nulls as "null"."""


BundleLoader.add_constructor(
    "tag:yaml.org,2002:str", lambda _, node: None if node.value == "null" else node.value
)
