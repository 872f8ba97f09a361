"""Asks a live cluster again and again, and prints the answer when it is another: `--watch`."""

import time
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, TypeVar

import msgspec
import typer

from app.errors import InputError
from app.kube.errors import ApiError
from cli.options import Where, print_text, tell

Found = TypeVar("Found")

_MOST_SECONDS = 30 * 86_400


class Watched(Where, frozen=True, kw_only=True):
    """The options of a command that can ask again."""

    watch: Annotated[
        bool,
        typer.Option(
            "--watch", help="Ask again, and print each answer that is another than the one before."
        ),
    ] = False
    interval: Annotated[
        int | None,
        typer.Option(
            metavar="SECONDS",
            min=1,
            max=_MOST_SECONDS,
            show_default=False,
            help="Of --watch, between two questions. Default: 10.",
        ),
    ] = None
    timeout: Annotated[
        int | None,
        typer.Option(
            metavar="SECONDS",
            min=0,
            max=_MOST_SECONDS,
            show_default=False,
            help="Of --watch: give up after so long. Default: never.",
        ),
    ] = None


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """How long to wait, and how often to look."""

    interval_seconds: float
    timeout_seconds: float | None
    """None: without end."""
    clock: Callable[[], float]
    """Seconds that only go forward."""
    sleep: Callable[[float], None]


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a command answers."""

    text: str
    """What goes to stdout, with its line ends."""
    status: int
    error: str = ""
    """What goes to stderr after that; empty if nothing does."""


def check_watched(given: Watched) -> None:
    """Refuse options that mean nothing together."""
    if not given.watch and (given.interval is not None or given.timeout is not None):
        raise InputError("--interval and --timeout mean nothing without --watch")
    if given.watch and given.cluster_file is not None:
        raise InputError("--watch waits for a live cluster to change; files do not")


def waiting_of(given: Watched) -> Waiting:
    """Return how long a command waits, in real time."""
    return Waiting(
        interval_seconds=10 if given.interval is None else given.interval,
        timeout_seconds=given.timeout,
        clock=time.monotonic,
        sleep=time.sleep,
    )


def ask_again(
    ask: Callable[[], Found],
    waiting: Waiting,
    tell: Callable[[Found | ApiError], None],
    is_last: Callable[[Found], bool],
) -> Found:
    """Ask until an answer is the last, or the time is over; return it.

    An API server that is away is waited for, once it has answered.

    Args:
        ask: Reads the cluster and judges.
        waiting: How long.
        tell: Told each answer that is another than the one before, and each failure.
        is_last: Whether nothing more is waited for.

    Raises:
        ApiError: The first question failed.
    """
    began = waiting.clock()
    answer = ask()
    tell(answer)
    while not is_last(answer):
        seconds = waiting.interval_seconds
        if waiting.timeout_seconds is not None:
            seconds = min(seconds, began + waiting.timeout_seconds - waiting.clock())
        if seconds <= 0:
            break
        waiting.sleep(seconds)
        try:
            found = ask()
        except ApiError as error:
            tell(error)
            continue
        if found != answer:
            tell(found)
        answer = found
    return answer


def print_answers(
    ask: Callable[[], Answer], given: Watched, output: StrEnum, waiting: Waiting | None = None
) -> None:
    """Print the answer, and with --watch each other one; then raise its exit status.

    Args:
        ask: Reads the cluster and answers.
        given: Whether it is watched.
        output: The form of the text, which says how two of them are kept apart.
        waiting: How long; in real time as the options say, if it is None.
    """
    check_watched(given)
    if not given.watch:
        found = ask()
        _print(found)
    else:
        tell = _each(given, "---\n" if output.value == "yaml" else "\n")
        found = ask_again(ask, waiting or waiting_of(given), tell, lambda _: False)
    raise typer.Exit(found.status)


def _each(given: Watched, between: str) -> Callable[[Answer | ApiError], None]:
    """Return what prints one answer after another, and says when."""
    is_first = True

    def say(found: Answer | ApiError) -> None:
        nonlocal is_first
        if not (is_first or given.quiet):
            text = f"asked again soon: {found}" if isinstance(found, ApiError) else "has changed"
            tell(f"{time.strftime('%H:%M:%S')} ", text)
        if isinstance(found, Answer):
            print_text("" if is_first else between)
            _print(found)
            is_first = False

    return say


def _print(found: Answer) -> None:
    print_text(found.text)
    if found.error:
        tell("error: ", found.error)
