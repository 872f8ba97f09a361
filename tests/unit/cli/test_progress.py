"""What takes long shows on a terminal how far it is, and nothing else is disturbed by it."""

import gc
import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import count

import pytest
import typer
from typer.testing import CliRunner

from app.errors import InputError
from cli.documents import parse_yaml
from cli.options import ClusterCommand, ClusterFile, Quiet
from cli.progress import SCREEN, Screen, progress


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@contextmanager
def screen(stream: io.StringIO, moments: Iterable[float]) -> Iterator[None]:
    """Show it on this stream; the clock has these seconds, and breaks after the last."""
    clock = iter(moments)
    before = SCREEN.set(Screen(stream, lambda: next(clock)))
    try:
        yield
    finally:
        SCREEN.reset(before)


GONE = "\r\033[K\033[?25h"
PLANS = {
    "short": (Terminal(), (0.0, 0.5, 1.9), 10, ""),
    "long": (Terminal(), (0.0, 0.5, 2.5), 10, "20/20"),
    "pods-asked-about-again": (Terminal(), (0.0, 3.0, 4.0, 5.0), 15, "20/20"),
    "no-terminal": (io.StringIO(), (0.0, 3.0, 4.0), 10, ""),
}
"""Where, when, and after how many pods each time it is told; of 20, and what is shown."""


@pytest.mark.parametrize(("stream", "moments", "pods", "expected"), PLANS.values(), ids=PLANS)
def test_a_long_plan_shows_how_many_pods_were_asked_about(stream, moments, pods, expected):
    with screen(stream, moments), progress("pods", 20) as asked:
        for _ in moments[1:]:
            asked(pods)

    text = stream.getvalue()
    assert expected in text
    assert text[-len(GONE) :] == (GONE if expected else "")


def test_the_bar_is_gone_after_an_error():
    def exhaust(asked):
        while True:
            asked(1)

    stream = Terminal()
    broken = pytest.raises(StopIteration)
    with screen(stream, [0.0, 3.0]), broken, progress("pods", 20) as asked:
        exhaust(asked)

    assert stream.getvalue().endswith(GONE)


@pytest.mark.parametrize(("stream", "is_shown"), [(Terminal(), True), (io.StringIO(), False)])
def test_yaml_that_takes_long_shows_its_share(stream, *, is_shown):
    with screen(stream, count(step=3.0)):
        parse_yaml("c.yaml", b"- a\n" * 50_000)

    shares = [f"{share}%" in stream.getvalue() for share in (0, 66)]
    assert shares == [is_shown, is_shown]
    assert ("reading" in stream.getvalue(), "100%" in stream.getvalue()) == (is_shown, False)
    assert stream.getvalue().endswith(GONE if is_shown else "")


@pytest.mark.parametrize(
    ("arguments", "environ", "is_wished"),
    [([], {}, True), (["-q"], {}, False), ([], {"NO_COLOR": "1"}, False)],
)
def test_a_command_shows_it_where_it_is_wished(arguments, environ, *, is_wished):
    app, seen = typer.Typer(), list[bool]()

    @app.command(cls=ClusterCommand)
    def show(cluster_file: ClusterFile = None, quiet: Quiet = False) -> None:  # noqa: ARG001, FBT002
        seen.append(SCREEN.get() is not None)

    CliRunner().invoke(app, arguments, env={"TERM": "xterm", "NO_COLOR": None, **environ})

    assert (seen, SCREEN.get()) == ([is_wished], None)


@pytest.mark.parametrize("text", [b"a: b", b"a: ["])
def test_the_garbage_collector_goes_on_after_reading(text):
    try:
        parse_yaml("c.yaml", text)
    except InputError:
        assert text == b"a: ["

    assert gc.isenabled()
