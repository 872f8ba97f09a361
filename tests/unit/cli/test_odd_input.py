"""Whatever is put in: an answer, or one error with status 2, and never a traceback.

Of what no command can use there is no answer. `run_command` lets every defect through, so that a
test fails by it.
"""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from msgspec import structs

from app.settings import Settings
from cli.running import run_command
from tests.builders import core_document, node_document, runner_documents, setting_documents
from tests.effort import examples
from tests.unit.cli.plans import ROOT, write

BUNDLE = ("--cluster-file", str(ROOT / "examples" / "bundle"))
SMALL = ("--cluster-file", "../small.json")
"""What is read in a moment, for tests that ask thousands of times."""
CLUSTER = (ROOT / "examples" / "goal2" / "cluster.yaml").read_bytes()
URL = "http://10.96.0.95:9504"
POD = b"apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n"
BOMB = b"a: &a [x, x, x, x, x, x, x, x, x]\n" + b"".join(
    b"%c: &%c [%s]\n" % (name, name, b", ".join([b"*%c" % (name - 1)] * 9))
    for name in range(ord("b"), ord("k"))
)

USELESS = {
    "empty": b"",
    "blanks": b" \n\t",
    "binary": bytes(range(256)),
    "zeros": bytes(100),
    "half of UTF-16": POD.decode().encode("utf-16")[:-1],
    "UTF-16 without a mark": POD.decode().encode("utf-16-le"),
    "UTF-32": POD.decode().encode("utf-32"),
    "Latin-1": "kind: Ä\n".encode("latin-1"),
    "a mark alone": b"\xef\xbb\xbf",
    "null": b"null",
    "NaN": b"NaN",
    "infinity": b"-.inf",
    "a huge number": b"9" * 5000,
    "a huge exponent": b"-1e99999999",
    "text": b"hello",
    "a list": b"[]",
    "a list of nulls": b"[null, null]",
    "deep": b"[" * 300,
    "aliases of aliases": BOMB,
    "an unknown alias": b"a: *b",
    "itself": b"&a [*a]",
    "tabs": b"a:\n\tb: 1\n",
    "a key twice": b"kind: Pod\nkind: Pod\n",
    "a broken second document": POD + b"---\na: [\n",
    "empty documents": b"---\n---\n---\n",
    "JSON lines": b'{"a": 1}\n{"a": 2}\n',
    "JSON and more": b'{"a": 1} x',
    "a List of Lists": b'{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", '
    b'"kind": "List", "items": []}]}',
    "a List of null": b'{"apiVersion": "v1", "kind": "List", "items": null}',
    "a List of text": b'{"apiVersion": "v1", "kind": "List", "items": "x"}',
    "a kind that is a number": b"apiVersion: v1\nkind: 5\nmetadata: {name: web}\n",
    "a kind that is a list": b"apiVersion: v1\nkind: [Pod]\nmetadata: {name: web}\n",
    "an apiVersion that is a list": b"apiVersion: [v1]\nkind: Pod\nmetadata: {name: web}\n",
    "metadata that are text": b"apiVersion: v1\nkind: Pod\nmetadata: x\n",
    "a name that is a number": b"apiVersion: v1\nkind: Pod\nmetadata: {name: [5]}\n",
    "a tag of Python": b"!!python/object/apply:os.system [echo]",
    "an unknown tag": b"!x y",
    "bytes": b"a: !!binary aGk=",
    "a set": b"? a\n? b\n",
    "a key that is a list": b"? [a]\n: 1\n",
    "a key that is null": b"~: 2\n",
    "a merge of a list": b"<<: [1]\n",
    "a date": b"a: 2001-01-01",
    "another YAML": b"%YAML 9.9\n---\na: 1",
    "an end": b"...",
    "an @": b"@",
    "an escape sequence": b"a: \x1b[31m",
    "an escaped one": b'a: "\\e[31m"',
    "half a character": b'{"a": "\\ud800"}',
    "a long text": b"a: " + b"x" * 10_000,
    "a zip that is cut off": b"PK\x03\x04xx",
    "gzip": b"\x1f\x8b\x08\x00",
}
SCHEDULER = ("scheduler-config", "--url", URL, "--distribution")
READERS: dict[str, Callable[[str], tuple[str, ...]]] = {
    "the cluster of filter": lambda file: ("filter", "--cluster-file", file),
    "the pod of filter": lambda file: ("filter", file, *SMALL),
    "more of filter": lambda file: ("filter", *SMALL, "--also", file),
    "the cluster of overview": lambda file: ("overview", "--cluster-file", file, "-o", "yaml"),
    "the cluster of claims": lambda file: ("claims", "--cluster-file", file, "-o", "wide"),
    "the cluster of status": lambda file: ("status", "--cluster-file", file),
    "the cluster of survey": lambda file: ("survey", "--cluster-file", file, "-o", "json"),
    "the cluster of may-drain": lambda file: ("may-drain", "a", "--cluster-file", file),
    "the cluster of plan": lambda file: ("plan", "cordon", "a", "--cluster-file", file),
    "a workload to place": lambda file: ("plan", "place", file, *SMALL),
    "a workload to count": lambda file: ("plan", "capacity", file, *SMALL),
    "a scenario": lambda file: ("plan", "run", file, *SMALL),
    "a policy": lambda file: ("plan", "cordon", "node-1", "--policy", file, *SMALL),
    "to check": lambda file: (*SCHEDULER, "kubeadm", "--check", file),
    "to merge": lambda file: (*SCHEDULER, "k3s", "--merge", file),
    "to remove": lambda file: (*SCHEDULER, "talos", "--remove", file),
    "a CA": lambda file: (*SCHEDULER, "talos", "--tls-ca", file),
    "a kubeconfig": lambda file: ("doctor", "--kubeconfig", file),
}
OFTEN = settings(
    max_examples=examples(100),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("KUBE")]:
        monkeypatch.delenv(name)
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    there = [core_document("Node", "node-1"), node_document("node-1"), *setting_documents()]
    pod = core_document("Pod", "web", spec={"containers": [{"name": "main"}]})
    write(tmp_path / "small.json", *there, *runner_documents("node-1"), pod)


