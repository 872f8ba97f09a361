"""The command line: `serve` answers kube-scheduler, all others help people."""

import typer

from cli.catalogue import Severity
from cli.claims.command import show_claims
from cli.draining.command import may_drain
from cli.filtering import filter_pod
from cli.options import (
    ClusterCommand,
    Context,
    Kubeconfig,
    Output,
    Printed,
    Quiet,
    check_origin,
    load_settings,
    print_answer,
    tell,
)
from cli.overview.command import show_overview
from cli.paragraphs import output_width
from cli.planning.group import plan
from cli.release.command import release
from cli.running import new_program
from cli.scheduler_config.command import configure_scheduler
from cli.serving import OF_CONTROLLER, OF_SERVE, control_disk_schedules, serve
from cli.status.command import show_status
from cli.survey.command import show_survey
from cli.trial.command import trial

_RIGHT, _WRONG = 0, 1

commands = new_program()
commands.command("serve", **OF_SERVE)(serve)
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
commands.add_typer(trial, name="trial", short_help="Where do pods go, without it and with it?")
commands.add_typer(release, name="release", short_help="What the chart's hooks do.")
commands.command("may-drain", cls=ClusterCommand, short_help="May this node be drained now?")(
    may_drain
)
commands.command("disk-schedule-controller", **OF_CONTROLLER)(control_disk_schedules)
