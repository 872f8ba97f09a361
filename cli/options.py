"""Options that several commands have, and what is done with them."""

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from inspect import signature
from pathlib import Path
from time import monotonic
from typing import Annotated, Any, TypeVar

import msgspec
import typer
import yaml
from typer.core import TyperCommand

from app.errors import InputError
from app.kube.kubeconfig import kubeconfig_files
from app.kube.resource import Kinds
from app.logs import has_colours
from app.settings import Settings, load
from cli.bundles import bundled_namespaces
from cli.files import load_cluster
from cli.kube.cluster_objects import ClusterObjects
from cli.kube.resources import IN_FILES
from cli.missing import Kind, missing
from cli.paragraphs import error_width, paragraph
from cli.progress import SCREEN, Screen
from cli.stdin import name_of

ClusterFile = Annotated[
    Path | None,
    typer.Option(
        "--cluster-file",
        metavar="PATH",
        help="The cluster as files: a YAML or JSON file, a directory of them, what "
        "`kubectl get -o yaml` prints, or a Longhorn support bundle, packed by zip, tar or gzip "
        "or not; - is stdin. Without it, a live cluster: the one this runs in, or kubectl's.",
    ),
]
Also = Annotated[
    list[Path] | None,
    typer.Option(
        "--also",
        metavar="PATH",
        help="More objects of the same cluster, in any of the forms of --cluster-file, such as a "
        "pod and its claims that a support bundle lacks. May be given several times. Of an object "
        "that is there twice the first one counts.",
    ),
]
Kubeconfig = Annotated[
    Path | None,
    typer.Option(metavar="PATH", help="The kubeconfig of the live cluster."),
]
Context = Annotated[str | None, typer.Option(help="The context in the kubeconfig.")]

Namespace = Annotated[
    str | None,
    typer.Option(
        "--namespace",
        "-n",
        metavar="NAME",
        show_default=False,
        help="Of what is given without one, by its name or in a file. Default: that of the "
        "kubeconfig's context in use, if a kubeconfig is read; else, and in a pod of the cluster, "
        "default.",
    ),
]
_BEYOND_ASCII = re.compile(r"[^\x00-\x7e]")
DEFAULT_NAMESPACE = "default"
"""Where the cluster is files."""


Warn = Callable[[Iterable[str]], None]
"""Prints a warning for each problem."""


class Output(StrEnum):
    """How a command prints its answer."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


class WideOutput(StrEnum):
    """The same, of a command whose table may have more columns."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"


def output_option(kinds: type[StrEnum]) -> Any:
    """Return the option that says how an answer is printed."""
    return typer.Option("--output", "-o", metavar="|".join(kinds), help="How to print the answer.")


Printed = Annotated[Output, output_option(Output)]
PrintedWide = Annotated[WideOutput, output_option(WideOutput)]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet", "-q", help="No warnings and no progress on stderr: the answer, and errors."
    ),
]


class Where(msgspec.Struct, frozen=True, kw_only=True):
    """The options that say which cluster it is."""

    cluster_file: ClusterFile = None
    also: Also = None
    kubeconfig: Kubeconfig = None
    context: Context = None
    quiet: Quiet = False


_Given = TypeVar("_Given", bound=msgspec.Struct)


def command_of(
    options: type[_Given],
) -> Callable[[Callable[[_Given], None]], Callable[..., None]]:
    """Make a command of what takes all its arguments and options as one value.

    Args:
        options: A field for each, as Typer's own parameters are declared.
    """

    def made(run: Callable[[_Given], None]) -> Callable[..., None]:
        def command(**given: Any) -> None:
            run(options(**given))

        command.__signature__ = signature(options)  # type: ignore[attr-defined]
        command.__doc__ = run.__doc__
        return command

    return made


