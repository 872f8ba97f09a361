"""`make demo` as its readers see it: what it prints, and with which status it ends."""

import re
import signal
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from app.config import NAME
from examples.demo.__main__ import main
from examples.demo.players import load
from examples.demo.screen import WIDTH
from examples.demo.stage import Stage
from tests.docs.consoles import agrees
from tests.docs.pages import DOCS, blocks

ROOT = Path(__file__).parents[2]
MOST_LINES = 40
END_SECONDS = 30.0


@pytest.fixture(scope="module")
def printed() -> str:
    """What the whole demonstration writes into a pipe."""
    done = subprocess.run(
        [sys.executable, "-m", "examples.demo"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def started() -> subprocess.Popen[str]:
    """Start the demonstration, as it runs for `make demo | head`."""
    return subprocess.Popen(
        [sys.executable, "-m", "examples.demo"],
        # Whoever runs the tests in the background may have made them deaf to Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def end_of(demo: subprocess.Popen[str]) -> str:
    """Wait for the end of a demonstration; return what it has written to stderr."""
    assert demo.stderr is not None
    errors = demo.stderr.read()
    demo.wait(END_SECONDS)
    return errors


def test_it_needs_no_package_that_the_service_does_not():
    """It plays the API server with the tests' own, and users have nothing else that tests need."""
    locked = re.findall(r"^[\w.-]+", (ROOT / "requirements" / "runtime.txt").read_text(), re.M)
    missing = [
        module
        for module, packages in packages_distributions().items()
        if not {re.sub(r"[-_.]+", "-", each).lower() for each in packages} & {*locked, NAME}
    ]
    without = "import sys; sys.modules.update(dict.fromkeys(sys.argv[1:])); import examples.demo."

    subprocess.run([sys.executable, "-c", f"{without}__main__", *missing], cwd=ROOT, check=True)


def test_screens_fit(printed):
    screens = re.split(r"^(?=== )", printed, flags=re.MULTILINE)[1:]

    assert len(screens) == 5  # four, and the closing line
    assert max(len(screen.splitlines()) for screen in screens) <= MOST_LINES
    assert max(map(len, printed.splitlines())) <= WIDTH
    assert "\x1b" not in printed


def test_the_quick_start_shows_what_is_printed(printed):
    [shown] = [block.text for block in blocks(DOCS / "quick-start.md") if block.language == "text"]

    assert agrees(shown, printed)


def test_it_ends_when_nobody_reads_any_more():
    with started() as demo:
        assert demo.stdout is not None
        demo.stdout.readline()
        demo.stdout.close()

        assert (end_of(demo), demo.returncode) == ("", 128 + signal.SIGPIPE)


def test_it_ends_on_ctrl_c():
    with started() as demo:
        assert demo.stdout is not None
        demo.stdout.readline()
        demo.send_signal(signal.SIGINT)

        assert (end_of(demo), demo.returncode) == ("", 128 + signal.SIGINT)


def test_an_unexpected_answer_ends_it_with_status_1(capsys):
    def expect_too_much(stage: Stage) -> None:
        stage.begin("Two nodes", "Only node-4 has room.", load(ROOT / "examples" / "goal2"))
        stage.ask("quad", ["node-3", "node-4"], expected=["node-3", "node-4"])

    status = main([expect_too_much])

    assert status == 1
    assert capsys.readouterr().out.splitlines()[-3:] == [
        "WRONG: nodes for quad: ['node-4'], expected ['node-3', 'node-4']",
        "",
        "== 1 answers, 0 as expected ".ljust(WIDTH, "="),
    ]
