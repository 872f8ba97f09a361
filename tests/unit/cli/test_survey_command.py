"""`survey` in a pipeline: what fails it, what is known and left out, and JUnit's XML."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from app.errors import InputError
from cli.catalogue import RISKS, Severity
from cli.findings import Finding
from cli.survey.ignoring import read_ignored, without
from cli.survey.junit import junit_lines
from cli.survey.survey import Survey
from tests.unit.cli.plans import BUNDLE, ROOT

GOLDEN = Path(__file__).parent / "golden"
RICH = str(ROOT / "examples" / "rich")
SINGLE = Finding(
    code="single-replica",
    severity=Severity.WARNING,
    text="2 volumes with one replica",
    objects=["default/cache (1 of 1)", "shop/tmp-1"],
)
FULL = Finding(
    code="disk-full",
    severity=Severity.ERROR,
    text="disk node-1/d is full: \x00\x1b<&>\ufffe",
    objects=["node-1/d"],
    remedies=["free \x07 room"],
)


def survey(*findings: Finding) -> Survey:
    return Survey(findings=findings, nodes_that_may_be_lost=(), notes=())


@pytest.mark.parametrize(
    ("files", "fail_on", "expected"),
    [
        *((BUNDLE, None, 0), (BUNDLE, "error", 0)),  # it has warnings and infos
        *((BUNDLE, "warning", 1), (BUNDLE, "info", 1), (RICH, "error", 1), (RICH, "never", 0)),
    ],
)
def test_fail_on_says_how_bad_a_finding_must_be(called, files, fail_on, expected):
    more = ["--fail-on", fail_on] if fail_on else []

    assert called("survey", "--cluster-file", files, *more)[0] == expected


def test_what_is_ignored_fails_nothing(called, write):
    file = write("# known\n\nsingle-replica\nnode-has-* default/build-cache # one\n*-near-limit\n")
    words = ("survey", "--cluster-file", BUNDLE, "--fail-on", "warning")

    status, out, _ = called(*words, "--ignore", str(file))

    assert (called(*words)[0], status) == (1, 0)
    assert "--ignore leaves out 3 more" in out


IGNORED = {
    **{"single-replica": "", "single-*": "", "* *": ""},
    **{"single-replica default/*": "shop/tmp-1", "single-replica default/cache": "shop/tmp-1"},
    "single-replica */tmp-*": "default/cache (1 of 1)",
    # These leave out nothing.
    **dict.fromkeys(["single-replica cache", "disk-full default/*"], "; ".join(SINGLE.objects)),
}


@pytest.mark.parametrize(("line", "objects"), IGNORED.items())
def test_a_line_leaves_out_the_objects_that_it_covers(write, line, objects):
    left, idle = without(survey(SINGLE), read_ignored(write(line)))

    kept = [*filter(None, objects.split("; "))]
    text = SINGLE.text + ("; 1 of them ignored" if len(kept) == 1 else "")
    assert [(each.text, [*each.objects]) for each in left.findings] == [(text, kept)][: len(kept)]
    assert left.ignored == 2 - len(kept)
    assert bool(idle) is (len(kept) == 2)


def test_a_line_that_ignores_nothing_is_a_warning_that_names_it(called, write):
    file = write("single-replica\n\ndisk-full node-9/*\n")

    _, _, err = called("survey", "--cluster-file", BUNDLE, "--ignore", str(file))

    assert f"warning: {file}, line 3: disk-full node-9/* ignores nothing" in err
    assert "line 1" not in err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("disk-ful", "line 1: there is no code disk-ful; did you mean disk-full?"),
        ("\nxyz", "line 2: there is no code xyz; docs/survey.md has all"),
        ("disk-full a b", "line 1: give a code, or a code and an object, not disk-full a b"),
        (b"\xff", "is no text"),
    ],
)
def test_what_is_no_such_file_is_an_error(write, content, said):
    with pytest.raises(InputError, match=r"cluster\.yaml") as caught:
        read_ignored(write(content))

    assert said in str(caught.value)


def parsed(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text)  # noqa: S314 (our own)


def test_junit_has_a_case_for_each_code_and_no_character_that_xml_cannot_have():
    """It fails what the exit status fails."""

    def junit(*failing):
        lines = junit_lines(survey(FULL, SINGLE), lambda each: each.severity in failing)
        return "\n".join(lines) + "\n"

    written = junit(Severity.ERROR)

    suite = parsed(written)
    assert [case.get("name") for case in suite] == [*RISKS]
    assert [case.get("name") for case in suite if case.find("failure") is not None] == ["disk-full"]
    assert written == (GOLDEN / "survey-junit.xml").read_text(encoding="utf-8")
    suite = parsed(junit(Severity.ERROR, Severity.WARNING))
    assert (suite.get("failures"), len(suite.findall("testcase/failure"))) == ("2", 2)


def test_junit_is_what_the_command_prints(called):
    status, out, _ = called("survey", "--cluster-file", RICH, "-o", "junit", "--fail-on", "never")

    assert (status, parsed(out).get("failures")) == (0, "0")