Put = Callable[..., tuple[int, str, str]]


@pytest.fixture
def put(capsys: pytest.CaptureFixture[str]) -> Put:
    """Run a command; check what holds of any, and return the status, the output and the errors."""

    def run(*arguments: str) -> tuple[int, str, str]:
        status = run_command(arguments)
        out, err = capsys.readouterr()
        assert status in (0, 1, 2, 3)
        assert "\x1b" not in out + err
        errors = [line for line in err.splitlines() if line.startswith("error: ")]
        if status == 2:
            assert (len(errors), out) == (1, "")
        return status, out, err

    return run


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("suffix", [".yaml", ".json"])
def test_what_cannot_be_used_is_never_answered(put, reader, suffix):
    file = Path(f"file{suffix}")
    for content in USELESS.values():
        file.write_bytes(content)
        status, out, _ = put(*READERS[reader](str(file)))
        assert (status, out) == (2, ""), content


@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_file_is_never_answered(put, reader):
    Path("folder.yaml").mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket.yaml")
        for name in ("folder.yaml", "socket.yaml", "/dev/null", "absent.yaml", "x" * 300, "."):
            status, out, _ = put(*READERS[reader](name))
            assert (status, out) == (2, ""), name


@OFTEN
@given(
    reader=st.sampled_from([*READERS]),
    suffix=st.sampled_from([".yaml", ".json", ""]),
    content=st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode()),
)
def test_any_bytes_are_an_error(put, reader, suffix, content):
    Path(f"any{suffix}").write_bytes(content)

    assert put(*READERS[reader](f"any{suffix}"))[:2] == (2, "")


ASKED = st.sampled_from([
    ("filter",), ("filter", "-o", "json"), ("overview", "-o", "wide"), ("survey", "-o", "junit"),
    ("status",), ("claims",), ("may-drain", "node-1"), ("plan", "drain", "node-1"),
])  # fmt: skip


@OFTEN
@given(
    asked=ASKED,
    begin=st.integers(0, len(CLUSTER)),
    length=st.integers(0, 400),
    by=st.sampled_from([b"", b"\0", b": ", b"- ", b"\n", b"[", b"9" * 40, b"\x1b[31m", b"&a *a"]),
)
def test_a_file_with_a_hole_is_answered_or_an_error(put, asked, begin, length, by):
    Path("hole.yaml").write_bytes(CLUSTER[:begin] + by + CLUSTER[begin + length :])

    put(*asked, "--cluster-file", "hole.yaml")


