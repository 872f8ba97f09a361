"""What takes long shows on a terminal how far it is, and nothing else is disturbed by it."""

import gc
import io
from collections.abc import Callable, Iterator
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


def exhaust(asked: Callable[[int], None]) -> None:
    """Go on until the clock breaks."""
    while True:
        asked(1)


def seconds(*moments: float) -> Iterator[float]:
    yield from moments


@contextmanager
def screen(stream: io.StringIO, clock: Callable[[], float]) -> Iterator[None]:
    before = SCREEN.set(Screen(stream, clock))
    try:
        yield
    finally:
        SCREEN.reset(before)


def shown(stream: io.StringIO, *moments: float, pods: int = 10) -> str:
    """Plan 20 pods at these moments, of which the first one is the beginning."""
    clock = seconds(*moments)
    with screen(stream, lambda: next(clock)), progress("pods", 20) as asked:
        for _ in moments[1:]:
            asked(pods)
    return stream.getvalue()


def test_a_short_plan_shows_nothing():
    assert shown(Terminal(), 0.0, 0.5, 1.9) == ""


def test_a_long_plan_shows_how_many_pods_were_asked_about():
    text = shown(Terminal(), 0.0, 0.5, 2.5)

    assert "20/20" in text
    assert text.endswith("\r\033[K\033[?25h")


def test_pods_that_are_asked_about_again_do_not_count_twice():
    assert "20/20" in shown(Terminal(), 0.0, 3.0, 4.0, 5.0, pods=15)


def test_without_a_terminal_there_is_nothing():
    assert shown(io.StringIO(), 0.0, 3.0, 4.0) == ""


def test_the_bar_is_gone_after_an_error():
    stream, clock = Terminal(), seconds(0.0, 3.0)

    with (
        screen(stream, lambda: next(clock)),
        pytest.raises(StopIteration),
        progress("pods", 20) as asked,
    ):
        exhaust(asked)

    assert stream.getvalue().endswith("\r\033[K\033[?25h")


@pytest.mark.parametrize(("stream", "is_shown"), [(Terminal(), True), (io.StringIO(), False)])
def test_yaml_that_takes_long_shows_its_share(stream, *, is_shown):
    clock = count(step=3.0)
    with screen(stream, lambda: next(clock)):
        parse_yaml("c.yaml", b"- a\n" * 50_000)

    shares = [f"{share}%" in stream.getvalue() for share in (0, 66)]
    assert shares == [is_shown, is_shown]
    assert ("reading" in stream.getvalue(), "100%" in stream.getvalue()) == (is_shown, False)
    assert stream.getvalue().endswith("\r\033[K\033[?25h" if is_shown else "")


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
