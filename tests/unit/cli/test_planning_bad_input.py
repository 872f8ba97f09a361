"""What `plan` cannot use: one line that names it and says what to do, and exit status 2."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.running import run_command

ROOT = Path(__file__).parents[3]
BUNDLE = str(ROOT / "examples" / "bundle")
WIKI = ROOT / "examples" / "plans" / "wiki.yaml"
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec: {containers: [{name: a}]}\n"
SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: wiki}\n"
WAITING = "apiVersion: v1\nkind: Pod\nmetadata: {name: w}\nspec: %s\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in a folder with a workload, and without settings."""
    monkeypatch.chdir(tmp_path)
    Path("wiki.yaml").write_text(WIKI.read_text())


@pytest.fixture
def refusal(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Plan what is refused; return why."""

    def refused(*arguments: str) -> str:
        assert run_command(["plan", *arguments, "--cluster-file", BUNDLE]) == 2
        captured = capsys.readouterr()
        errors = [line for line in captured.err.splitlines() if not line.startswith("warning: ")]
        assert captured.out == ""
        assert "\x1b" not in captured.err
        [error] = errors
        assert error.startswith("error: ")
        return error.removeprefix("error: ")

    return refused


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("drian node-1", "No such command 'drian'. Did you mean 'drain'?"),
        ("drain", "drain: Missing argument 'NODE...'; see: plan drain --help"),
        ("place a b", "place: Got unexpected extra argument(s) (b); see: plan place --help"),
        ("add-disk node-3/ssd 200", "add-disk: 200 is so many bytes, less than any volume has; is "
         "200Gi meant?"),
        ("resize data-db-0", "resize: Missing argument 'SIZE'; see: plan resize --help"),
        ("drain nod-1", "there is no node nod-1; did you mean node-1?"),
        ("drain zebra", "there is no node zebra; there are node-1, node-2, node-3, node-4, node-5"),
        ("drain node-1 node-1", "drain: a node is named twice; name it once"),
        ("remove-disk node-1", "remove-disk: 'node-1' names no disk; give NODE/DISK"),
        ("rebalance", "rebalance: what is to be reached is missing; give --below, --moves or both"),
        ("rebalance --below 101", "rebalance: Invalid value for '--below': 101 is not in the"),
        ("add-disk node-1 1Ti", "add-disk: 'node-1' names no disk; give NODE/DISK"),
        ("add-disk node-1/x 0", "add-disk: 0 is no size; give one such as 100Gi"),
        ("add-disk node-1/x 9999Ei", "add-disk: 9999Ei is more than any disk has; give one such "),
        ("add-disk node-1/x 100GiB", "add-disk: '100GiB' is not a quantity such as 100Gi"),
        ("add-disk node-1/x 1Ti --reserved -1", "add-disk: -1 is no size; give one such as 100Gi"),
        ("add-node node-7", "add-node: Missing option '--like'; see: plan add-node --help"),
        ("add-node Node_7 --like node-1", "add-node: 'Node_7' is no name of a node; use up to 253"),
        ("add-node n n --like node-1", "add-node: a node is named twice; name it once"),
        ("scale db", "scale: Missing argument 'N'; see: plan scale --help"),
        ("scale db many", "scale: Invalid value for 'N': 'many' is not a valid int"),
        ("scale db 200000", "scale: Invalid value for 'N': 200000 is not in the range 0<=x<="),
        ("scale a/b/c 1", "scale: 'a/b/c' names no workload; give NAMESPACE/NAME, or statefulset/"),
        ("scale sts/deploy/c 1", "scale: 'sts/deploy/c' names no workload; give "),
        ("scale sts/ 1", "scale: 'sts/' names no workload; give "),
        ("resize data-db-0 0", "resize: 0 is no size; give one such as 100Gi"),
        ("resize data-db-0 much", "resize: 'much' is not a quantity such as 100Gi"),
        ("resize data-db-0 1e400", "resize: 1e400 is more than any disk has; give one such as "),
        ("set foo", "set: 'foo' sets nothing; give NAME=VALUE"),
        ("set =1", "set: '=1' sets nothing; give NAME=VALUE"),
        ("set a=1 a=2", "set: a is set twice; set it once"),
        ("capacity", "capacity: what is to fit is missing; give a FILE with a workload, or --size"),
        ("capacity wiki.yaml --size 1Gi", "capacity: a FILE and --size say both what is to fit; "),
        ("capacity wiki.yaml --class a", "capacity: --class and --volume-replicas go with --size"),
        ("capacity --size 5", "capacity: 5 is so many bytes, less than any volume has; is 5Gi "),
        ("capacity --size 5Gi --class gone", "there is no StorageClass gone; "),
        ("capacity --size 5Gi --volume-replicas 21", "capacity: Invalid value for '--volume-re"),
        ("place wiki.yaml --size 5Gi", "place: No such option: --size"),
        ("place nothing.yaml", "nothing.yaml cannot be read: No such file or directory"),
        ("place .", ". cannot be read: Is a directory"),
        ("place wiki.yaml --replicas -1", "place: Invalid value for '--replicas': -1 is not in"),
        ("place wiki.yaml --replicas x", "place: Invalid value for '--replicas': 'x' is not a"),
        ("place wiki.yaml --seed -1", "place: Invalid value for '--seed': -1 is not in"),
        ("place wiki.yaml --seed 2147483648", "place: Invalid value for '--seed': 2147483648 is "),
        ("place wiki.yaml --runs 0", "place: Invalid value for '--runs': 0 is not in"),
        ("place wiki.yaml --in-flight 0", "place: Invalid value for '--in-flight': 0 is not "),
        ("place wiki.yaml --output xml", "place: Invalid value for '--output' / '-o': 'xml' "),
        ("place wiki.yaml --until-full --replicas 3", "place: --replicas says how many pods, and "
         "--until-full tries; give one"),
        ("place wiki.yaml --most 3", "place: --most ends --until-full, which is not given"),
        ("place wiki.yaml --like node-1", "place: No such option: --like"),
        ("drain node-1 --tag ssd", "drain: No such option: --tag"),
        ("lose node-1 --force", "lose: No such option: --force; see: plan lose --help"),
        ("place wiki.yaml --policy old", "there is no policy old; give today or seed, or a file"),
        ("place wiki.yaml --policy wiki.yaml", "wiki.yaml is not JSON: Expecting value: line 1 "),
        ("place wiki.yaml --html no/x.html", "--html: there is no folder no; make it, or name "),
        ("place wiki.yaml --html .", "--html: . is a folder; name a file"),
        ("drain node-1 --kubeconfig k", "--cluster-file names another cluster than --kubeconfig "
         "and --context; give one"),
        ("run nothing.yaml", "nothing.yaml cannot be read: No such file or directory"),
        ("run wiki.yaml", "wiki.yaml holds 2 documents; a scenario is one, with `steps`"),
    ],
)  # fmt: skip
def test_arguments_are_refused(refusal, arguments, text):
    assert refusal(*arguments.split()).startswith(text)


@pytest.mark.parametrize("name", ["", "a\x1b[31mb", "x" * 300, "a\nb"])
def test_names_that_no_node_has_are_refused(refusal, name):
    expected = f"drain: {name[:60]!r} is no name of an object; give 1 to 253 characters that can "

    assert refusal("drain", name).startswith(expected)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (SERVICE, "it.yaml holds no workload to place (it has Service); give a StatefulSet, "),
        (WAITING % "{containers: 5}", "it.yaml[0]: correct Pod "),
        (WIKI.read_text().replace("25Gi", "25GB"), "it.yaml[0]: correct StatefulSet "),
    ],
)  # fmt: skip
def test_workload_files_are_refused(refusal, content, text):
    Path("it.yaml").write_text(content)

    assert refusal("place", "it.yaml").startswith(text)


def test_capacity_is_of_one_workload(refusal):
    Path("it.yaml").write_text("---\n".join(POD % f"web-{number}" for number in range(5)))

    assert refusal("capacity", "it.yaml") == (
        "there are several workloads (Pod default/web-0, Pod default/web-1, Pod default/web-2 and "
        "2 more); give a file with one of them"
    )


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("", "it.yaml holds 0 documents; a scenario is one, with `steps`"),
        ("a: [", "it.yaml is not YAML: "),
        ("steps: []", "it.yaml has no steps; give at least one, such as `- drain: node-1`"),
        ("steps: drain", "it.yaml is no scenario: steps: expected a list, got a text"),
        ("steps: {drain: node-1}", "it.yaml is no scenario: steps: expected a list, got a mapping"),
        ("[{drain: node-1}]", "it.yaml is no scenario: the file: expected a mapping, got a list"),
        ("stages: []", "it.yaml is no scenario: the file: there is no entry stages; "),
        ("{}", "it.yaml is no scenario: the file: steps is missing"),
        ("steps: [drain]", "it.yaml is no scenario: steps[0]: expected a mapping, got a text"),
        ("steps: [{drian: a}]", "it.yaml is no scenario: steps[0]: there is no entry drian; did "
         "you mean drain?"),
        ("steps: [{}]", "it.yaml: steps[0] says nothing; a step is exactly one of place, fill, "),
        ("steps: [{drain: null}]", "it.yaml: steps[0] says nothing; a step is exactly one of "),
        ("steps: [{drain: a, lose: b}]", "it.yaml: steps[0] says drain and lose; a step is exac"),
        ("steps: [{drain: 5}]", "it.yaml is no scenario: steps[0].drain: expected "),
        ("steps: [{drain: []}]", "it.yaml: steps[0].drain: no node is named; name at least one"),
        ("steps: [{drain: [a, a]}]", "it.yaml: steps[0].drain: a node is named twice; name it "),
        ("steps: [{drain: {nodes: a, forced: true}}]", "it.yaml is no scenario: steps[0].drain: "
         "there is no entry forced; did you mean force?"),
        ("steps: [{include: it.yaml}]", "it.yaml includes itself (it.yaml -> it.yaml); take one "),
        ("steps: [{include: no.yaml}]", "no.yaml cannot be read: No such file or directory"),
        ("steps: [{place: no.yaml}]", "no.yaml cannot be read: No such file or directory"),
        ("steps: [{place: {file: wiki.yaml, replicas: -1}}]", "it.yaml: steps[0].place: replicas "
         "-1 is not from 0 to 150000"),
        ("steps: [{place: {file: wiki.yaml, replicas: x}}]", "it.yaml is no scenario: steps[0]."
         "place.replicas: expected a whole number or nothing, got a text"),
        ("steps: [{fill: {file: wiki.yaml, most: 0}}]", "it.yaml: steps[0].fill: most 0 is not "),
        ("steps: [{set: {}}]", "it.yaml: steps[0].set: no setting is given; give NAME: VALUE"),
        ("steps: [{set: {a: [1]}}]", "it.yaml is no scenario: steps[0].set[...]: expected "),
        ("steps: [{set: {a: 1}}, {drain: node-1}]", "step 1 (set a=1): there is no setting that "),
        ("steps: [{addNode: {name: n}}]", "it.yaml is no scenario: steps[0].addNode: like "
         "is missing"),
        ("steps: [{addNode: {name: A, like: b}}]", "it.yaml: steps[0].addNode: 'A' is no name of "),
        ("steps: [{addDisk: {node: node-1, disk: '', size: 1Ti}}]", "it.yaml: steps[0].addDisk: ''"
         " is no name of an object; "),
        ("steps: [{scale: {workload: db, replicas: -1}}]", "it.yaml: steps[0].scale: -1 is not "),
        ("steps: [{resize: {claim: data-db-0, size: -5Gi}}]", "it.yaml: steps[0].resize: -5Gi is "
         "no size; give one such as 100Gi"),
        ("steps: [{lose: node-1}, {drain: node-1}]", "step 2 (drain node-1): there is no node "),
    ],
)  # fmt: skip
def test_scenarios_are_refused(refusal, content, text):
    Path("it.yaml").write_text(content)

    assert refusal("run", "it.yaml").startswith(text)


def test_a_circle_of_scenarios_is_refused(refusal):
    Path("a.yaml").write_text("steps: [{include: b.yaml}]")
    Path("b.yaml").write_text("steps: [{include: a.yaml}]")

    expected = "a.yaml includes itself (a.yaml -> b.yaml -> a.yaml); take one `include` out"
    assert refusal("run", "a.yaml") == expected


def test_too_many_steps_are_refused(refusal):
    Path("it.yaml").write_text("steps:\n" + "- cordon: node-1\n" * 1001)

    assert refusal("run", "it.yaml") == "it.yaml has more than 1000 steps; split it"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("{", " is not JSON: "),
        ("[" * 100_000, " is not JSON: "),
        ('{"kind": "Policy", "version": "v1", "predicates": [{"name": "PodFitsPort"}]}',
         ": predicates[0].name: there is no predicate 'PodFitsPort'; did you mean PodFitsPorts?"),
    ],
)  # fmt: skip
def test_policies_are_refused(refusal, content, text):
    Path("policy.json").write_text(content)

    assert refusal("drain", "node-1", "--policy", "policy.json").startswith(f"policy.json{text}")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_page_that_cannot_be_written_is_refused_before_the_plan(refusal, tmp_path):
    folder = tmp_path / "full"
    folder.mkdir(mode=0o500)

    assert "cannot be written; name another file" in refusal(
        "drain", "node-1", "--html", str(folder / "x.html")
    )


@pytest.mark.parametrize("page", ["/dev/full"])
def test_a_page_that_was_not_written_is_told(capsys, page):
    assert run_command(["plan", "cordon", "node-1", "--cluster-file", BUNDLE, "--html", page]) == 2
    assert "error: /dev/full cannot be written: " in capsys.readouterr().err


def test_no_step_at_all_is_refused(refusal):
    assert refusal() == "plan: no step is given; see: plan --help"