def utf_8_in_arguments() -> st.SearchStrategy[str]:
    """Make texts that can be arguments, without a zero or half a character, and are no names."""
    characters = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
    nobodys = st.text(characters, max_size=20).map(lambda text: f"{text}\u2603")
    return nobodys | st.sampled_from([
        "", " ", "a/b", "a//b", "/", "../..", "a\nb", "\x1b[31mx", "x" * 10_000, "-", "*", "\u202e",
        "NODE-1", "node-1,node-9", "-1", "nan", "1e400", "٣",
    ])  # fmt: skip


NAMED: dict[str, Callable[[str], tuple[str, ...]]] = {
    "a pod": lambda name: ("filter", f"--pod={name}"),
    "candidates": lambda name: ("filter", f"--nodes={name}"),
    "a namespace": lambda name: ("filter", "pod", f"--namespace={name}"),
    "a node to drain": lambda name: ("may-drain", "--", name),
    "a node to plan with": lambda name: ("plan", "drain", "--", name),
    "a node to be like": lambda name: ("plan", "add-node", "new", f"--like={name}"),
    "a step": lambda name: ("plan", "--", name),
    "a setting": lambda name: ("plan", "set", "--", name),
    "a policy": lambda name: ("plan", "cordon", "node-1", f"--policy={name}"),
    "an order": lambda name: ("overview", f"--sort={name}"),
    "a form": lambda name: ("overview", f"--output={name}"),
    "a seed": lambda name: ("plan", "cordon", "node-1", f"--seed={name}x"),
    "a number of runs": lambda name: ("plan", "cordon", "node-1", f"--runs={name}x"),
    "a size": lambda name: ("plan", "add-disk", "node-1/new", "--", f"{name}Gi2"),
    "a claim": lambda name: ("plan", "resize", "--", name, "1Ti"),
    "more files": lambda name: ("overview", f"--also=no/such/{name}"),
    "a page": lambda name: ("plan", "cordon", "node-1", f"--html=no/such/{name}"),
}


@OFTEN
@given(named=st.sampled_from([*NAMED]), name=utf_8_in_arguments())
@example(named="a pod", name="")
@example(named="candidates", name="")
@example(named="a policy", name="x" * 10_000)
@example(named="a page", name="x" * 10_000)
def test_names_that_nothing_has_are_an_error(put, named, name):
    assert put(*NAMED[named](name), *SMALL)[:2] == (2, "")


@pytest.mark.parametrize(
    "size",
    ["1e400Gi", "-1Gi", "1Gi2", " 10Gi", "10Gi ", "٣Gi", "", "NaN", "inf", "0x10", "1_000Gi",
     "9" * 5000, "1e99999999999", "10gi", "10 Gi", "10Gi\n", "0", "-0", "Gi", ".", "1e", "--"],
)  # fmt: skip
@pytest.mark.parametrize(
    "words",
    ["add-disk -- node-1/new SIZE", "resize -- data-db-0 SIZE",
     "add-disk --reserved=SIZE node-1/new 1Ti"],
)  # fmt: skip
def test_sizes_that_are_none_are_an_error(put, words, size):
    if "--reserved" in words and size in ("0", "-0"):
        return  # nothing is reserved
    step, *given = [each.replace("SIZE", size) for each in words.split()]

    assert put("plan", step, *SMALL, *given)[:2] == (2, "")


@pytest.mark.parametrize("tag", ["", "\x1b[31m", "a\nb", "x" * 300])
def test_tags_that_no_disk_has_are_an_error(put, tag):
    assert put("plan", "add-disk", "node-1/new", "1Ti", f"--tag={tag}", *SMALL)[:2] == (2, "")


@pytest.mark.parametrize(
    "option",
    [("--seed", "1"), ("--output", "json"), ("--policy", "seed"), ("--in-flight", "3"),
     ("--runs", "1")],
)  # fmt: skip
def test_of_an_option_that_is_given_twice_the_last_counts(put, option):
    asked = ("plan", "cordon", "node-1", *BUNDLE)
    name, value = option
    other = {"--output": "table", "--policy": "today"}.get(name, "2")

    assert put(*asked, name, other, name, value) == put(*asked, name, value)


@OFTEN
@given(
    name=st.sampled_from([each.name for each in structs.fields(Settings)]),
    value=utf_8_in_arguments(),
    asked=st.sampled_from([("filter",), ("overview",), ("survey",), ("plan", "cordon", "node-1")]),
)
def test_any_value_of_a_variable_is_used_or_an_error(put, name, value, asked):
    with pytest.MonkeyPatch.context() as environ:
        environ.setenv(f"EXTENDER_{name.upper()}", value)
        put(*asked, *BUNDLE)


