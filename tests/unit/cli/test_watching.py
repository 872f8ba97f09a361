"""Asking again until an answer is the last, without a wait: clock and sleep are given."""

import re
from typing import Any

import pytest
import typer

from app.kube.errors import ApiError
from cli.draining.judging import May
from cli.draining.report import DrainReport
from cli.options import Output, WideOutput, warner
from cli.watching import Answer, Waiting, Watched, ask_again, print_answers
from tests.builders import node_document
from tests.unit.cli.live import put
from tests.unit.cli.plans import ROOT
from tests.unit.cli.situations import bound_claim, volume


def answer(may: May, origin: str = "it") -> DrainReport:
    return DrainReport(origin=origin, may=may, nodes=(), next=None)


NOT_YET, YES, UNKNOWN = (answer(may) for may in (May.NOT_YET, May.YES, May.UNKNOWN))
AWAY = ApiError("it is away")


class Script:
    """Gives answers one after another, each of which takes a second."""

    def __init__(self, *answers: Any) -> None:
        self._answers = iter(answers)
        self.now = 0.0
        self.asked_at = list[float]()

    def ask(self) -> Any:
        self.asked_at.append(self.now)
        self.now += 1
        found = next(self._answers)
        if isinstance(found, ApiError):
            raise found
        return found

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def waiting(self, timeout_seconds: float | None) -> Waiting:
        return Waiting(
            interval_seconds=10, timeout_seconds=timeout_seconds, clock=lambda: self.now,
            sleep=self.sleep,
        )  # fmt: skip


def is_yes(report: DrainReport) -> bool:
    return report.may is May.YES


OTHER = answer(May.NOT_YET, "another")
Answers = list[DrainReport | ApiError]
ROWS: dict[str, tuple[float | None, Answers, list[float], Answers]] = {
    "yes-at-once": (None, [YES], [0], [YES]),
    "yes-after-intervals": (None, [NOT_YET, UNKNOWN, YES], [0, 11, 22], [NOT_YET, UNKNOWN, YES]),
    # It asks a last time then.
    "time-that-ends": (15, [NOT_YET, NOT_YET, NOT_YET], [0, 11, 15], [NOT_YET]),
    "time-of-none": (0, [NOT_YET], [0], [NOT_YET]),
    "changes-told-once":
        (None, [NOT_YET, NOT_YET, OTHER, YES], [0, 11, 22, 33], [NOT_YET, OTHER, YES]),
    "server-away":
        (None, [NOT_YET, AWAY, AWAY, YES], [0, 11, 22, 33], [NOT_YET, AWAY, AWAY, YES]),
    "server-away-at-the-end": (20, [NOT_YET, AWAY, AWAY], [0, 11, 20], [NOT_YET, AWAY, AWAY]),
}  # fmt: skip
"""How long it may take, what is answered, when it is asked, and what is told."""


@pytest.mark.parametrize("name", ROWS)
def test_it_asks_again_until_a_yes_or_the_end_of_the_time(name):
    timeout_seconds, answers, asked_at, told = ROWS[name]
    script, heard = Script(*answers), Answers()

    found = ask_again(script.ask, script.waiting(timeout_seconds), heard.append, is_yes)

    assert found == [each for each in answers if isinstance(each, DrainReport)][-1]
    assert (script.asked_at, heard) == (asked_at, told)


def test_the_first_failure_is_an_error():
    script = Script(AWAY)

    with pytest.raises(ApiError):
        ask_again(script.ask, script.waiting(None), Answers().append, is_yes)


@pytest.mark.parametrize(
    ("output", "between"), [(WideOutput.TABLE, "\n"), (Output.YAML, "---\n"), (Output.JSON, "\n")]
)
def test_each_other_answer_is_printed_and_the_last_one_is_the_exit_status(capsys, output, between):
    one, two = Answer(text="one\n", status=1, error="what"), Answer(text="two\n", status=0)
    script = Script(one, one, AWAY, one, two, two)

    with pytest.raises(typer.Exit) as ended:
        print_answers(script.ask, Watched(watch=True), output, script.waiting(50))

    out, err = capsys.readouterr()
    assert (ended.value.exit_code, out) == (0, f"one\n{between}two\n")
    said = [re.sub(r"^\d\d:\d\d:\d\d ", "", line) for line in err.splitlines()]
    assert said == ["error: what", "asked again soon: it is away", "has changed"]


@pytest.mark.parametrize(("quiet", "said"), [(False, ["one", "two", "three"]), (True, [])])
def test_a_problem_that_is_met_each_time_is_a_warning_once(capsys, *, quiet, said):
    warn = warner(quiet=quiet)

    for problems in (["one", "two"], ["two", "one"], ["one", "three"]):
        warn(problems)

    assert capsys.readouterr().err.splitlines() == [f"warning: {each}" for each in said]


FILES = "--watch waits for a live cluster to change; files do not"
WITHOUT_WATCH = "--interval and --timeout mean nothing without --watch"
REFUSED = {
    **{f"{words} --cluster-file examples/bundle --watch": FILES
       for words in ("filter", "filter pvc/data", "filter pod/web", "overview", "status")},
    "overview --interval 5": WITHOUT_WATCH,
    "overview --timeout 5": WITHOUT_WATCH,
    "filter - --watch": "--watch reads it again, and stdin can be read once; name a file",
}  # fmt: skip


@pytest.mark.parametrize(("words", "said"), REFUSED.items())
def test_what_cannot_be_watched_is_an_error(called, monkeypatch, words, said):
    monkeypatch.chdir(ROOT)

    assert called(*words.split()) == (2, "", f"error: {said}\n")


@pytest.mark.parametrize("command", [("filter", "pvc/web"), ("overview",)], ids=" ".join)
def test_the_first_answer_of_a_watch_is_that_without_it(called, server, config, command):
    put(server, [node_document(), *bound_claim(), volume()])
    words = (*command, "--kubeconfig", config)

    assert called(*words, "--watch", "--timeout", "0") == called(*words)
