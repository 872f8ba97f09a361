"""What is packed by zip, tar and gzip: read as what it unpacks to, within bounds."""

import contextlib
import gzip
import io
import tarfile
import zipfile
from collections.abc import Callable, Mapping

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.errors import InputError
from cli.bundles import bundled_namespaces
from cli.documents import load_documents
from cli.files import load_cluster
from cli.stdin import INPUT
from planner.records import KubernetesNode
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


def in_zip(files: Files) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return content.getvalue()


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
    return gzip.compress(in_tar(files), mtime=0)


def in_gzip(text: str | bytes) -> bytes:
    assert isinstance(text, str)
    return gzip.compress(text.encode())


PACKERS = pytest.mark.parametrize("pack", [in_zip, in_tar, in_tgz])
TARS = pytest.mark.parametrize("pack", [in_tar, in_tgz])
Pack = Callable[[Files], bytes]
TWO = {"d/a.yaml": node("a"), "d/b.yml": node("b")}


@PACKERS
def test_a_support_bundle_is_read_however_it_is_packed(write, tmp_path, pack):
    """Its other files are left alone, and its text "null" is no name."""
    bundle = {f"{YAMLS}/{name}": text for name, text in BUNDLED.items()}
    path = write(pack({**bundle, "top/metadata.yaml": "a: [b", "top/x.log": "a: [b"}), "bundle")
    for name, text in bundle.items():
        write(text, f"unpacked/{name}")

    (packed, problems), (unpacked, _) = load_cluster(path), load_cluster(tmp_path / "unpacked")

    assert problems == []
    assert sorted(map(repr, packed.records())) == sorted(map(repr, unpacked.records()))
    assert bundled_namespaces(path) == {"default", "longhorn-system"}


@PACKERS
def test_a_folder_is_read_however_it_is_packed(write, pack):
    more: Files = {"d/._a.yaml": b"\0\5\x16\7", "notes.txt": "a: [b", "d/c.json": '{"items": []}'}
    path = write(pack({**TWO, **more}), "folder")

    assert nodes_of(path) == ["a", "b"]
    assert bundled_namespaces(path) == set()


@PACKERS
def test_an_archive_of_nothing_to_read_holds_no_object(write, pack):
    assert " holds no object of a cluster" in refusal(write(pack({"a.txt": "x"}), "b"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("c.yaml.gz", node("a") + "---\n" + node("b")),
        ("c.json.gz",
            '{"items": [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}]}'),
        ("c.gz", node("a")),
        ("c", node("a")),
    ],
)  # fmt: skip
def test_a_file_packed_by_gzip_is_read(write, name, text):
    path = write(gzip.compress(text.encode()), f"folder/{name}")
    plain = write(text, f"plain/{name.removesuffix('.gz')}")

    assert nodes_of(path) == nodes_of(plain)
    assert [each for _, each in load_documents(path)] == [each for _, each in load_documents(plain)]


def test_a_file_packed_by_gzip_in_a_folder_is_read(write):
    write(gzip.compress(node("a").encode()), "folder/a.yaml.gz")
    folder = write(node("b"), "folder/b.yaml").parent
    write(gzip.compress(b"a: [b"), "folder/notes.txt.gz")

    assert nodes_of(folder) == ["a", "b"]


def test_pieces_that_are_packed_one_after_another_are_one_file(write):
    parts = [gzip.compress(text.encode()) for text in (node("a"), "---\n", node("b"))]

    assert nodes_of(write(b"".join(parts), "c.yaml.gz")) == ["a", "b"]


def test_the_input_may_be_packed_by_gzip(monkeypatch):
    packed = io.BytesIO(gzip.compress(node("a").encode()))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(packed))

    assert nodes_of(INPUT) == ["a"]


@TARS
def test_a_tar_has_to_be_a_file(monkeypatch, pack):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(pack(TWO))))

    with pytest.raises(InputError, match=r"^the input is a tar; give its file$"):
        load_cluster(INPUT)


@pytest.mark.parametrize(("pack", "packer"), [(in_zip, "zip"), (in_tar, "tar"), (in_tgz, "tar")])
def test_an_archive_is_no_file_of_objects(write, pack, packer):
    path = write(pack(TWO))

    with pytest.raises(InputError) as caught:
        load_documents(path)

    assert str(caught.value) == (
        f"{path} is packed by {packer}; unpack it, and give the file or folder"
    )


@pytest.mark.parametrize("pack", [in_zip, lambda files: in_gzip(files["d/a.yaml"])])
def test_what_is_packed_twice_is_refused(write, pack):
    path = write(gzip.compress(pack(TWO)), "c.yaml.gz")

    assert "; unpack it, and give the file or folder" in refusal(path)


@PACKERS
def test_an_archive_in_an_archive_is_not_opened(write, pack):
    path = write(pack({"a.yaml": node("a"), "inner.zip": in_zip(TWO), "inner.tgz": in_tgz(TWO)}))

    assert nodes_of(path) == ["a"]


@PACKERS
def test_an_archive_that_is_called_yaml_is_no_yaml(write, pack):
    assert refusal(write(pack({"inner.yaml": in_zip(TWO)}))).startswith(":inner.yaml ")


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


@TARS
def test_a_damaged_header_is_not_the_end_of_a_tar(write, pack):
    content = bytearray(in_tar(TWO))
    content[content.index(b"d/b.yml")] ^= 1
    packed = bytes(content) if pack is in_tar else gzip.compress(content)

    assert refusal(write(packed)) == (
        " cannot be unpacked: bad checksum; download or copy it again, or unpack it yourself, and "
        "give the file or folder"
    )


BLANKS = " " * (40 * MEBIBYTE)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(gzip.compress(BLANKS.encode()), id="file"),
        pytest.param(in_tgz({"bomb.yaml": BLANKS}), id="in-tar"),
        pytest.param(in_tgz({"yamls/a.yaml": node("a"), "bomb.log": BLANKS}), id="beside"),
    ],
)
def test_what_unpacks_to_fifty_times_its_size_is_refused(write, content):
    path = write(content, "bomb")

    assert " unpacks to too much: an archive may unpack to " in refusal(path)
    assert peak_bytes(path) < 6 * MEBIBYTE


def sparse(name: str, size: int) -> bytes:
    """Build the header of a file without data that says it is large, as GNU tar does of holes."""
    member = tarfile.TarInfo(name)
    member.type = tarfile.GNUTYPE_SPARSE
    header = bytearray(member.tobuf(tarfile.GNU_FORMAT))
    header[483:495] = b"%011o\0" % size
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header)


def test_holes_in_a_file_of_a_tar_are_not_filled(write):
    path = write(sparse("holes.yaml", 2**32) + in_tar(TWO), "b.tar")

    assert refusal(path).startswith(":holes.yaml unpacks to too much: ")
    assert peak_bytes(path) < 2 * MEBIBYTE


@pytest.mark.parametrize(
    "text", ["- a\n" * 200_000, "[" + "0," * 200_000 + "0]", "[" + "{}," * 200_000 + "0]"]
)
def test_more_values_than_the_packed_size_tells_are_refused(write, text):
    path = write(gzip.compress(text.encode()), "c.yaml.gz")

    assert refusal(path).endswith(
        "it has more than 100000 values; if you trust it, unpack it yourself, and give the file or "
        "folder"
    )
    assert peak_bytes(path) < 5 * MEBIBYTE


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
