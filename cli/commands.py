"""The command line: `serve` answers kube-scheduler, all others help people."""

import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Annotated

import typer

from app.config import NAME
from app.disk_schedule.settings import load_controller
from app.errors import AppError
from app.logs import configure_logs
from cli.catalogue import Severity
from cli.claims.command import show_claims
from cli.draining.command import may_drain
from cli.filtering import filter_pod
from cli.kube.view import build_view
from cli.missing import ANSWERED_FROM
from cli.options import (
    Also,
    ClusterCommand,
    ClusterFile,
    Context,
    Kubeconfig,
    Output,
    Printed,
    Quiet,
    check_origin,
    load_files,
    load_settings,
    origin_of,
    print_answer,
    tell,
    with_flags,
)
from cli.overview.command import show_overview
from cli.paragraphs import output_width
from cli.planning.group import plan
from cli.release.command import release
from cli.sample import sample_request
from cli.scheduler_config.command import configure_scheduler
from cli.status.command import show_status
from cli.survey.command import show_survey

BAD_INPUT = 2
_RIGHT, _WRONG = 0, 1

commands = typer.Typer(
    name=NAME,
    help="Tells kube-scheduler which nodes can hold the Longhorn volumes of a pod.",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # its help has escape sequences in CI, and cuts names
)


def _print_version(wanted: bool) -> None:  # noqa: FBT001 (typer passes it so)
    if wanted:
        typer.echo(version(NAME))
        raise typer.Exit


@commands.callback()
def program(
    _version: Annotated[  # noqa: FBT002 (a flag)
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print it.")
    ] = False,
) -> None:
    """Tell kube-scheduler which nodes can hold the Longhorn volumes of a pod."""


@commands.command(cls=ClusterCommand, short_help="Answer kube-scheduler.")
def serve(
    cluster_file: ClusterFile = None,
    also: Also = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")
    ] = None,
) -> None:
    """Answer kube-scheduler for a live cluster as one of several instances, or for a cluster file.

    A live cluster is watched, and the instance that holds the Lease answers. A file is read once.
    """
    from app.instance import service  # noqa: PLC0415 (it takes longer than `filter` as a whole)

    settings = load_settings(host=host, port=port)
    configure_logs(settings.log_level)
    check_origin(cluster_file, kubeconfig, context, also)
    if cluster_file is None:
        service.serve_cluster(settings, kubeconfig, context)
    else:
        view = build_view(load_files(cluster_file, also, ANSWERED_FROM))

        def show_sample(port: int) -> None:
            if not settings.tls_cert_file:  # nobody knows which certificate a client has
                typer.echo(f"try: {sample_request(view, settings.host, port)}", err=True)

        service.serve_view(view, origin_of(cluster_file, also), settings, show_sample)


commands.command(
    "filter", cls=ClusterCommand, short_help="Why is a pod Pending, and where does it fit?"
)(filter_pod)


@commands.command("doctor", short_help="Is the extender installed as it must be?")
def examine(
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    output: Printed = Output.TABLE,
    _quiet: Quiet = False,  # noqa: FBT002 (a flag; there is nothing to leave out)
) -> None:
    """Check the installation in a live cluster, and say how to correct what is wrong.

    EXTENDER_NAMESPACE and EXTENDER_LONGHORN_NAMESPACE say where to look. It takes some seconds.

    Exit status: 0 no error (there may be warnings), 1 some error, 2 there is no cluster to check.
    """
    from cli.doctor import command, report  # noqa: PLC0415 (it takes long)

    settings = load_settings()
    check_origin(None, kubeconfig, context)
    found = report.make_report(command.examine(settings, kubeconfig, context))
    print_answer(found, output, report.table_lines(found, output_width()))
    raise typer.Exit(_WRONG if found.counts[Severity.ERROR] else _RIGHT)


@commands.command("propose-address", short_help="Which address may the Service have?")
def propose_address(
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    output: Printed = Output.TABLE,
    quiet: Quiet = False,  # noqa: FBT002 (a flag)
) -> None:
    """Print a free address for the Service: a line for each family, and on stderr why.

    EXTENDER_NAMESPACE says where the Service is or will be. This needs the rights to list Services
    in all namespaces, and ServiceCIDRs.

    Exit status: 0 printed, 2 there is none, or no cluster to look into.
    """
    from cli.address import command  # noqa: PLC0415 (it takes long)

    settings = load_settings()
    check_origin(None, kubeconfig, context)
    proposal = command.propose_address(settings.namespace, kubeconfig, context)
    if not quiet:
        for note in proposal.notes:
            tell("", note)
    print_answer(proposal, output, proposal.addresses)


commands.command("status", cls=ClusterCommand, short_help="Is all well, on one screen?")(
    show_status
)
commands.command("overview", cls=ClusterCommand, short_help="What does each disk have left?")(
    show_overview
)
commands.command("claims", cls=ClusterCommand, short_help="What does each claim have?")(show_claims)
commands.command("survey", cls=ClusterCommand, short_help="What is at risk?")(show_survey)
commands.command("scheduler-config", short_help="How is kube-scheduler to be configured?")(
    configure_scheduler
)
commands.add_typer(plan, name="plan", short_help="What would happen if?")
commands.add_typer(release, name="release", short_help="What the chart's hooks do.")
commands.command("may-drain", cls=ClusterCommand, short_help="May this node be drained now?")(
    may_drain
)


@commands.command("disk-schedule-controller", short_help="Decide what each disk holds.")
def control_disk_schedules(
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    manage_objects: Annotated[
        bool | None,
        typer.Option(
            "--manage-objects/--no-manage-objects",
            help="Create and delete the DiskSchedules, too: one for each disk.",
        ),
    ] = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")
    ] = None,
) -> None:
    """Decide what each disk holds, by its DiskSchedule, as one of several instances.

    Experimental: no release of Longhorn needs it. Only for a Longhorn that writes requirements into
    DiskSchedules and has no controller of its own: beside such a one it writes nothing. /readyz
    says what it lacks.
    """
    from app.disk_schedule import service  # noqa: PLC0415 (it takes long)

    flags = {
        "EXTENDER_HOST": host,
        "EXTENDER_PORT": port,
        "EXTENDER_MANAGE_OBJECTS": manage_objects,
    }
    settings = load_controller(with_flags(flags))
    configure_logs(settings.log_level)
    check_origin(None, kubeconfig, context)
    service.run_controller(settings, kubeconfig, context)


def run_command(arguments: Sequence[str]) -> int:
    """Run one command and return the exit status; print one line for what the user can correct."""
    if not arguments:
        run_command(["--help"])
        return BAD_INPUT
    try:
        status = int(commands(args=list(arguments), standalone_mode=False) or 0)
        sys.stdout.flush()
    except AppError as error:
        return _fail(str(error))
    except typer.TyperException as error:
        return _fail(error.format_message())
    except typer.Abort:
        return _fail("aborted")
    except OSError as error:  # of the output; errors of files name the file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush at exit
        return _fail(f"the output cannot be written: {error.strerror}")
    return status


def _fail(text: str) -> int:
    tell("error: ", " ".join(text.split()))
    return BAD_INPUT