class ClusterCommand(TyperCommand):
    """Has --cluster-file, once, since only the last would be read, and shows how far it is."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        _, _, given = self.make_parser(ctx).parse_args([*args])
        if [each.name for each in given].count("cluster_file") > 1:
            raise InputError("--cluster-file is given twice; give one, and add others with --also")
        return super().parse_args(ctx, args)

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        is_wished = has_colours(os.environ) and not ctx.params.get("quiet")
        before = SCREEN.set(Screen(sys.stderr, monotonic) if is_wished else None)
        try:
            return super().invoke(ctx)
        finally:
            SCREEN.reset(before)


def load_settings(*, host: str | None = None, port: int | None = None) -> Settings:
    """Return the settings from the environment, flags before variables."""
    return load(with_flags({"EXTENDER_HOST": host, "EXTENDER_PORT": port}))


def with_flags(flags: Mapping[str, str | int | None]) -> dict[str, str]:
    """Return the variables of the environment, with the flags that are given in their place."""
    given = {name: str(value) for name, value in flags.items() if value is not None}
    return {**os.environ, **given}


def check_origin(
    cluster_file: Path | None,
    kubeconfig: Path | None,
    context: str | None,
    also: Sequence[Path] | None = None,
) -> None:
    if cluster_file is not None and (kubeconfig is not None or context is not None):
        raise InputError(
            "--cluster-file names another cluster than --kubeconfig and --context; give one"
        )
    if also and cluster_file is None:
        raise InputError("--also adds to the files of --cluster-file, which is not given")
    if kubeconfig is not None:
        kubeconfig_files(kubeconfig, os.environ)


def load_files(
    path: Path, also: Sequence[Path] | None, rested_on: Sequence[Kind], *, quiet: bool = False
) -> ClusterObjects:
    """Read a cluster from files; warn of what is broken, and of what is missing of these kinds."""
    cluster, problems = read_files(path, also, rested_on)
    warn(problems, quiet=quiet)
    return cluster


def read_files(
    path: Path, also: Sequence[Path] | None, rested_on: Sequence[Kind], kinds: Kinds = IN_FILES
) -> tuple[ClusterObjects, list[str]]:
    """Read a cluster from files; return what is broken or missing of these kinds as well."""
    paths = [path, *(also or ())]
    cluster, problems = load_cluster(*paths, kinds=kinds)
    bundled = frozenset[str]().union(*map(bundled_namespaces, paths))
    return cluster, [*problems, *missing(cluster, origin_of(path, also), rested_on, bundled)]


def origin_of(path: Path, also: Sequence[Path] | None) -> str:
    """Name the files that a cluster comes from."""
    return ", ".join(map(name_of, [path, *(also or ())]))


def warn(problems: Iterable[str], *, quiet: bool = False) -> None:
    """Print a warning for each problem on stderr, if that is not to be quiet."""
    if not quiet:
        for problem in problems:
            tell("warning: ", problem)


def warner(*, quiet: bool) -> Warn:
    """Return what warns of each problem once, however often it is met."""
    told = set[str]()

    def warn_once(problems: Iterable[str]) -> None:
        new = [each for each in problems if each not in told]
        told.update(new)
        warn(new, quiet=quiet)

    return warn_once


def tell(start: str, text: str) -> None:
    """Print a text on stderr, in the width of a terminal; elsewhere it is one line."""
    for line in paragraph(start, text, error_width()):
        typer.echo(line, err=True)


def print_answer(report: msgspec.Struct, output: StrEnum, lines: Iterable[str]) -> None:
    """Print a report for programs, or for people the lines that are made of it.

    Raises:
        InputError: As `written_answer`.
    """
    print_text(written_answer(report, output, lines))


def written_answer(report: msgspec.Struct, output: StrEnum, lines: Iterable[str]) -> str:
    """Return a report as it is printed.

    Raises:
        InputError: Programs could not read it: a name in it is no Unicode.
    """
    try:
        if output.value == Output.JSON:
            text = msgspec.json.format(msgspec.json.encode(report), indent=2).decode()
            return _BEYOND_ASCII.sub(_escaped, text) + "\n"
        if output.value == Output.YAML:
            return written_yaml(report)
    except UnicodeEncodeError as error:  # of a file, or half a character in JSON
        raise InputError(
            f"{error.object!r:.100} is in the answer and no Unicode; rename it, or leave out -o"
        ) from error
    return "".join(f"{line}\n" for line in lines)


def _escaped(found: re.Match[str]) -> str:
    """Write a character that is no ASCII, or an escape if it could change what a terminal shows."""
    return found[0] if found[0].isprintable() else json.dumps(found[0])[1:-1]


def print_text(text: str) -> None:
    """Print a text, in colours only where a terminal shows them and nobody minds."""
    colour = None if has_colours(os.environ) else False  # None: if it is a terminal
    typer.echo(text, nl=False, color=colour)


def written_yaml(report: msgspec.Struct) -> str:
    """Return what the JSON of a report says, as YAML."""
    return yaml.dump(msgspec.to_builtins(report), Dumper=_Dumper, sort_keys=False)


class _Dumper(yaml.CSafeDumper):
    """Writes texts in quotes that some reader takes for numbers, such as the node 12e3."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 (PyYAML's signature)
        return True


_Dumper.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^([-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|0o[0-7]+)$"),
    list("-+.0123456789"),
)
