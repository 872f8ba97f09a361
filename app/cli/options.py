"""Options that several commands have, and what is done with them."""

import os
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from app.cli.files import bundled_namespaces, load_cluster
from app.cli.missing import Kind, missing
from app.cli.paragraphs import printable
from app.config import Settings, load
from app.errors import InputError
from app.kube.cluster_objects import ClusterObjects
from app.kube.kubeconfig import kubeconfig_files
from app.kube.resources import IN_FILES, Kinds

ClusterFile = Annotated[
    Path | None,
    typer.Option(
        "--cluster-file",
        metavar="PATH",
        help="The cluster as files: a YAML or JSON file, a directory of them, what "
        "`kubectl get -o yaml` prints, or a Longhorn support bundle. Without it, a live cluster: "
        "the one this runs in, or kubectl's.",
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


class Output(StrEnum):
    """How a command prints its answer."""

    TABLE = "table"
    JSON = "json"


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
    path: Path, also: Sequence[Path] | None, rested_on: Sequence[Kind], kinds: Kinds = IN_FILES
) -> ClusterObjects:
    """Read a cluster from files; warn of what is broken, and of what is missing of these kinds."""
    cluster, problems = read_files(path, also, rested_on, kinds)
    warn(problems)
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
    return ", ".join(map(str, [path, *(also or ())]))


def warn(problems: Iterable[str]) -> None:
    """Print a warning for each problem, one line each."""
    for problem in problems:
        typer.echo(f"warning: {printable(problem)}", err=True)


def print_json(report: msgspec.Struct) -> None:
    """Print a report, indented."""
    typer.echo(msgspec.json.format(msgspec.json.encode(report), indent=2).decode())
