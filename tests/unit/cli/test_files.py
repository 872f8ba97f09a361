"""Clusters from files: every form kubectl and Longhorn write, and clear errors for the rest."""

import io
import json
import re
import stat
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest

from app.errors import InputError
from cli.bundles import bundled_namespaces
from cli.documents import load_documents
from cli.files import load_cluster
from extender.kubernetes import Claim, ClaimKey
from longhorn import Node, NodeName, Setting
from planner.records import KubernetesNode
from tests.builders import bare_class, claim, disk, replica, setting
from tests.builders import node as longhorn_node
from tests.unit.cli.given_files import (
    BUNDLED,
    MEBIBYTE,
    YAMLS,
    Write,
    node,
    nodes_of,
    peak_bytes,
    refusal,
)

ROOT = Path(__file__).parents[3]
REAL = ROOT / "tests" / "data" / "real"
LONGHORN = f"{YAMLS}/namespaced/longhorn-system/longhorn.io/v1beta2"


def bundle(
    files: Mapping[str, str | bytes], compression: int = zipfile.ZIP_DEFLATED, folder: str = YAMLS
) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", compression) as archive:
        for name, text in files.items():
            archive.writestr(f"{folder}/{name}" if folder else name, text)
    return content.getvalue()


TWO = [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}} for name in "ab"]
BARE = [{"metadata": {"name": name}} for name in "ab"]
FORMS = {
    "documents": ("c.yaml", "---\n---\n" + node("a") + "...\n---\n# x\n---\n" + node("b")),
    "list": ("c.yaml", f"items: {TWO}\napiVersion: v1\nkind: List\n"),
    "typed-list": ("c.yaml", f"apiVersion: v1\nkind: NodeList\nitems: {BARE}\n"),
    "list-without-kind": ("c.yaml", f"items: {TWO}\n"),
    "json": ("c.json", json.dumps({"apiVersion": "v1", "kind": "NodeList", "items": BARE})),
    "json-without-suffix": ("c", json.dumps({"items": TWO}, indent="\t")),
    "windows-line-ends": ("c.yaml", (node("a") + "---\n" + node("b")).replace("\n", "\r\n")),
    "byte-order-mark": ("c.yaml", "\ufeff" + node("a") + "---\n" + node("b")),
    "byte-order-mark-json": ("c.json", "\ufeff" + json.dumps({"items": TWO})),
    "json-one-after-another": ("c.json", "".join(json.dumps({"items": [x]}, indent=1)
        for x in TWO)),
    "json-lines": ("c.yaml", "".join(json.dumps(each) + "\n" for each in TWO)),
    "json-array": ("c.json", json.dumps(TWO)),
    "json-array-of-lists": ("c", json.dumps([{"kind": "List", "items": [each]} for each in TWO])),
    "yaml-array": ("c.yml", f"- {TWO[0]}\n- {TWO[1]}\n"),
    "json-without-kind": ("c.json", json.dumps({"apiVersion": "v1", "items": TWO})),
    "json-with-marks": ("c.yaml", json.dumps(TWO[0]) + "\n---\n" + json.dumps(TWO[1])),
}  # fmt: skip


@pytest.mark.parametrize(("name", "text"), FORMS.values(), ids=FORMS.keys())
def test_every_form_of_a_file_is_read(write, name, text):
    assert nodes_of(write(text, name)) == ["a", "b"]


