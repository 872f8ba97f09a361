"""The command line: `serve` answers kube-scheduler, all others help people."""

import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Annotated

import typer

from app.config import NAME
from app.disk_schedule.settings import load_controller
from app.errors import AppError, InputError
from app.logs import configure_logs
from cli.draining.command import may_drain
from cli.explaining.command import Explainer
from cli.explaining.lines import Form, lines
from cli.explaining.pending import PendingPods, pending_lines, pending_pods
from cli.kube.cluster_objects import ClusterObjects
from cli.kube.pods import Pod
from cli.kube.resources import ASKED, PODS
from cli.kube.view import build_view
from cli.missing import ANSWERED_FROM, ASKED_FROM
from cli.names import node_name, split_kind
from cli.options import (
    Also,
    ClusterFile,
    Context,
    Kubeconfig,
    Output,
    Printed,
    PrintedWide,
    Quiet,
    WideOutput,
    check_origin,
    load_files,
    load_settings,
    origin_of,
    print_answer,
    read_files,
    tell,
    warn,
    with_flags,
)
from cli.overview.command import show_overview
from cli.paragraphs import output_width
from cli.planning.group import plan
from cli.pods import find_pod, is_file
from cli.scheduler_config.command import configure_scheduler
from cli.survey.command import show_survey
from cli.volumes.command import VOLUMES, explain_volume
from cli.volumes.lines import volume_lines
from longhorn import Node, NodeName, Unreadable
from planner.errors import unknown
from planner.naming import first_of
from planner.records import KubernetesNode

BAD_INPUT = 2
_FITS, _DOES_NOT_FIT, _NOT_JUDGED = 0, 1, 3
_DONE, _NOT_DONE = 0, 1
_RIGHT, _WRONG = 0, 1
_NAMESPACE = "default"
"""Of a pod in files that is named without one."""

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


@commands.command(short_help="Answer kube-scheduler.")
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
        service.serve_view(build_view(load_files(cluster_file, also, ANSWERED_FROM)), settings)


@commands.command("filter", short_help="Why is a pod Pending, and where does it fit?")
def filter_pod(
    wanted: Annotated[
        str | None,
        typer.Argument(
            metavar="[POD]",
            show_default=False,
            help="The pod: pod/NAME or NAME as for kubectl, NAMESPACE/NAME, or a file with one (- "
            "is stdin). Without it: all pods that wait for a node. Or a claim or volume: "
            "pvc/NAME, pvc/NAMESPACE/NAME, volume/NAME.",
        ),
    ] = None,
    pod: Annotated[
        str | None,
        typer.Option("--pod", metavar="POD", show_default=False, help="The same, as an option."),
    ] = None,
    namespace: Annotated[
        str | None,
        typer.Option(
            "--namespace",
            "-n",
            help="Of a pod or claim that is given without one. Default: that of the kubeconfig's "
            "context in use, if a kubeconfig is read; else, and in a pod of the cluster, default.",
        ),
    ] = None,
    cluster_file: ClusterFile = None,
    also: Also = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    nodes: Annotated[
        str | None, typer.Option(metavar="A,B", help="The candidate nodes; all by default.")
    ] = None,
    output: PrintedWide = WideOutput.TABLE,
    all_nodes: Annotated[  # noqa: FBT002 (a flag)
        bool, typer.Option("--all", help="Show every node with every disk.")
    ] = False,
    quiet: Quiet = False,  # noqa: FBT002 (a flag)
) -> None:
    """Show which nodes can hold a pod's volumes, how good each is, and why others cannot.

    Without a pod: all pods that wait for a node, each in a line.

    Of a claim or a volume: whether its replicas are placed and it is attached,
    and why not. Exit status then: 0 all of it is, 1 not all, 2 the input cannot
    be used.

    Exit status: 0 the pod fits on some node (or every pod that waits), 1 it fits on none, or
    kube-scheduler refuses it, 2 the input cannot be used, 3 a pod, or a claim of it, cannot be
    judged.
    """
    settings = load_settings()
    name = _only_one(wanted, pod)
    check_origin(cluster_file, kubeconfig, context, also)
    if cluster_file is None:
        from cli.kube import snapshot  # noqa: PLC0415 (it takes long)

        cluster, problems, in_use = snapshot.read_cluster(settings, kubeconfig, context)
        warn(problems, quiet=quiet)
        utc = datetime.now(UTC)
    else:
        cluster, problems = read_files(cluster_file, also, ASKED_FROM, ASKED)
        warn(problems, quiet=quiet)
        in_use = _NAMESPACE
        utc = None  # of when it is, nobody knows
    form = Form(width=output_width(), all_nodes=all_nodes, wide=output is WideOutput.WIDE)
    candidates = cluster.candidates() if nodes is None else _node_names(nodes, cluster)
    origin = None if cluster_file is None else origin_of(cluster_file, also)
    kind, plain = split_kind(name) if name and not is_file(name) else (None, "")
    asked = None
    if name is not None and kind not in VOLUMES:
        asked = find_pod(name, namespace or in_use, cluster)  # the cluster gets its claims
    explainer = Explainer(cluster, settings, utc, origin)
    if kind in VOLUMES:
        report = explain_volume(kind, plain, namespace or in_use, explainer, candidates)
        print_answer(report, output, volume_lines(report, form))
        raise typer.Exit(_DONE if report.done else _NOT_DONE)
    if asked is None:
        unread = [each for kind, each in cluster.of(Unreadable) if kind == PODS.label]
        if not (unread or cluster.of(Pod)):
            raise InputError("no pod is known, so none can be judged; add pods, or name a file")
        raise typer.Exit(_show_pending(pending_pods(explainer, candidates), output, unread))
    found = explainer.explain(asked, candidates, all_nodes=all_nodes)
    print_answer(found, output, lines(found, form))
    if found.error:
        tell("error: ", found.error)
        raise typer.Exit(_NOT_JUDGED)
    raise typer.Exit(_FITS if found.fits else _DOES_NOT_FIT)


