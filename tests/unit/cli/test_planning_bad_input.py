"""What `plan` cannot use: one line that names it and says what to do, and exit status 2.

Arguments and scenarios stand in golden files, each above what is said of it.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.cli.plans import WIKI, Run, questions

SAMPLE = Path(WIKI).read_text()
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec: {containers: %s}\n"
SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: wiki}\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in a folder with a workload, and a scenario that includes another."""
    monkeypatch.chdir(tmp_path)
    Path("wiki.yaml").write_text(SAMPLE)
    Path("b.yaml").write_text("steps: [{include: it.yaml}]")


@pytest.fixture
def refusal(run: Run) -> Callable[..., str]:
    """Plan what is refused; return why."""

    def refused(*arguments: str) -> str:
        status, out, err = run(*arguments)
        [error] = [line for line in err.splitlines() if not line.startswith("warning: ")]
        assert (status, out, error[:7], "\x1b" in err) == (2, "", "error: ", False)
        return error.removeprefix("error: ")

    return refused


def test_arguments_are_refused(refusal, golden):
    told = {row: refusal(*row.split()[1:]) for row in questions("complaints/plan")}

    assert "; is 200Gi meant?" in told["plan add-disk node-3/ssd 200"]
    golden("complaints/plan", "".join(f"$ {row}\n{why}\n" for row, why in told.items()))


def test_scenarios_are_refused(refusal, golden):
    told = dict[str, str]()
    for row in questions("complaints/plan-run"):
        Path("it.yaml").write_text(row)
        told[row] = refusal("run", "it.yaml")

    assert "did you mean drain?" in told["steps: [{drian: a}]"]
    golden("complaints/plan-run", "".join(f"# {row}\n{why}\n" for row, why in told.items()))


@pytest.mark.parametrize("name", ["", "a\x1b[31mb", "x" * 300, "a\nb"])
def test_names_that_no_node_has_are_refused(refusal, name):
    expected = f"drain: {name[:60]!r} is no name of an object; give 1 to 253 characters that can "

    assert refusal("drain", name).startswith(expected)


BY_POLICY = "drain node-1 --policy it.yaml"
FILES: dict[str, tuple[str, str, str]] = {
    "workload-none": ("place it.yaml", SERVICE,
        "it.yaml holds no workload to place (it has Service); give a StatefulSet, "),
    "workload-unreadable": ("place it.yaml", POD % ("w", 5), "it.yaml[0]: correct Pod "),
    "workload-of-an-odd-size": ("place it.yaml", SAMPLE.replace("25Gi", "25GB"),
        "it.yaml[0]: correct StatefulSet "),
    "workloads-to-count": ("capacity it.yaml", "---\n".join(POD % (name, "[{name: a}]")
        for name in "abcde"), "there are several workloads (Pod default/a, Pod default/b, "
        "Pod default/c and 2 more); give a file with one of them\n"),
    "scenarios-in-a-circle": ("run it.yaml", "steps: [{include: b.yaml}]", "it.yaml includes "
        "itself (it.yaml -> b.yaml -> it.yaml); take one `include` out\n"),
    "steps-too-many": ("run it.yaml", "steps:\n" + "- cordon: node-1\n" * 1001,
        "it.yaml has more than 1000 steps; split it\n"),
    "policy-cut-off": (BY_POLICY, "{", "it.yaml is not JSON: "),
    "policy-deep": (BY_POLICY, "[" * 100_000, "it.yaml is not JSON: "),
    "policy-of-an-unknown-predicate": (BY_POLICY, '{"kind": "Policy", "version": "v1", '
        '"predicates": [{"name": "PodFitsPort"}]}', "it.yaml: predicates[0].name: there is no "
        "predicate 'PodFitsPort'; did you mean PodFitsPorts?"),
}  # fmt: skip
"""The command, what `it.yaml` has, and how the error begins; with a line break, all of it."""


@pytest.mark.parametrize(("words", "content", "text"), FILES.values(), ids=FILES)
def test_files_are_refused(refusal, words, content, text):
    Path("it.yaml").write_text(content)

    assert f"{refusal(*words.split())}\n".startswith(text)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_page_that_cannot_be_written_is_refused_before_the_plan(refusal):
    Path("full").mkdir(mode=0o500)

    assert "cannot be written; name another file" in refusal(
        "drain", "node-1", "--html", "full/x.html"
    )


def test_a_page_that_was_not_written_is_told(run):
    status, _, err = run("cordon", "node-1", "--html", "/dev/full")

    assert (status, "error: /dev/full cannot be written: " in err) == (2, True)