LAUGHS = "".join(
    f"  l{level}: &l{level} [{', '.join([f'*l{level - 1}'] * 9)}]\n" for level in range(1, 40)
)
ALIASES = """meta: &meta {name: a, labels: {x: y}}
---
apiVersion: v1
kind: List
items:
- &first {apiVersion: v1, kind: Node, metadata: &m {name: b}}
- <<: *first
  metadata: {<<: *m, name: a}
"""
ODD: dict[str, tuple[str, str | bytes]] = {
    "aliases-and-merge-keys": ("c.yaml", ALIASES),
    "object-that-contains-itself":
        ("c.yaml", node("a", "spec: &spec {again: *spec, all: [*spec, *spec]}\n")),
    "aliases-of-aliases": ("c.yaml", node("a", f"spec:\n  l0: &l0 [x]\n{LAUGHS}")),
    "values-many-and-not-packed": ("c.yaml", "x: [" + "a, " * 150_000 + "]\n---\n" + node("a")),
    "archive-in-a-bundle-is-not-opened": ("b.zip",
        bundle({"a.yaml": node("a"), "inner.zip": bundle({"a.yaml": node("inner")})})),
    # No float can hold them.
    **{f"number-1e{exponent}-{form}": (f"c.{form}",
        f'{{"apiVersion":"v1","kind":"Node","metadata":{{"name":"a"}},"x": 1e{exponent}}}')
        for exponent in (400, 999_999_999, 10**20, -(10**20)) for form in ("yaml", "json")},
}  # fmt: skip


@pytest.mark.parametrize(("name", "content"), ODD.values(), ids=ODD)
def test_an_odd_file_is_read(write, name, content):
    cluster, problems = load_cluster(write(content, name))

    assert [*cluster.of(KubernetesNode)] == (["b", "a"] if content == ALIASES else ["a"])
    assert [each for each in problems if "has no apiVersion" not in each] == []


def test_items_of_a_typed_list_of_longhorns_are_longhorns(write):
    path = write(
        "apiVersion: longhorn.io/v1beta2\nkind: NodeList\nitems:\n- {metadata: {name: a}}\n"
    )

    cluster, problems = load_cluster(path)

    assert (list(cluster.of(Node)), list(cluster.of(KubernetesNode)), problems) == (["a"], [], [])


def test_a_directory_is_read_in_order_of_names_with_all_below_it(write):
    write(node("c"), "d/c.yaml")
    write(node("a"), "d/a.yml")
    write('{"apiVersion":"v1","kind":"Node","metadata":{"name":"b"}}', "d/b/deep/x.json")
    write("not: [read", "d/notes.txt")
    path = write("not: [read", "d/README.md").parent

    assert nodes_of(path) == ["a", "b", "c"]


def test_the_error_about_a_file_in_a_directory_names_the_file(write):
    path = write("a: [", "d/broken.yaml")

    with pytest.raises(InputError) as caught:
        load_cluster(path.parent)

    assert str(caught.value).startswith(f"{path} is not YAML: ")


def test_the_second_object_of_a_name_is_left_out_and_named(write):
    path = write(
        "apiVersion: v1\nkind: List\nitems:\n"
        "- {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: x},"
        " spec: {volumeName: first}}\n"
        "- {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: x},"
        " spec: {volumeName: second}}\n"
        "- {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: x, namespace: other}}\n"
        "- {apiVersion: v1, kind: PersistentVolume, metadata: {name: x}}\n"
    )

    cluster, problems = load_cluster(path)

    assert (cluster.of(Claim)[ClaimKey("default/x")].persistent_volume, len(cluster.of(Claim))) == (
        "first",
        2,
    )
    assert problems == [
        f"{path}[0].items[1] is the second PersistentVolumeClaim x; the first one counts"
    ]


def test_files_are_added_to_each_other_and_the_first_of_a_name_counts(write):
    text = "apiVersion: longhorn.io/v1beta2\nkind: Setting\nmetadata: {{name: {}}}\nvalue: '{}'\n"
    first = write(text.format("a", "1"), "first.yaml")
    second = write("---\n".join(text.format(name, "2") for name in "abc"), "second.yaml")
    third = write(text.format("b", "3") + "---\n" + text.format("c", "3"), "third.yaml")

    cluster, problems = load_cluster(first, second, third)

    assert {each.name: each.value for each in cluster.of(Setting).values()} == {
        "a": "1",
        "b": "2",
        "c": "2",
    }
    assert problems == [
        f"{second} has Setting a again; those of the files before it count",
        f"{third} has Setting b and 1 more again; those of the files before it count",
    ]