@pytest.mark.parametrize("width", ["1", "0", "-5", "abc", "9" * 30, "", "1e3", "\x1b[31m"])
def test_any_width_prints_an_answer(put, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", width)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)

    for asked in (("filter",), ("overview",), ("survey",), ("plan", "drain", "node-1")):
        status, out, _ = put(*asked, *BUNDLE)
        assert (status in (0, 1), out != "") == (True, True)


def config(user: str = "{}", cluster: str = "a", server: str = "http://127.0.0.1:1") -> str:
    return (
        "{apiVersion: v1, kind: Config, current-context: c,"
        f"clusters: [{{name: a, cluster: {{server: '{server}'}}}}], users: [{{name: u, user: "
        f"{user}}}], contexts: [{{name: c, context: {{cluster: {cluster}, user: u}}}}]}}"
    )


def plugin(command: str, argument: str = "") -> str:
    """Build a user whose token comes from a program."""
    return (
        "{exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, "
        f"command: {command}, args: ['{argument}']}}}}"
    )


KUBECONFIGS = [
    "apiVersion: v1\nkind: Config\n",
    "contexts: [1, 2]\nclusters: x\nusers: {}\ncurrent-context: [a]\n",
    "contexts: [{name: c}]\ncurrent-context: c\nclusters: []\nusers: []\n",
    "&a {a: *a}",
    config().replace("current-context: c,", ""),
    config(cluster="b"),
    *(config(server=server) for server in (
        "", "no url", "ftp://x", "http://127.0.0.1:99999", "http://127.0.0.1:x", "http://[::1",
    )),
    *(config(user) for user in (
        "[1]", "{exec: x}", "{exec: [1]}", "{auth-provider: 5}", "{auth-provider: {name: oidc}}",
        "{tokenFile: /no}", '{token: "a\\nb"}', '{token: "\\u2028"}', "{token: 5}",
        "{client-certificate: /no, client-key: /no}", "{client-certificate-data: '!'}",
        plugin("/no/such"), plugin("/bin/false"), plugin("/bin/echo", "hello"),
        plugin("/bin/echo", "{}"), plugin("/bin/echo", "[1]"),
    )),
]  # fmt: skip


@pytest.mark.parametrize("content", KUBECONFIGS)
@pytest.mark.parametrize(
    "asked",
    [("filter",), ("doctor",), ("propose-address",), ("may-drain", "a"), ("overview",),
     ("survey",), ("plan", "cordon", "a")],
)  # fmt: skip
def test_kubeconfigs_that_lead_nowhere_are_an_error(put, content, asked):
    Path("config").write_text(content)

    assert put(*asked, "--kubeconfig", "config")[:2] == (2, "")


def test_a_context_that_is_not_there_is_named(put):
    Path("config").write_text(config())

    _, _, err = put("filter", "--kubeconfig", "config", "--context", "zebra")

    assert "kubeconfig config: it has no context zebra; correct it" in err


HALF = rb'{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a\ud800"}}'
NOT_UNICODE = "is in the answer and no Unicode; rename it"
UNANSWERED = {
    "pod-unreadable": ("it.yaml", CLUSTER + b"---\n" + POD + b"spec: {volumes: 5}\n", "table", 3,
        "error: Pod default/web cannot be read: whether it waits is not known\n"),
    "pod-unknown": ("it.yaml", b"apiVersion: v1\nkind: Node\nmetadata: {name: a}\n", "table", 2,
        "error: no pod is known, so none can be judged"),
    # Programs could not read it.
    "name-no-unicode-in-json": ("it.json", HALF, "json", 2, NOT_UNICODE),
    "name-no-unicode-in-yaml": ("it.json", HALF, "yaml", 2, NOT_UNICODE),
}  # fmt: skip


@pytest.mark.parametrize(
    ("file", "content", "output", "status", "text"), UNANSWERED.values(), ids=UNANSWERED
)
def test_what_is_not_known_is_told_beside_the_answer(put, file, content, output, status, text):
    Path(file).write_bytes(content)

    found, _, err = put("filter", "--cluster-file", file, "-o", output)

    assert (found, text in err) == (status, True)
