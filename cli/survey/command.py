"""The command `survey`: what is at risk, offline as well."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from app.errors import InputError
from app.page.now import claims_by_volume
from cli.catalogue import Severity
from cli.explaining.explainer import Explainer
from cli.holders import holders_for
from cli.kube.pods import Pod
from cli.kube.resources import ASKED
from cli.missing import ANSWERED_FROM
from cli.options import (
    Also,
    ClusterFile,
    Context,
    Kubeconfig,
    Output,
    Printed,
    Quiet,
    check_origin,
    load_settings,
    origin_of,
    print_answer,
    read_files,
    warn,
)
from cli.paragraphs import output_width
from cli.remedies.relief import relief
from cli.survey.found import Helps
from cli.survey.lines import lines
from cli.survey.survey import survey
from cli.volumes.command import what_helps
from extender import Extender
from longhorn import Node

_NO_ERROR, _ERRORS = 0, 1


def show_survey(
    cluster_file: ClusterFile = None,
    also: Also = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    output: Printed = Output.TABLE,
    show_all: Annotated[  # noqa: FBT002 (a flag)
        bool, typer.Option("--all", help="Name every object.")
    ] = False,
    quiet: Quiet = False,  # noqa: FBT002 (a flag)
) -> None:
    """Find what is at risk: volumes, nodes that may not be lost, disks that fill up, classes.

    It looks at objects alone, so it works on files and on a support bundle. What it finds has a
    remedy each; `doctor` checks the installation of the extender instead.

    Exit status: 0 no error (there may be warnings), 1 some error, 2 the input cannot be used.
    """
    settings = load_settings()
    check_origin(cluster_file, kubeconfig, context, also)
    if cluster_file is None:
        from cli.kube import snapshot  # noqa: PLC0415 (it takes long)

        cluster, problems, _ = snapshot.read_cluster(settings, kubeconfig, context)
        warn(problems, quiet=quiet)
    else:
        cluster, problems = read_files(cluster_file, also, ANSWERED_FROM, ASKED)
        warn(problems, quiet=quiet)
    if not cluster.of(Node):
        raise InputError("there is no Longhorn Node, so there is nothing to look at")
    origin, utc = None, None
    if cluster_file is None:
        utc = datetime.now(UTC)
    else:
        origin = origin_of(cluster_file, also)
    explainer = Explainer(cluster, settings, utc, origin)
    view = explainer.view
    held = (
        f"{pod.key} ({holder.text})"
        for _, pod in sorted(cluster.of(Pod).items())
        for _, holder in holders_for(pod, cluster, view)
    )
    helps = Helps(
        volume=lambda name: what_helps(name, explainer),
        disk=lambda node, disk: [each.text for each in relief(node, disk, explainer.builder)],
    )
    claims = claims_by_volume(view.claims.values(), view)
    extender = Extender(settings.step_limits, settings.reservation_mode, settings.balance)
    found = survey(view, extender, claims, held, helps)
    print_answer(found, output, lines(found, output_width(), show_all=show_all))
    is_bad = any(each.severity is Severity.ERROR for each in found.findings)
    raise typer.Exit(_ERRORS if is_bad else _NO_ERROR)