def _show_pending(found: PendingPods, output: WideOutput, unread: Sequence[str]) -> int:
    """Print what becomes of all pods that wait; return the exit status."""
    print_answer(found, output, pending_lines(found, output_width()))
    if unread:
        tell("error: ", f"Pod {first_of(unread, 3)} cannot be read: whether it waits is not known")
        return _NOT_JUDGED
    if any(each.error for each in found.pods):
        return _NOT_JUDGED
    return _FITS if all(each.fits for each in found.pods) else _DOES_NOT_FIT


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
    from cli.doctor import command, problems, report  # noqa: PLC0415 (it takes long)

    settings = load_settings()
    check_origin(None, kubeconfig, context)
    found = report.make_report(command.examine(settings, kubeconfig, context))
    print_answer(found, output, report.table_lines(found, output_width()))
    raise typer.Exit(_WRONG if found.counts[problems.Severity.ERROR] else _RIGHT)


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


commands.command("overview", short_help="What does each disk have left?")(show_overview)
commands.command("survey", short_help="What is at risk?")(show_survey)
commands.command("scheduler-config", short_help="How is kube-scheduler to be configured?")(
    configure_scheduler
)
commands.add_typer(plan, name="plan", short_help="What would happen if?")
commands.command("may-drain", short_help="May this node be drained now?")(may_drain)


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


def _node_names(names: str, cluster: ClusterObjects) -> list[NodeName]:
    found = [NodeName(node_name(name.strip())) for name in names.split(",") if name.strip()]
    if not found:
        raise InputError("--nodes names no node")
    known = {*cluster.of(KubernetesNode), *cluster.of(Node)}
    for name in found:
        if name not in known:
            raise InputError(f"--nodes: {unknown('node', name, known)}")
    return found


def _only_one(wanted: str | None, option: str | None) -> str | None:
    """Return the pod, which is given as the argument or with --pod, if one is."""
    if wanted is not None and option is not None:
        raise InputError(f"two pods are given, {wanted} and {option}; give one")
    name = option if wanted is None else wanted
    if name == "":
        raise InputError("a pod without a name is given; give POD, or nothing for all that wait")
    return name


def _fail(text: str) -> int:
    tell("error: ", " ".join(text.split()))
    return BAD_INPUT