def test_a_file_that_is_added_must_have_objects(write):
    first, second = write(node("a"), "first.yaml"), write("x: y\n", "second.yaml")

    with pytest.raises(InputError, match=f"^{second} holds no object of a cluster"):
        load_cluster(first, second)


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        ("5", " is int, not an object"),
        ("{apiVersion: v1, kind: Node}", " is a Kubernetes Node without a name"),
        ("{apiVersion: longhorn.io/v1beta2, kind: Volume, metadata: {name: v}, spec: {size: many}}",
            ": Volume v cannot be read: 'many' is not a size in bytes"),
    ],
)  # fmt: skip
def test_a_broken_object_is_named_with_file_and_index_and_the_rest_is_read(write, broken, problem):
    path = write(
        f"{node('a')}---\nkind: List\napiVersion: v1\nitems:\n"
        f"- {{apiVersion: v1, kind: Node, metadata: {{name: b}}}}\n- {broken}\n"
    )

    cluster, problems = load_cluster(path)

    assert (list(cluster.of(KubernetesNode)), problems) == (
        ["a", "b"],
        [f"{path}[1].items[1]{problem}"],
    )


@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        ("2026-11-21T03:00:00Z", "2026-11-21T03:00:00Z"),
        ("0000:06:00.0", "0000:06:00.0"),
        ("12:30:45", "12:30:45"),
        ("1_000", "1_000"),
        (".inf", ".inf"),
        ("1e5x", "1e5x"),
        ("'5'", "5"),
        ("null", None),
        ("true", True),
        ("-12", -12),
        ("5e+09", 5_000_000_000),
        ("6.397024534528e+12", 6_397_024_534_528),
        ("9.007199254740993e+15", 9_007_199_254_740_993),
        ("1.0", 1),
        ("1.5", 1.5),
    ],
)
def test_plain_scalars_mean_what_kubernetes_means(write, scalar, value):
    [(_, document)] = load_documents(write(f"value: {scalar}\n"))

    assert isinstance(document, dict)
    assert (document["value"], type(document["value"])) == (value, type(value))


FEW = "l0: &l0 {" + ", ".join(f"k{number}: x" for number in range(100)) + "}\n"


@pytest.mark.parametrize(
    "bomb",
    [
        pytest.param("".join(f"l{level}: &l{level} {{<<: [{', '.join([f'*l{level - 1}'] * 9)}]}}\n"
            for level in range(1, 12)), id="merges-of-merges"),
        pytest.param(f"x: {{<<: [{', '.join(['*l0'] * 2_000)}]}}\n", id="a-long-list"),
        pytest.param("x:\n" + "- {<<: *l0}\n" * 2_000, id="many"),
    ],
)  # fmt: skip
def test_merge_keys_that_take_over_too_much_are_refused_by_line(write, bomb):
    path = write(FEW + bomb)

    text = refusal(path)

    assert text.startswith(" is not YAML: << takes over more than 100000 keys in all at line ")
    assert peak_bytes(path) < 16 * MEBIBYTE


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("cluster.yaml", "cannot be read: No such file or directory"),
        ("a" * 300, "cannot be read: File name too long"),
        ("", "holds no object of a cluster; give"),
    ],
    ids=["absent", "long-name", "empty-folder"],
)
def test_a_path_that_leads_to_nothing_is_named(tmp_path, name, why):
    assert refusal(tmp_path / name).startswith(f" {why}")


DUMP = """apiVersion: v1
items:
- apiVersion: v1
  kind: Node
  metadata:
    annotations:
      said: "it's: here"
    name: a
- apiVersion: v1
  kind: Node
  metadata:
    name: b
    uid: 'x'
kind: List
metadata:
  resourceVersion: ""
"""
"""As kubectl writes it, with the keys in order."""
LAST_ITEM = len(DUMP.partition("kind: List")[0])


