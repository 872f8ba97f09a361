"""A long plan shows on a terminal how far it is, and nothing else is disturbed by it."""

import io
from collections.abc import Callable, Iterator

import pytest

from cli.planning.progress import progress


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


def shown(stream: io.StringIO, *moments: float, pods: int = 10, is_wished: bool = True) -> str:
    """Plan 20 pods at these moments, of which the first one is the beginning."""
    clock = seconds(*moments)
    with progress(20, stream, lambda: next(clock), is_wished=is_wished) as asked:
        for _ in moments[1:]:
            asked(pods)
    return stream.getvalue()


def test_a_short_plan_shows_nothing() -> None:
    assert shown(Terminal(), 0.0, 0.5, 1.9) == ""


def test_a_long_plan_shows_how_many_pods_were_asked_about() -> None:
    text = shown(Terminal(), 0.0, 0.5, 2.5)

    assert "20/20" in text
    assert text.endswith("\r\033[K\033[?25h")


def test_pods_that_are_asked_about_again_do_not_count_twice() -> None:
    assert "20/20" in shown(Terminal(), 0.0, 3.0, 4.0, 5.0, pods=15)


def test_without_a_terminal_there_is_nothing() -> None:
    assert shown(io.StringIO(), 0.0, 3.0, 4.0) == ""


def test_where_it_is_not_wished_there_is_nothing() -> None:
    assert shown(Terminal(), 0.0, 3.0, 4.0, is_wished=False) == ""


def test_the_bar_is_gone_after_an_error() -> None:
    stream, clock = Terminal(), seconds(0.0, 3.0)
    shown_to = progress(20, stream, lambda: next(clock), is_wished=True)

    with pytest.raises(StopIteration), shown_to as asked:
        exhaust(asked)

    assert stream.getvalue().endswith("\r\033[K\033[?25h")
