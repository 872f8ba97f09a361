"""Clusters from files: every form kubectl and Longhorn write, and clear errors for the rest."""

import json
from pathlib import Path

import pytest

from app.errors import InputError
from cli.bundles import bundled_namespaces
from cli.documents import load_documents
from cli.files import load_cluster
from longhorn import Node
from planner.records import KubernetesNode
from tests.unit.cli.given_files import BUNDLED, MEBIBYTE, node, nodes_of, peak_bytes, refusal

TWO = [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}} for name in "ab"]
BARE = [{"metadata": {"name": name}} for name in "ab"]
FORMS: dict[str, tuple[str, str | bytes]] = {
    "documents": ("c.yaml", "---\n---\n" + node("a") + "...\n---\n# x\n---\n" + node("b")),
    "list": ("c.yaml", f"items: {TWO}\napiVersion: v1\nkind: List\n"),
    "typed-list": ("c.yaml", f"apiVersion: v1\nkind: NodeList\nitems: {BARE}\n"),
    "list-without-kind": ("c.yaml", f"items: {TWO}\n"),
    "json": ("c.json", json.dumps({"apiVersion": "v1", "kind": "NodeList", "items": BARE})),
    "json-without-suffix": ("c", json.dumps({"items": TWO}, indent="\t")),
    "windows-line-ends": ("c.yaml", (node("a") + "---\n" + node("b")).replace("\n", "\r\n")),
    "byte-order-mark": ("c.yaml", "\ufeff" + node("a") + "---\n" + node("b")),
    "utf-16": ("c.yaml", ("\ufeff" + node("a") + "---\n" + node("b")).encode("utf-16-le")),
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


CLAIMS = """apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: x}, spec: {volumeName: first}}
- {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: x}, spec: {volumeName: second}}
- {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: x, namespace: other}}
- {apiVersion: v1, kind: PersistentVolume, metadata: {name: x}}
"""


def settings(names: str, value: int) -> str:
    text = "apiVersion: longhorn.io/v1beta2\nkind: Setting\nmetadata: {{name: {}}}\nvalue: '{}'\n"
    return "---\n".join(text.format(name, value) for name in names)


def with_broken(item: str) -> dict[str, str]:
    listed = "kind: List\napiVersion: v1\nitems:\n"
    listed += "- {apiVersion: v1, kind: Node, metadata: {name: b}}\n"
    return {"c.yaml": f"{node('a')}---\n{listed}- {item}\n"}


TOGETHER: dict[str, tuple[dict[str, str], str, list[str]]] = {
    "typed-list-of-longhorns": ({"c.yaml": "apiVersion: longhorn.io/v1beta2\nkind: NodeList\n"
        "items:\n- {metadata: {name: a}}\n"}, "Node: a", []),
    # In order of names, with all below it.
    "folder": ({"d/c.yaml": node("c"), "d/a.yml": node("a"), "d/b/deep/x.json": json.dumps(TWO[1]),
        "d/notes.txt": "not: [read", "d/README.md": "not: [read"}, "KubernetesNode: a b c", []),
    "second-of-a-name":
        ({"c.yaml": CLAIMS}, "Claim: default/x=first other/x PersistentVolume: x",
        ["c.yaml[0].items[1] is the second PersistentVolumeClaim x; the first one counts"]),
    "added": ({"1.yaml": settings("a", 1), "2.yaml": settings("abc", 2),
        "3.yaml": settings("bc", 3)}, "Setting: a=1 b=2 c=2",
        ["2.yaml has Setting a again; those of the files before it count",
         "3.yaml has Setting b and 1 more again; those of the files before it count"]),
    "broken-number": (with_broken("5"), "KubernetesNode: a b",
        ["c.yaml[1].items[1] is int, not an object"]),
    "broken-node": (with_broken("{apiVersion: v1, kind: Node}"), "KubernetesNode: a b",
        ["c.yaml[1].items[1] is a Kubernetes Node without a name"]),
    "broken-volume": (with_broken("{apiVersion: longhorn.io/v1beta2, kind: Volume, "
        "metadata: {name: v}, spec: {size: many}}"),
        "KubernetesNode: a b Unreadable: ('Volume', 'v')",
        ["c.yaml[1].items[1]: Volume v cannot be read: 'many' is not a size in bytes"]),
}  # fmt: skip
"""Files, what is read of them, with values of settings and volumes of claims, and problems."""


@pytest.mark.parametrize(("files", "expected", "told"), TOGETHER.values(), ids=TOGETHER)
def test_files_are_read_together(write, tmp_path, monkeypatch, files, expected, told):
    monkeypatch.chdir(tmp_path)
    for name, text in files.items():
        write(text, name)

    cluster, problems = load_cluster(*dict.fromkeys(Path(Path(name).parts[0]) for name in files))

    words = list[str]()
    for kind in dict.fromkeys(map(type, cluster.records())):
        words.append(f"{kind.__name__}:")
        records: dict[object, object] = cluster.of(kind)
        for key, each in records.items():
            value = getattr(each, "value", getattr(each, "persistent_volume", None))
            words.append(f"{key}={value}" if value else f"{key}")
    assert (" ".join(words), problems) == (expected, told)


def test_the_error_about_a_file_in_a_directory_names_the_file(write):
    path = write("a: [", "d/broken.yaml")

    with pytest.raises(InputError) as caught:
        load_cluster(path.parent)

    assert str(caught.value).startswith(f"{path} is not YAML: ")


def test_a_file_that_is_added_must_have_objects(write):
    first, second = write(node("a"), "first.yaml"), write("x: y\n", "second.yaml")

    with pytest.raises(InputError, match=f"^{second} holds no object of a cluster"):
        load_cluster(first, second)


SCALARS = {
    **{text: text for text in ("2026-11-21T03:00:00Z", "0000:06:00.0", "12:30:45", "1_000", ".inf",
                               "1e5x")},
    **{"'5'": "5", "null": None, "true": True, "-12": -12, "5e+09": 5_000_000_000},
    **{"6.397024534528e+12": 6_397_024_534_528, "9.007199254740993e+15": 9_007_199_254_740_993},
    **{"1.0": 1, "1.5": 1.5},
}  # fmt: skip


@pytest.mark.parametrize(("scalar", "value"), SCALARS.items())
def test_plain_scalars_mean_what_kubernetes_means(write, scalar, value):
    [(_, document)] = load_documents(write(f"value: {scalar}\n"))

    assert isinstance(document, dict)
    assert (document["value"], type(document["value"])) == (value, type(value))


FEW = "l0: &l0 {" + ", ".join(f"k{number}: x" for number in range(100)) + "}\n"
BOMBS = {
    "merges-of-merges": "".join(
        f"l{level}: &l{level} {{<<: [{', '.join([f'*l{level - 1}'] * 9)}]}}\n"
        for level in range(1, 12)
    ),
    "a-long-list": f"x: {{<<: [{', '.join(['*l0'] * 2_000)}]}}\n",
    "many": "x:\n" + "- {<<: *l0}\n" * 2_000,
}


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
def test_merge_keys_that_take_over_too_much_are_refused_by_line(write, bomb):
    path = write(FEW + bomb)

    text = refusal(path)

    assert text.startswith(" is not YAML: << takes over more than 100000 keys in all at line ")
    assert peak_bytes(path) < 16 * MEBIBYTE


ABSENT = {
    "cluster.yaml": "cannot be read: No such file or directory",
    "a" * 300: "cannot be read: File name too long",
    "": "holds no object of a cluster; give",
}


@pytest.mark.parametrize(("name", "why"), ABSENT.items(), ids=["absent", "long", "empty-folder"])
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


OF_LONGHORN = "namespaced/longhorn-system/longhorn.io/v1beta2/nodes.yaml"


@pytest.mark.parametrize("given", ["yamls", "yamls/namespaced", f"yamls/{OF_LONGHORN}"])
def test_a_part_of_a_bundle_is_read_as_the_whole(write, tmp_path, given):
    """Its text "null" is no name of a zone."""
    write(BUNDLED[OF_LONGHORN], f"yamls/{OF_LONGHORN}")

    cluster, _ = load_cluster(tmp_path / given)

    assert [each.zone for each in cluster.of(Node).values()] == [""]


def test_what_is_no_bundle_has_no_namespaces_of_one(write):
    file = write(node("a"), "folder/namespaced/default/nodes.yaml")

    assert bundled_namespaces(file) == bundled_namespaces(file.parents[2]) == frozenset()


DEEP, CUT = "[" * 100_000 + "]" * 100_000, json.dumps({"items": TWO})
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
}  # fmt: skip
"""Files, below what is said of each of them."""


def test_a_file_that_cannot_be_used_is_refused_in_one_line(write, golden):
    text = ""
    for said, files in REFUSED.items():
        for name, (file, content) in files.items():
            path = write(content, file)
            found = refusal(path)
            assert said in found, (name, found)
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


def test_a_file_larger_than_the_limit_is_refused_unread(tmp_path):
    path = tmp_path / "huge.yaml"
    with path.open("wb") as file:
        file.truncate(2**30 + 1)

    assert refusal(path) == f" is larger than {2**30} B"