def test_a_dump_that_is_cut_is_refused_or_has_all_items(write):
    for end in range(len(DUMP)):
        path = write(DUMP[:end])
        try:
            cluster, problems = load_cluster(path)
        except InputError:
            assert end < len(DUMP)
        else:
            assert (end > LAST_ITEM, [*cluster.of(KubernetesNode)], problems) == (
                True, ["a", "b"], [],
            )  # fmt: skip


@pytest.fixture
def support_bundle(write: Write) -> Path:
    """A bundle as the support-bundle-kit writes it, with things in it that are no objects."""
    top = YAMLS.removesuffix("/yamls")
    files = {f"{YAMLS}/{name}": text for name, text in BUNDLED.items()} | {
        f"{top}/metadata.yaml": "projectName: Longhorn\nkind: [not, an, object\n",
        f"{top}/bundleGenerationError.log": "error: x\n",
        f"{top}/logs/longhorn-system/manager/yamls.log": "a: [b\n",
        f"{top}/nodes/node-1.zip": "PK",
    }
    return write(bundle(files, folder=""), "supportbundle.zip")


def test_a_support_bundle_is_read_packed_or_not(support_bundle, tmp_path):
    """Its numbers are exact, and the text "null" stands for nothing."""
    packed, problems = load_cluster(support_bundle.rename(support_bundle.with_suffix("")))
    for name, text in BUNDLED.items():
        file = tmp_path / "unpacked" / YAMLS / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    unpacked, _ = load_cluster(tmp_path / "unpacked")
    size = 10_737_418_240

    expected: list[Any] = [
        claim(uid="u-1", storage_class="longhorn", size_bytes=5_000_000_000),
        bare_class(
            "longhorn",
            parameters={"dataLocality": "best-effort", "fromBackup": "", "numberOfReplicas": "3"},
        ),
        longhorn_node(
            "node-1",
            disk(
                uuid="uuid-1",
                filesystem="",
                ready=None,
                schedulable=None,
                reserved_bytes=5_000_000_000,
                available_bytes=6_397_024_534_528,
                maximum_bytes=7_681_501_126_656,
                listed={"vol-r-1": size},
            ),
            ready=None,
            schedulable=None,
        ),
        replica("vol-r-1", on="", size_bytes=size),
        setting("priority-class", ""),
        KubernetesNode(name=NodeName("node-1")),
    ]
    assert problems == []
    assert sorted(map(repr, packed.records())) == sorted(map(repr, expected))
    assert sorted(map(repr, unpacked.records())) == sorted(map(repr, expected))


@pytest.mark.parametrize(
    "given",
    [
        "yamls",
        "yamls/namespaced",
        "yamls/namespaced/longhorn-system/longhorn.io/v1beta2/nodes.yaml",
    ],
)
def test_a_part_of_a_bundle_is_read_as_the_whole(tmp_path, given):
    """Its text "null" is no name of a zone."""
    file = tmp_path / "yamls" / "namespaced/longhorn-system/longhorn.io/v1beta2/nodes.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(BUNDLED["namespaced/longhorn-system/longhorn.io/v1beta2/nodes.yaml"])

    cluster, _ = load_cluster(tmp_path / given)

    assert [each.zone for each in cluster.of(Node).values()] == [""]


def test_namespaces_of_a_bundle_are_known_packed_or_not(support_bundle, tmp_path):
    for name in BUNDLED:
        file = tmp_path / "unpacked" / YAMLS / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()

    expected = {"default", "longhorn-system"}
    assert bundled_namespaces(support_bundle) == expected
    assert bundled_namespaces(tmp_path / "unpacked") == expected
    assert bundled_namespaces(tmp_path / "unpacked" / Path(YAMLS)) == expected


