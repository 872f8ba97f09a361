"""Runs one command from its arguments to its exit status."""

import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Annotated

import typer

from app.config import NAME
from app.errors import AppError
from cli.options import tell

BAD_INPUT = 2
_SERVING = ("serve", "disk-schedule-controller")


def new_program() -> typer.Typer:
    """Return a program without commands."""
    program = typer.Typer(
        name=NAME,
        help="Tells kube-scheduler which nodes can hold the Longhorn volumes of a pod.",
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # its help has escape sequences in CI, and cuts names
    )

    @program.callback()
    def describe(
        _version: Annotated[  # noqa: FBT002 (a flag)
            bool,
            typer.Option("--version", callback=_print_version, is_eager=True, help="Print it."),
        ] = False,
    ) -> None:
        """Tell kube-scheduler which nodes can hold the Longhorn volumes of a pod."""

    return program


def _print_version(wanted: bool) -> None:  # noqa: FBT001 (typer passes it so)
    if wanted:
        typer.echo(version(NAME))
        raise typer.Exit


def run_command(arguments: Sequence[str]) -> int:
    """Run one command and return the exit status; print one line for what the user can correct."""
    if not arguments:
        run_command(["--help"])
        return BAD_INPUT
    try:
        commands = _program(arguments[0])
        status = int(commands(args=list(arguments), standalone_mode=False) or 0)
        sys.stdout.flush()
    except AppError as error:
        return _fail(str(error))
    except typer.TyperException as error:
        return _fail(error.format_message())
    except (typer.Abort, KeyboardInterrupt):  # the second while modules are read
        return _fail("aborted")
    except OSError as error:  # of the output; errors of files name the file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush at exit
        return _fail(f"the output cannot be written: {error.strerror}")
    return status


def _fail(text: str) -> int:
    tell("error: ", " ".join(text.split()))
    return BAD_INPUT


def _program(command: str) -> typer.Typer:
    """Return the program, with no more commands than it takes to run one that stays for long."""
    if command in _SERVING:
        from cli.serving import serving  # noqa: PLC0415 (that is what it is for)

        return serving
    from cli.commands import commands  # noqa: PLC0415 (the same)

    return commands
