"""What is packed: unpacked in memory, piece by piece, and no further than its size tells.

Nothing is written to disk, no link is followed, and no archive in an archive is opened.
"""

import gzip
import io
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, NamedTuple, Self

from app.errors import InputError
from cli.stdin import INPUT, name_of

SIZE_LIMIT_BYTES = 2**30
"""Most that is read of one file, or unpacked of one archive."""
RATIO_LIMIT = 50
"""An archive and each file in it unpack to at most so many times their size. YAML of Kubernetes is
some ten times its size, and twenty times where objects hardly differ."""
BY_HAND = "unpack it yourself, and give the file or folder"
"""What to do with what is not unpacked."""
_SMALL_BYTES = 2**20
"""So much is unpacked whatever the ratio is."""
VALUES_PER_BYTE = 2
"""A packed file has at most so many values, each of which takes some 350 B of memory, for each byte
that it is packed to. YAML of Kubernetes has less than one."""
FEW_VALUES = 100_000
"""So many are read in any case."""
_PIECE_BYTES = 2**20
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
"""As zips are packed. Of the others Python unpacks any amount at once."""
_GZIP = b"\x1f\x8b"
_NOT_READ = {
    b"PK\x03\x04": "zip",
    _GZIP: "gzip",
    b"\xfd7zXZ": "xz",
    b"BZh": "bzip2",
    b"7z\xbc\xaf": "7-Zip",
}
"""What begins so is not read in place of a text, nor in something packed."""
_TAR, _TAR_AT = b"ustar", 257
"""What is in the first header of a tar, and where."""
_ERRORS = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    OSError,
    EOFError,
    RuntimeError,  # encrypted
    ValueError,  # tarfile, of some damaged headers
)

_Stream = IO[bytes] | io.BufferedIOBase


class Member(NamedTuple):
    """A file of an archive."""

    name: str
    text: bytes
    most_values: int
    """More than so many values it may not have."""


def pieces(file: _Stream) -> Iterator[bytes]:
    """Go through a file in pieces, until its end."""
    return iter(partial(file.read, _PIECE_BYTES), b"")


def content_of(file: _Stream, limit_bytes: int = sys.maxsize) -> bytes:
    """Read a file until its end, or one piece beyond the limit; it is never in memory twice."""
    content = io.BytesIO()
    for piece in pieces(file):
        content.write(piece)
        if content.tell() > limit_bytes:
            break
    return content.getvalue()


def is_archive(path: Path) -> bool:
    """Say whether a path is that of a zip, or of a tar, packed by gzip or not."""
    if not path.is_file():  # a pipe can be read once only
        return False
    return _is_zip(path) or _is_tar(path)


def _is_zip(path: Path) -> bool:
    """Say whether it is a zip, and not another file that ends with one."""
    return _begins(path, b"PK") and zipfile.is_zipfile(path)


def _is_tar(path: Path) -> bool:
    opened = gzip.open if _begins(path, _GZIP) else Path.open
    try:
        with opened(path, "rb") as file:
            return file.read(tarfile.BLOCKSIZE).startswith(_TAR, _TAR_AT)
    except _ERRORS:
        return False


def _begins(path: Path, start: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(start)) == start


def names_in(path: Path) -> list[str]:
    """Return the names of the files of an archive.

    Raises:
        InputError: It cannot be unpacked.
    """
    if _is_zip(path):
        with _zip(path) as archive:
            return archive.namelist()
    with _tar(path) as archive:
        return [member.name for member in archive if member.isreg()]


def members_of(path: Path, wanted: Collection[str]) -> Iterator[Member]:
    """Unpack those files of an archive whose names are wanted, one after another.

    Raises:
        InputError: One cannot be unpacked, or is too large for what it is packed to.
    """
    size_bytes = path.stat().st_size
    if _is_zip(path):
        with _zip(path) as archive:
            yield from _zipped(path, archive, wanted, size_bytes)
    else:
        with _tar(path) as archive:
            yield from _in_tar(path, archive, wanted, size_bytes)


@contextmanager
def _zip(path: Path) -> Iterator[zipfile.ZipFile]:
    with _told(str(path)), zipfile.ZipFile(path) as archive:
        yield archive


def _zipped(
    path: Path, archive: zipfile.ZipFile, wanted: Collection[str], size_bytes: int
) -> Iterator[Member]:
    left_bytes = min(SIZE_LIMIT_BYTES, _most_unpacked_bytes(size_bytes))
    for member in archive.infolist():
        if member.filename not in wanted:
            continue
        origin = f"{path}:{member.filename}"
        if member.compress_type not in _METHODS:
            raise InputError(f"{origin} is packed by a method that is not read; {BY_HAND}")
        if member.file_size > min(left_bytes, _most_unpacked_bytes(member.compress_size)):
            raise _too_much(origin)
        with _told(origin), archive.open(member) as file:
            # In pieces: all at once is unpacked first, and cut to the size it has then.
            text = content_of(file)
        left_bytes -= len(text)
        yield Member(member.filename, text, _most_values(min(size_bytes, member.compress_size)))