def test_what_is_no_bundle_has_no_namespaces_of_one(write):
    file = write(node("a"), "folder/namespaced/default/nodes.yaml")

    assert bundled_namespaces(file) == bundled_namespaces(file.parents[2]) == frozenset()


def test_the_error_in_a_bundle_names_the_file_in_it(write):
    path = write(bundle({"cluster/v1/nodes.yaml": "a: 1\nb: ]\n"}), "b.zip")

    assert refusal(path).startswith(f":{YAMLS}/cluster/v1/nodes.yaml is not YAML: ")


def test_a_broken_object_in_a_bundle_is_named_with_file_and_index(write):
    path = write(
        bundle({"a.yaml": "kind: List\napiVersion: v1\nitems:\n- {}\n", "b.yaml": node("b")}),
        "b.zip",
    )

    _, problems = load_cluster(path)

    assert problems == [f"{path}:{YAMLS}/a.yaml[0].items[0] has no apiVersion or no kind"]


def patched(archive: bytes, *, local: int, central: int, value: bytes) -> bytes:
    """Overwrite a field in both headers of an archive of one member."""
    content = bytearray(archive)
    directory = content.index(b"PK\x01\x02")
    content[local : local + len(value)] = value
    content[directory + central : directory + central + len(value)] = value
    return bytes(content)


ONE = bundle({"cluster/v1/nodes.yaml": node("a", "# " + "0123456789 abc " * 300)})
DATA = ONE.index(b"nodes.yaml") + len(b"nodes.yaml")
GARBAGE = bytes(byte ^ 0x55 for byte in ONE[DATA + 2 : DATA + 40])


