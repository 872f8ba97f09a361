"""The commands that serve, apart from all others: these would be a third of what they keep."""

from typing import Annotated, Any

import typer

from app.disk_schedule.settings import load_controller
from app.logs import configure_logs
from cli.missing import ANSWERED_FROM
from cli.options import (
    Also,
    ClusterCommand,
    ClusterFile,
    Context,
    Kubeconfig,
    check_origin,
    load_files,
    load_settings,
    origin_of,
    with_flags,
)
from cli.running import new_program

OF_SERVE: dict[str, Any] = {"cls": ClusterCommand, "short_help": "Answer kube-scheduler."}
OF_CONTROLLER: dict[str, Any] = {"short_help": "Decide what each disk holds."}


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
        from cli.kube.view import build_view  # noqa: PLC0415 (as long as all of `filter`)
        from cli.sample import sample_request  # noqa: PLC0415 (the same)

        view = build_view(load_files(cluster_file, also, ANSWERED_FROM))

        def show_sample(port: int) -> None:
            if not settings.tls_cert_file:  # nobody knows which certificate a client has
                typer.echo(f"try: {sample_request(view, settings.host, port)}", err=True)

        service.serve_view(view, origin_of(cluster_file, also), settings, show_sample)


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


serving = new_program()
serving.command("serve", **OF_SERVE)(serve)
serving.command("disk-schedule-controller", **OF_CONTROLLER)(control_disk_schedules)
