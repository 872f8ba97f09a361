"""What `plan` cannot use: one line that names it and says what to do, and exit status 2."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.running import run_command
from tests.unit.cli.plans import BUNDLE, WIKI

SAMPLE = Path(WIKI).read_text()
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec: {containers: [{name: a}]}\n"
SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: wiki}\n"
WAITING = "apiVersion: v1\nkind: Pod\nmetadata: {name: w}\nspec: %s\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in a folder with a workload, and without settings."""
    monkeypatch.chdir(tmp_path)
    Path("wiki.yaml").write_text(SAMPLE)


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


ARGUMENTS = """
drian node-1
drain
place a b
add-disk node-3/ssd 200
resize data-db-0
drain nod-1
drain zebra
drain node-1 node-1
remove-disk node-1
rebalance
rebalance --below 101
add-disk node-1 1Ti
add-disk node-1/x 0
add-disk node-1/x 9999Ei
add-disk node-1/x 100GiB
add-disk node-1/x 1Ti --reserved -1
add-node node-7
add-node Node_7 --like node-1
add-node n n --like node-1
scale db
scale db many
scale db 200000
scale a/b/c 1
scale sts/deploy/c 1
scale sts/ 1
resize data-db-0 0
resize data-db-0 much
resize data-db-0 1e400
set foo
set =1
set a=1 a=2
capacity
capacity wiki.yaml --size 1Gi
capacity wiki.yaml --class a
capacity --size 5
capacity --size 5Gi --class gone
capacity --size 5Gi --volume-replicas 21
place wiki.yaml --size 5Gi
place nothing.yaml
place .
place wiki.yaml --replicas -1
place wiki.yaml --replicas x
place wiki.yaml --seed -1
place wiki.yaml --seed 2147483648
place wiki.yaml --runs 0
place wiki.yaml --in-flight 0
place wiki.yaml --output xml
place wiki.yaml --until-full --replicas 3
place wiki.yaml --most 3
place wiki.yaml --like node-1
drain node-1 --tag ssd
lose node-1 --force
place wiki.yaml --policy old
place wiki.yaml --policy wiki.yaml
place wiki.yaml --html no/x.html
place wiki.yaml --html .
drain node-1 --kubeconfig k
run nothing.yaml
run wiki.yaml
"""


def test_arguments_are_refused(refusal, golden):
    rows = ARGUMENTS.split("\n")[1:-1]
    told = {row: refusal(*row.split()) for row in rows}

    assert "; is 200Gi meant?" in told["add-disk node-3/ssd 200"]
    golden("complaints/plan", "".join(f"$ plan {row}\n{why}\n" for row, why in told.items()))


@pytest.mark.parametrize("name", ["", "a\x1b[31mb", "x" * 300, "a\nb"])
def test_names_that_no_node_has_are_refused(refusal, name):
    expected = f"drain: {name[:60]!r} is no name of an object; give 1 to 253 characters that can "

    assert refusal("drain", name).startswith(expected)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (SERVICE, "it.yaml holds no workload to place (it has Service); give a StatefulSet, "),
        (WAITING % "{containers: 5}", "it.yaml[0]: correct Pod "),
        (SAMPLE.replace("25Gi", "25GB"), "it.yaml[0]: correct StatefulSet "),
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


SCENARIOS = """

a: [
steps: []
steps: drain
steps: {drain: node-1}
[{drain: node-1}]
stages: []
{}
steps: [drain]
steps: [{drian: a}]
steps: [{}]
steps: [{drain: null}]
steps: [{drain: a, lose: b}]
steps: [{drain: 5}]
steps: [{drain: []}]
steps: [{drain: [a, a]}]
steps: [{drain: {nodes: a, forced: true}}]
steps: [{include: it.yaml}]
steps: [{include: no.yaml}]
steps: [{place: no.yaml}]
steps: [{place: {file: wiki.yaml, replicas: -1}}]
steps: [{place: {file: wiki.yaml, replicas: x}}]
steps: [{fill: {file: wiki.yaml, most: 0}}]
steps: [{set: {}}]
steps: [{set: {a: [1]}}]
steps: [{set: {a: 1}}, {drain: node-1}]
steps: [{addNode: {name: n}}]
steps: [{addNode: {name: A, like: b}}]
steps: [{addDisk: {node: node-1, disk: '', size: 1Ti}}]
steps: [{scale: {workload: db, replicas: -1}}]
steps: [{resize: {claim: data-db-0, size: -5Gi}}]
steps: [{lose: node-1}, {drain: node-1}]
"""


def test_scenarios_are_refused(refusal, golden):
    told = dict[str, str]()
    for row in SCENARIOS.split("\n")[1:-1]:
        Path("it.yaml").write_text(row)
        told[row] = refusal("run", "it.yaml")

    assert "did you mean drain?" in told["steps: [{drian: a}]"]
    golden("complaints/plan-run", "".join(f"# {row}\n{why}\n" for row, why in told.items()))


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