DEEP, CUT = "[" * 100_000 + "]" * 100_000, json.dumps({"items": TWO})
DAMAGED = "download or copy it again"
METHODS = {"by-bzip2": zipfile.ZIP_BZIP2, "by-lzma": zipfile.ZIP_LZMA, "by-unknown": 99}
REFUSED: dict[str, dict[str, tuple[str, str | bytes]]] = {
    "holds no object of a cluster": {
        "empty": ("c.yaml", ""),
        "null": ("c.json", "null"),
        "text": ("c.yaml", "hello\n"),
        "list-empty": ("c.yaml", "kind: List\napiVersion: v1\nitems: []\n"),
        "another-kind": ("c.yaml", "kind: Secret\napiVersion: v1\n"),
    },
    " at line ": {
        "bracket-open": ("c.yaml", "a: 1\nb: [2\n"),
        "tab": ("c.yaml", "a: 1\n\tb: 2\n"),
        "python-tag": ("c.yaml", "a: 1\nb: !!python/object/apply:os.abort []\n"),
        "key-a-list": ("c.yaml", "a: 1\nb:\n  ? [x]\n  : y\n"),
        "merge-of-a-number": ("c.yaml", "a: 1\nb: {<<: 5}\n"),
        "key-twice": ("c.yaml", "kind: List\nitems: []\nkind: List\nitems: []\n"),
    },
    "c": {
        "control-characters": ("c.yaml", bytes(range(256))),
        "latin": ("c.yaml", b"a: b\xe9\n"),
        "number-long": ("c.yaml", "a: " + "9" * 5_000),
        "bool-odd": ("c.yaml", "a: !!bool maybe"),
        "int-odd": ("c.yaml", "a: !!int x"),
        "timestamp": ("c.yaml", "a: !!timestamp 2001-99-99"),
        "deep": ("c.yaml", DEEP),
    },
    " was cut off: it has items, and no kind behind them; make the file again, or add "
    "`kind: List` if it is whole": {
        f"{before}-{after}": ("c.yaml", start + DUMP[:LAST_ITEM] + end)
        for before, start in {"alone": "", "second": node("c") + "---\n",
                              "empty-first": "---\n# x\n---\n"}.items()
        for after, end in {"items": "", "kind": "kind:\n"}.items()
    },
    "; if it was cut off there, make it again": {
        "in-a-text": ("c.yaml", DUMP[: DUMP.index("'x'") + 2]),
        "in-a-key": ("c.yaml", DUMP[: DUMP.index("    name") + 7]),
        "in-a-key-after-letters": ("c.yaml", "é: é\n" + DUMP[: DUMP.index("    name") + 7]),
        "json": ("c.json", CUT[:-1]),
        "json-indented": ("c.json", json.dumps({"items": TWO}, indent=1)[:-4]),
        "json-second": ("c.json", CUT + '\n{"items": ['),
        "json-array": ("c.json", json.dumps(TWO)[:-6]),
        "json-empty": ("c.json", ""),
    },
    DAMAGED: {
        "garbage": ("b.zip", ONE[: DATA + 2] + GARBAGE + ONE[DATA + 40 :]),
        "directory-missing": ("b.zip", ONE.replace(b"PK\x01\x02", b"PK\x00\x00")),
        "cut-off": ("b.zip", ONE[: len(ONE) // 3]),
        "encrypted": ("b.zip", patched(ONE, local=6, central=8, value=b"\x01\x00")),
    },
    " is not a zip; download the bundle again, or end its name": {
        "page": ("b.zip", "<!DOCTYPE html>"),
        "nothing": ("b.zip", ""),
        "yaml": ("b.zip", node("a")),
    },
    "; unpack it": {
        "xz": ("b", b"\xfd7zXZ\x00"),
        "bzip2": ("b.yaml.bz2", b"BZh9"),
        "7-zip": ("b.7z", b"7z\xbc\xaf\x27\x1c"),
    },
    # Python unpacks such files without a bound.
    " is packed by a method that is not read; unpack it yourself, and give the file or folder": {
        name: ("b.zip", patched(ONE, local=8, central=10, value=struct.pack("<H", method)))
        for name, method in METHODS.items()
    },
}  # fmt: skip
"""Files, below what is said of each of them."""


def test_a_file_that_cannot_be_used_is_refused_in_one_line(write, golden):
    text = ""
    for said, files in REFUSED.items():
        for name, (file, content) in files.items():
            path = write(content, file)
            found = refusal(path)
            assert said in found, (name, found)
            if said != DAMAGED:  # in the words of the library that unpacks
                text += f"# {name}\n{file}{found.replace(str(path), file)}\n"

    golden("files-refused", text)


@pytest.mark.parametrize(
    ("content", "why"),
    [(b'{"a":"\xff"}', "utf-8"), (DEEP, "recursion depth"), ('{"a": x}', ""), ("[1] x", "")],
)
def test_json_that_cannot_be_parsed_is_refused_in_one_line(write, content, why):
    assert why in refusal(write(content, "c.json"))
    assert "cut off" not in refusal(write(content, "c.json"))


def test_an_error_before_the_end_is_not_of_a_file_that_is_cut(write):
    assert "cut off" not in refusal(write("a: ]\nb: 1\n"))


def test_a_bundle_that_unpacks_to_more_than_the_limit_is_refused_unread(write):
    size = struct.pack("<I", 2**31 - 1)
    plain = bundle({"nodes.yaml": "x" * 100}, zipfile.ZIP_STORED)
    content = patched(
        patched(plain, local=22, central=24, value=size), local=18, central=20, value=size
    )

    text = refusal(write(content, "b.zip"))

    assert text.startswith(f":{YAMLS}/nodes.yaml unpacks to too much: ")
    assert text.endswith("; if you trust it, unpack it yourself, and give the file or folder")


BOMB = " " * (40 * MEBIBYTE)


def test_a_file_of_a_bundle_that_unpacks_to_fifty_times_its_size_is_refused_unread(write):
    path = write(bundle({"a.yaml": node("a"), "bomb.yaml": BOMB}), "b.zip")

    assert refusal(path).startswith(f":{YAMLS}/bomb.yaml unpacks to too much: an archive may ")
    assert peak_bytes(path) < 2 * MEBIBYTE


def test_a_bundle_that_is_added_is_refused_the_same_way(write):
    first = write(node("a"))
    path = write(bundle({"bomb.yaml": BOMB}), "b.zip")

    with pytest.raises(InputError) as caught:
        load_cluster(first, path)

    assert str(caught.value).startswith(f"{path}:{YAMLS}/bomb.yaml unpacks to too much: ")
    assert peak_bytes(first, path) < 2 * MEBIBYTE


def test_a_bundle_with_a_bomb_beside_its_objects_is_no_bundle_to_ask_for_namespaces(write):
    """Only the names in it are read."""
    path = write(bundle({"namespaced/shop/v1/bomb.yaml": BOMB}), "b.zip")

    assert bundled_namespaces(path) == {"shop"}


def test_a_file_that_says_it_is_smaller_than_it_is_is_unpacked_no_further(write):
    content = bundle({"bomb.yaml": BOMB})
    path = write(patched(content, local=22, central=24, value=struct.pack("<I", 100)), "b.zip")

    assert "bomb.yaml cannot be unpacked: Bad CRC-32" in refusal(path)
    assert peak_bytes(path) < 4 * MEBIBYTE


def test_many_files_of_a_bundle_that_are_small_alone_are_too_much_together(write):
    path = write(bundle({f"{number}.yaml": "# " + "x" * 500_000 for number in range(40)}), "b.zip")

    assert re.match(rf":{YAMLS}/\d+\.yaml unpacks to too much: ", refusal(path))


def test_a_file_of_a_bundle_with_more_values_than_its_size_tells_is_refused(write):
    """Each value takes a hundred times the memory of its text."""
    path = write(bundle({"a.yaml": "- a\n" * 200_000}), "b.zip")

    assert refusal(path) == (
        f":{YAMLS}/a.yaml cannot be parsed: it has more than 100000 values; if you trust it, "
        "unpack it yourself, and give the file or folder"
    )
    assert peak_bytes(path) < 4 * MEBIBYTE


def test_files_of_a_bundle_are_unpacked_one_after_another(write):
    random = Random(1)
    comment = "# " + "".join(random.choices("0123456789abcdef", k=MEBIBYTE)) + "\n"
    names = [f"node-{number}" for number in range(12)]
    path = write(bundle({f"{name}.yaml": comment + node(name) for name in names}), "b.zip")

    assert sorted(nodes_of(path)) == sorted(names)
    assert peak_bytes(path) < 6 * MEBIBYTE


def test_thousands_of_tiny_files_in_a_bundle_are_read(write):
    names = [f"node-{number}" for number in range(2_000)]
    path = write(bundle({f"{name}.yaml": node(name) for name in names}), "b.zip")

    assert len(nodes_of(path)) == 2_000


def test_an_archive_in_a_bundle_that_is_called_yaml_is_no_yaml(write):
    content = bundle({"inner.yaml": bundle({"a.yaml": node("inner")})})

    assert refusal(write(content, "b.zip")).startswith(f":{YAMLS}/inner.yaml ")


def test_a_link_in_a_bundle_is_not_followed(write):
    link = zipfile.ZipInfo(f"{YAMLS}/link.yaml")
    link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr(f"{YAMLS}/a.yaml", node("a"))
        archive.writestr(link, str(write(node("secret"), "elsewhere.yaml")))

    cluster, problems = load_cluster(write(content.getvalue(), "b.zip"))

    assert list(cluster.of(KubernetesNode)) == ["a"]
    assert len(problems) == 1


def test_a_file_larger_than_the_limit_is_refused_unread(tmp_path):
    path = tmp_path / "huge.yaml"
    with path.open("wb") as file:
        file.truncate(2**30 + 1)

    assert refusal(path) == f" is larger than {2**30} B"
