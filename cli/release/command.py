"""The commands that hooks of the chart run in an installation."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated

import typer

from cli.kube.asking import SCHEDULER
from cli.options import Context, Kubeconfig, check_origin, load_settings
from cli.release.steps import Installation

SchedulerName = Annotated[
    str, typer.Option("--scheduler", help="The schedulerName of the second kube-scheduler.")
]

release = typer.Typer(
    name="release",
    help="Begin and end injection. The chart's hooks run this.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@release.command(short_help="Make new pods with claims ask for the extender.")
def begin(kubeconfig: Kubeconfig = None, context: Context = None) -> None:
    """Make new pods with claims ask for the extender, from now on.

    Where it can answer: the chart's Job asks for the extender itself, so it runs only then.
    """
    _run(Installation.begin, SCHEDULER, kubeconfig, context)


@release.command(short_help="Send the second scheduler no more pods.")
def pause(
    scheduler: SchedulerName = SCHEDULER, kubeconfig: Kubeconfig = None, context: Context = None
) -> None:
    """Send the second scheduler no more pods, and wait until those that it has got have nodes."""
    _run(Installation.pause, scheduler, kubeconfig, context)


@release.command(short_help="End an installation, and leave no pod that nobody schedules.")
def end(
    scheduler: SchedulerName = SCHEDULER, kubeconfig: Kubeconfig = None, context: Context = None
) -> None:
    """End an installation: first injection, then the schedulers, the instances and their Leases.

    It waits until pods that ask for the extender have nodes, 90 s at most, and names the others.
    What Helm or kustomize made is to be deleted after it.
    """
    _run(Installation.end, scheduler, kubeconfig, context)


def _run(
    step: Callable[[Installation], Awaitable[None]],
    scheduler: str,
    kubeconfig: Kubeconfig,
    context: Context,
) -> None:
    from app.kube.connecting import connect  # noqa: PLC0415 (it takes long)

    settings = load_settings()
    check_origin(None, kubeconfig, context)

    async def run() -> None:
        connection = await connect(kubeconfig, context)
        try:
            await step(Installation(connection, settings.namespace, scheduler, typer.echo))
        finally:
            await connection.close()

    asyncio.run(run())
