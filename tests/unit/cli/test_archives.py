"""What is packed by zip, tar and gzip: read as what it unpacks to, within bounds."""

import contextlib
import gzip
import io
import re
import stat
import struct
import tarfile
import zipfile
from collections.abc import Mapping
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.errors import InputError
from cli.bundles import bundled_namespaces
from cli.documents import load_documents
from cli.files import load_cluster
from cli.stdin import INPUT
from longhorn import NodeName
from planner.records import KubernetesNode
from tests.builders import bare_class, claim, disk, replica, setting
from tests.builders import node as longhorn_node
from tests.effort import examples
from tests.unit.cli.given_files import (
    BUNDLED,
    MEBIBYTE,
    YAMLS,
    node,
    nodes_of,
    peak_bytes,
    refusal,
)

Files = Mapping[str, str | bytes]


def in_zip(files: Files, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", compression) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return content.getvalue()


def bundle(files: Files, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Pack files as a support bundle has them."""
    return in_zip({f"{YAMLS}/{name}": text for name, text in files.items()}, compression)


def in_tar(files: Files, *more: tarfile.TarInfo) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for name, text in files.items():
            data = text.encode() if isinstance(text, str) else text
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
        for member in more:
            archive.addfile(member)
    return content.getvalue()


def in_tgz(files: Files) -> bytes:
    return in_gzip(in_tar(files))


def in_gzip(content: str | bytes) -> bytes:
    return gzip.compress(content.encode() if isinstance(content, str) else content, mtime=0)


PACKERS = pytest.mark.parametrize("pack", [in_zip, in_tar, in_tgz])
TWO = {"d/a.yaml": node("a"), "d/b.yml": node("b")}
UNPACK = "; unpack it, and give the file or folder"

SIZE = 10_737_418_240
PARAMETERS = {"dataLocality": "best-effort", "fromBackup": "", "numberOfReplicas": "3"}
UNKNOWN: dict[str, Any] = {"ready": None, "schedulable": None}
DISK = disk(
    uuid="uuid-1", filesystem="", reserved_bytes=5_000_000_000, available_bytes=6_397_024_534_528,
    maximum_bytes=7_681_501_126_656, listed={"vol-r-1": SIZE}, **UNKNOWN,
)  # fmt: skip
RECORDS = [
    claim(uid="u-1", storage_class="longhorn", size_bytes=5_000_000_000),
    bare_class("longhorn", parameters=PARAMETERS),
    longhorn_node("node-1", DISK, **UNKNOWN),
    replica("vol-r-1", on="", size_bytes=SIZE),
    setting("priority-class", ""),
    KubernetesNode(name=NodeName("node-1")),
]
"""What is read of `BUNDLED`: its numbers are exact, and the text "null" stands for nothing."""


@PACKERS
def test_a_support_bundle_is_read_however_it_is_packed(write, pack):
    """Its other files, which are no objects, are left alone."""
    top = YAMLS.removesuffix("/yamls")
    others = ("metadata.yaml", "x.log", "logs/longhorn-system/manager/yamls.log", "nodes/a.zip")
    objects = {f"{YAMLS}/{name}": text for name, text in BUNDLED.items()}
    path = write(pack({**objects, **{f"{top}/{name}": "a: [b" for name in others}}), "bundle")

    packed, problems = load_cluster(path)

    assert problems == []
    assert sorted(map(repr, packed.records())) == sorted(map(repr, RECORDS))
    assert bundled_namespaces(path) == {"default", "longhorn-system"}


def test_a_support_bundle_is_read_unpacked(write, tmp_path):
    for name, text in BUNDLED.items():
        write(text, f"unpacked/{YAMLS}/{name}")

    for folder in (tmp_path / "unpacked", tmp_path / "unpacked" / YAMLS):
        assert sorted(map(repr, load_cluster(folder)[0].records())) == sorted(map(repr, RECORDS))
        assert bundled_namespaces(folder) == {"default", "longhorn-system"}


def test_a_broken_object_in_a_bundle_is_named_with_file_and_index(write):
    broken = "kind: List\napiVersion: v1\nitems:\n- {}\n"
    path = write(bundle({"a.yaml": broken, "b.yaml": node("b")}), "b.zip")

    _, problems = load_cluster(path)

    assert problems == [f"{path}:{YAMLS}/a.yaml[0].items[0] has no apiVersion or no kind"]


READ: dict[str, tuple[Files, list[str]]] = {
    "folder": ({**TWO, "d/._a.yaml": b"\0\5\x16\7", "notes.txt": "a: [b",
        "d/c.json": '{"items": []}'}, ["a", "b"]),
    # They are not opened.
    "archives-in-it": ({"a.yaml": node("a"), "inner.zip": in_zip(TWO), "inner.tgz": in_tgz(TWO)},
        ["a"]),
}  # fmt: skip


@PACKERS
@pytest.mark.parametrize(("files", "nodes"), READ.values(), ids=READ)
def test_a_folder_is_read_however_it_is_packed(write, pack, files, nodes):
    path = write(pack(files), "folder")

    assert nodes_of(path) == nodes
    assert bundled_namespaces(path) == set()


@PACKERS
@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.txt", "x", " holds no object of a cluster"),
        ("inner.yaml", in_zip(TWO), ":inner.yaml "),  # it is no YAML, whatever it is called
    ],
)
def test_an_archive_without_objects_is_refused(write, pack, name, content, said):
    assert refusal(write(pack({name: content}), "b")).startswith(said)


GZIPPED: dict[str, tuple[dict[str, bytes], list[str]]] = {
    "yaml": ({"c.yaml.gz": in_gzip(node("a") + "---\n" + node("b"))}, ["a", "b"]),
    "json": ({"c.json.gz": in_gzip(
        '{"items": [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}]}')}, ["a"]),
    "name-without-a-kind": ({"c.gz": in_gzip(node("a"))}, ["a"]),
    "name-that-does-not-tell": ({"c": in_gzip(node("a"))}, ["a"]),
    "pieces-one-after-another":
        ({"c.yaml.gz": b"".join(map(in_gzip, (node("a"), "---\n", node("b"))))}, ["a", "b"]),
    "files-of-a-folder": ({"a.yaml.gz": in_gzip(node("a")), "b.yaml": node("b").encode(),
        "notes.txt.gz": in_gzip("a: [b")}, ["a", "b"]),
}  # fmt: skip


@pytest.mark.parametrize(("files", "nodes"), GZIPPED.values(), ids=GZIPPED)
def test_a_file_packed_by_gzip_is_read(write, files, nodes):
    paths = [write(content, f"folder/{name}") for name, content in files.items()]

    assert nodes_of(paths[0] if len(paths) == 1 else paths[0].parent) == nodes
    plain = write(gzip.decompress(files[paths[0].name]), "plain")
    found, expected = load_documents(paths[0]), load_documents(plain)
    assert [each for _, each in found] == [each for _, each in expected]


def test_the_input_may_be_packed_by_gzip_and_not_by_tar(monkeypatch):
    def given(content):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))

    given(in_gzip(node("a")))
    assert nodes_of(INPUT) == ["a"]
    for pack in (in_tar, in_tgz):
        given(pack(TWO))
        with pytest.raises(InputError, match=r"^the input is a tar; give its file$"):
            load_cluster(INPUT)


@pytest.mark.parametrize(("pack", "packer"), [(in_zip, "zip"), (in_tar, "tar"), (in_tgz, "tar")])
def test_an_archive_is_no_file_of_objects(write, pack, packer):
    path = write(pack(TWO))

    with pytest.raises(InputError) as caught:
        load_documents(path)

    assert str(caught.value) == f"{path} is packed by {packer}{UNPACK}"


@PACKERS
def test_nothing_is_written_wherever_a_member_leads(write, tmp_path, pack):
    names = ("../out.yaml", str(tmp_path / "out.yaml"), "a/../../out.yaml")
    path = write(pack({name: node(f"n{at}") for at, name in enumerate(names)}), "archive")

    assert nodes_of(path) == ["n0", "n1", "n2"]
    assert [*tmp_path.rglob("*")] == [path]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_only_files_of_a_tar_are_read(write, kind):
    link = tarfile.TarInfo("link.yaml")
    link.type, link.linkname = kind, str(write(node("secret"), "elsewhere.yaml"))

    assert nodes_of(write(in_tar({"a.yaml": node("a")}, link), "b.tar")) == ["a"]


@pytest.mark.parametrize("pack", [in_zip, in_tar, in_tgz, lambda files: in_gzip(files["a.yaml"])])
def test_what_is_cut_anywhere_is_refused(write, pack):
    """A tar ends at its first block of zeros."""
    content = pack({"a.yaml": node("a", "# " + "x" * 600), "b.yaml": node("b")})
    end = len(content.rstrip(b"\0")) if pack is in_tar else len(content)

    for length in range(1, end, 7):
        with pytest.raises(InputError):
            load_cluster(write(content[:length]))


def patched(archive: bytes, *, local: int, central: int, value: bytes) -> bytes:
    """Overwrite a field in both headers of a zip of one member."""
    content = bytearray(archive)
    directory = content.index(b"PK\x01\x02")
    content[local : local + len(value)] = value
    content[directory + central : directory + central + len(value)] = value
    return bytes(content)


ONE = bundle({"cluster/v1/nodes.yaml": node("a", "# " + "0123456789 abc " * 300)})
DATA = ONE.index(b"nodes.yaml") + len(b"nodes.yaml")
GARBAGE = bytes(byte ^ 0x55 for byte in ONE[DATA + 2 : DATA + 40])
DAMAGED = "download or copy it again"
BROKEN_TAR = in_tar(TWO).replace(b"d/b.yml", b"e/b.yml")
BAD_CHECKSUM = (
    " cannot be unpacked: bad checksum; download or copy it again, or unpack it yourself, "
    "and give the file or folder"
)
# Python unpacks such files without a bound.
OTHER_METHOD = " is packed by a method that is not read; unpack it yourself, and give the file or "
METHODS = {"by-bzip2": zipfile.ZIP_BZIP2, "by-lzma": zipfile.ZIP_LZMA, "by-unknown": 99}
REFUSED = {
    "not-yaml": (f":{YAMLS}/a.yaml is not YAML: ", bundle({"a.yaml": "a: 1\nb: ]\n"})),
    "garbage": (DAMAGED, ONE[: DATA + 2] + GARBAGE + ONE[DATA + 40 :]),
    "directory-missing": (DAMAGED, ONE.replace(b"PK\x01\x02", b"PK\x00\x00")),
    "cut-off": (DAMAGED, ONE[: len(ONE) // 3]),
    "encrypted": (DAMAGED, patched(ONE, local=6, central=8, value=b"\x01\x00")),
    **{name: (OTHER_METHOD, patched(ONE, local=8, central=10, value=struct.pack("<H", method)))
       for name, method in METHODS.items()},
    # A damaged header is not the end of a tar.
    "tar-with-a-damaged-header": (BAD_CHECKSUM, BROKEN_TAR),
    "tgz-with-a-damaged-header": (BAD_CHECKSUM, in_gzip(BROKEN_TAR)),
    "zip-in-gzip": (UNPACK, in_gzip(in_zip(TWO))),
    "gzip-in-gzip": (UNPACK, in_gzip(in_gzip(node("a")))),
}  # fmt: skip


@pytest.mark.parametrize(("said", "content"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_unpacked_is_refused(write, said, content):
    assert said in refusal(write(content, "packed"))


BLANKS = " " * (40 * MEBIBYTE)
BOMB = bundle({"bomb.yaml": BLANKS})
TOO_MUCH = "unpacks to too much: an archive may unpack to "
TRUST = "if you trust it, unpack it yourself, and give the file or folder"
TOO_MANY = f"cannot be parsed: it has more than 100000 values; {TRUST}"


def says_two_gibibytes() -> bytes:
    size = struct.pack("<I", 2**31 - 1)
    plain = bundle({"bomb.yaml": "x" * 100}, zipfile.ZIP_STORED)
    both = patched(plain, local=22, central=24, value=size)
    return patched(both, local=18, central=20, value=size)


def sparse(name: str, size: int) -> bytes:
    """Build the header of a file without data that says it is large, as GNU tar does of holes."""
    member = tarfile.TarInfo(name)
    member.type = tarfile.GNUTYPE_SPARSE
    header = bytearray(member.tobuf(tarfile.GNU_FORMAT))
    header[483:495] = b"%011o\0" % size
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header)


MANY = {f"{number}.yaml": "# " + "x" * 500_000 for number in range(40)}
BOUNDS: dict[str, tuple[int, str, bytes]] = {
    "gzip": (6, f" {TOO_MUCH}", in_gzip(BLANKS)),
    "tar": (6, f" {TOO_MUCH}", in_tgz({"bomb.yaml": BLANKS})),
    "tar-beside": (6, f" {TOO_MUCH}", in_tgz({"yamls/a.yaml": node("a"), "bomb.log": BLANKS})),
    "zip": (2, f":{YAMLS}/bomb.yaml {TOO_MUCH}",
        bundle({"a.yaml": node("a"), "bomb.yaml": BLANKS})),
    "zip-that-says-less": (4, "bomb.yaml cannot be unpacked: Bad CRC-32",
        patched(BOMB, local=22, central=24, value=struct.pack("<I", 100))),
    "zip-that-says-two-gibibytes":
        (2, f":{YAMLS}/bomb.yaml {TOO_MUCH}", says_two_gibibytes()),
    "files-small-alone": (32, f".yaml {TOO_MUCH}", bundle(MANY)),
    "holes": (2, f":holes.yaml {TOO_MUCH}", sparse("holes.yaml", 2**32) + in_tar(TWO)),
    # Each value takes a hundred times the memory of its text.
    "values": (4, f":{YAMLS}/a.yaml {TOO_MANY}", bundle({"a.yaml": "- a\n" * 200_000})),
    "items": (5, f" {TOO_MANY}", in_gzip("- a\n" * 200_000)),
    "numbers": (5, f" {TOO_MANY}", in_gzip("[" + "0," * 200_000 + "0]")),
    "mappings": (5, f" {TOO_MANY}", in_gzip("[" + "{}," * 200_000 + "0]")),
}  # fmt: skip
"""How many MiB it takes at most to refuse what is packed, and what is said of it."""


@pytest.mark.parametrize(("peak", "said", "content"), BOUNDS.values(), ids=BOUNDS)
def test_what_unpacks_to_more_than_its_size_tells_is_refused(write, peak, said, content):
    path = write(content, "bomb")

    text = refusal(path)

    assert said in text
    assert text.endswith(TRUST) or "CRC" in text
    assert peak_bytes(path) < peak * MEBIBYTE


def test_a_bundle_that_is_added_is_refused_the_same_way(write):
    first = write(node("a"))
    path = write(BOMB, "b.zip")

    with pytest.raises(InputError, match=f"^{re.escape(str(path))}:{YAMLS}/bomb.yaml {TOO_MUCH}"):
        load_cluster(first, path)

    assert peak_bytes(first, path) < 2 * MEBIBYTE


def test_a_bundle_with_a_bomb_beside_its_objects_is_no_bundle_to_ask_for_namespaces(write):
    """Only the names in it are read."""
    path = write(bundle({"namespaced/shop/v1/bomb.yaml": BLANKS}), "b.zip")

    assert bundled_namespaces(path) == {"shop"}


def test_files_of_a_bundle_are_unpacked_one_after_another(write):
    comment = "# " + "".join(Random(1).choices("0123456789abcdef", k=MEBIBYTE)) + "\n"
    names = [f"node-{number}" for number in range(12)]
    path = write(bundle({f"{name}.yaml": comment + node(name) for name in names}), "b.zip")

    assert sorted(nodes_of(path)) == sorted(names)
    assert peak_bytes(path) < 6 * MEBIBYTE


def test_thousands_of_tiny_files_in_a_bundle_are_read(write):
    names = [f"node-{number}" for number in range(2_000)]
    path = write(bundle({f"{name}.yaml": node(name) for name in names}), "b.zip")

    assert len(nodes_of(path)) == 2_000


def test_a_link_in_a_bundle_is_not_followed(write):
    link = zipfile.ZipInfo(f"{YAMLS}/link.yaml")
    link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    content = io.BytesIO(bundle({"a.yaml": node("a")}))
    with zipfile.ZipFile(content, "a") as archive:
        archive.writestr(link, str(write(node("secret"), "elsewhere.yaml")))

    cluster, problems = load_cluster(write(content.getvalue(), "b.zip"))

    assert (list(cluster.of(KubernetesNode)), len(problems)) == (["a"], 1)


@settings(
    max_examples=examples(200),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    pack=st.sampled_from([in_zip, in_tar, in_tgz]),
    where=st.floats(0, 1, exclude_max=True),
    by=st.binary(min_size=1, max_size=20),
)
def test_damage_is_an_error_or_changes_what_is_read(tmp_path, pack, where, by):
    content = pack(TWO)
    begin = int(len(content) * where)
    path = tmp_path / "damaged"
    path.write_bytes(content[:begin] + by + content[begin + len(by) :])

    with contextlib.suppress(InputError):
        assert len(load_cluster(path)[0].of(KubernetesNode)) >= 1
        bundled_namespaces(path)
