"""A test that misses a program is left out where nobody asks for it, and never without a trace."""

from pathlib import Path

import pytest

from tests import tools


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only one on the PATH; empty."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("REQUIRE_TOOLS", raising=False)
    return tmp_path


def make_program(folder: Path, name: str) -> str:
    program = folder / name
    program.touch(0o755)
    return str(program)


def test_the_first_that_is_there_is_found(folder):
    kubectl = make_program(folder, "kubectl")
    assert tools.find("kustomize", "kubectl") == kubectl

    kustomize = make_program(folder, "kustomize")
    assert tools.find("kustomize", "kubectl") == kustomize


@pytest.mark.usefixtures("folder")
def test_a_test_that_misses_one_is_skipped_and_says_how_to_run_it():
    with pytest.raises(
        pytest.skip.Exception, match=r"^curl is missing; apt-get install curl, then `make test-too"
    ):
        tools.find("curl")


@pytest.mark.usefixtures("folder")
def test_where_all_must_be_there_it_fails(monkeypatch):
    monkeypatch.setenv("REQUIRE_TOOLS", "1")

    with pytest.raises(pytest.fail.Exception, match="curl is missing"):
        tools.find("curl")


def skipped(reason: str) -> pytest.TestReport:
    report = ("test_page.py", 7, f"Skipped: {reason}")
    return pytest.TestReport("test_page.py::test", ("", 0, ""), {}, "skipped", report, "setup")


@pytest.mark.parametrize("is_marked", [True, False])
def test_no_test_without_the_mark_is_left_out(request, *, is_marked):
    if is_marked:
        request.node.add_marker(pytest.mark.tools)
    report = skipped("curl is missing; apt-get install curl, then `make test-tools`")

    tools.judge(report, request.node)

    assert report.outcome == ("skipped" if is_marked else "failed")


def test_other_skips_are_left_alone(request):
    report = skipped("root may write everywhere")

    tools.judge(report, request.node)

    assert report.longrepr == ("test_page.py", 7, "Skipped: root may write everywhere")
