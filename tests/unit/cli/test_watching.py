"""Asking again until an answer is the last, without a wait: clock and sleep are given."""

import re
from collections.abc import Callable, Iterator

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

    def __init__(self, *answers: DrainReport | ApiError) -> None:
        self._answers: Iterator[DrainReport | ApiError] = iter(answers)
        self.now = 0.0
        self.asked_at = list[float]()
        self.told = list[DrainReport | ApiError]()

    def ask(self) -> DrainReport:
        self.asked_at.append(self.now)
        self.now += 1
        found = next(self._answers)
        if isinstance(found, ApiError):
            raise found
        return found

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def wait(self, timeout_seconds: float | None = None) -> DrainReport:
        waiting = Waiting(
            interval_seconds=10,
            timeout_seconds=timeout_seconds,
            clock=lambda: self.now,
            sleep=self.sleep,
        )
        tell: Callable[[DrainReport | ApiError], None] = self.told.append
        return ask_again(self.ask, waiting, tell, lambda report: report.may is May.YES)


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
    script = Script(*answers)

    found = script.wait(timeout_seconds)

    assert found == [each for each in answers if isinstance(each, DrainReport)][-1]
    assert (script.asked_at, script.told) == (asked_at, told)


def test_the_first_failure_is_an_error():
    with pytest.raises(ApiError):
        Script(AWAY).wait()


@pytest.mark.parametrize(
    ("output", "between"), [(WideOutput.TABLE, "\n"), (Output.YAML, "---\n"), (Output.JSON, "\n")]
)
def test_each_other_answer_is_printed_and_the_last_one_is_the_exit_status(capsys, output, between):
    one, two = Answer(text="one\n", status=1, error="what"), Answer(text="two\n", status=0)
    answers: Iterator[Answer | ApiError] = iter([one, one, AWAY, one, two, two])
    now = 0.0

    def ask() -> Answer:
        found = next(answers)
        if isinstance(found, ApiError):
            raise found
        return found

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    waiting = Waiting(interval_seconds=10, timeout_seconds=50, clock=lambda: now, sleep=sleep)
    with pytest.raises(typer.Exit) as ended:
        print_answers(ask, Watched(watch=True), output, waiting)

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


LIVE = [("filter",), ("filter", "pvc/data"), ("filter", "pod/web"), ("overview",), ("status",)]


@pytest.mark.parametrize("command", LIVE, ids=" ".join)
def test_files_do_not_change_and_are_not_watched(called, command, monkeypatch):
    monkeypatch.chdir(ROOT)

    said = called(*command, "--cluster-file", "examples/bundle", "--watch")

    assert said == (2, "", "error: --watch waits for a live cluster to change; files do not\n")


@pytest.mark.parametrize("option", ["--interval", "--timeout"])
def test_how_long_means_nothing_unless_it_is_watched(called, option):
    said = called("overview", option, "5")

    assert said == (2, "", "error: --interval and --timeout mean nothing without --watch\n")


def test_stdin_is_not_watched(called):
    status, out, err = called("filter", "-", "--watch")

    assert (status, out) == (2, "")
    assert err == "error: --watch reads it again, and stdin can be read once; name a file\n"


@pytest.mark.parametrize("command", [("filter", "pvc/web"), ("overview",)], ids=" ".join)
def test_the_first_answer_of_a_watch_is_that_without_it(called, server, config, command):
    put(server, [node_document(), *bound_claim(), volume()])
    words = (*command, "--kubeconfig", config)

    assert called(*words, "--watch", "--timeout", "0") == called(*words)