class _Header(tarfile.TarInfo):
    """Ends a tar at the mark of its end alone, and not where it is cut or damaged."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        try:
            return super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            if buf == bytes(tarfile.BLOCKSIZE):
                raise
            raise tarfile.ReadError(str(error)) from error


class _Gzip(gzip.GzipFile):
    """What is packed by gzip, and is unpacked to a limit."""

    def __init__(self, origin: str, file: IO[bytes], limit_bytes: int) -> None:
        super().__init__(fileobj=file)
        self._origin, self._left_bytes = origin, limit_bytes

    def read(self, size: int | None = -1) -> bytes:
        piece = super().read(size)
        self._left_bytes -= len(piece)
        if self._left_bytes < 0:
            raise _too_much(self._origin)
        return piece


@contextmanager
def _tar(path: Path) -> Iterator[tarfile.TarFile]:
    """Open a tar as a stream: what its headers say can then lead to no loop."""
    with _told(str(path)), path.open("rb") as file:
        stream: _Stream = file
        if _begins(path, _GZIP):
            stream = _Gzip(str(path), file, _most_unpacked_bytes(path.stat().st_size))
        with tarfile.open(fileobj=stream, mode="r|", tarinfo=_Header) as archive:
            yield archive
        for _ in pieces(stream):  # at the end is the checksum
            pass


def _in_tar(
    path: Path, archive: tarfile.TarFile, wanted: Collection[str], size_bytes: int
) -> Iterator[Member]:
    most_values, left_bytes = sys.maxsize, size_bytes
    if _begins(path, _GZIP):
        most_values, left_bytes = _most_values(size_bytes), _most_unpacked_bytes(size_bytes)
    left_bytes = min(SIZE_LIMIT_BYTES, left_bytes)
    for member in archive:
        file = archive.extractfile(member) if member.isreg() and member.name in wanted else None
        if file is None:
            continue
        left_bytes -= member.size
        if left_bytes < 0:  # of a sparse file, which has less than its size
            raise _too_much(f"{path}:{member.name}")
        yield Member(member.name, content_of(file), most_values)


def gunzipped(path: Path, content: bytes) -> tuple[bytes, int]:
    """Unpack what is packed by gzip; return the content, and how many values it may have.

    Raises:
        InputError: It cannot be unpacked, is too large for what it is packed to, or is packed in
            another way.
    """
    most_values = sys.maxsize
    if content.startswith(_GZIP):
        most_values = _most_values(len(content))
        limit_bytes = min(SIZE_LIMIT_BYTES, _most_unpacked_bytes(len(content)))
        with _told(name_of(path)), _Gzip(name_of(path), io.BytesIO(content), limit_bytes) as file:
            content = content_of(file)
    _refuse_packed(path, content)
    return content, most_values


def _refuse_packed(path: Path, content: bytes) -> None:
    packers = [name for start, name in _NOT_READ.items() if content.startswith(start)]
    packer = "tar" if content.startswith(_TAR, _TAR_AT) else next(iter(packers), "")
    if path == INPUT and packer in ("zip", "tar"):
        raise InputError(f"the input is a {packer}; give its file")
    if packer == "zip" and not zipfile.is_zipfile(io.BytesIO(content)):
        raise InputError(f"{path} is a zip without its end; download or copy it again")
    if packer:
        raise InputError(
            f"{name_of(path)} is packed by {packer}; unpack it, and give the file or folder"
        )
    if path.suffix == ".zip":
        raise InputError(
            f"{path} is not a zip; download the bundle again, or end its name in .yaml or .json "
            f"if it is that"
        )


@contextmanager
def _told(origin: str) -> Iterator[None]:
    """Say of which file it is that it cannot be unpacked."""
    try:
        yield
    except _ERRORS as error:
        why = " ".join(str(error).split())
        if "encrypted" in why:  # zipfile says no more than that, and names its own object
            why = "it is encrypted"
        raise InputError(
            f"{origin} cannot be unpacked: {why}; download or copy it again, or {BY_HAND}"
        ) from error


def _most_unpacked_bytes(packed_bytes: int) -> int:
    return max(_SMALL_BYTES, RATIO_LIMIT * packed_bytes)


def _most_values(packed_bytes: int) -> int:
    return max(FEW_VALUES, VALUES_PER_BYTE * packed_bytes)


def _too_much(origin: str) -> InputError:
    return InputError(
        f"{origin} unpacks to too much: an archive may unpack to {SIZE_LIMIT_BYTES} B, and it and "
        f"each file in it to {RATIO_LIMIT} times its size; if you trust it, {BY_HAND}"
    )
