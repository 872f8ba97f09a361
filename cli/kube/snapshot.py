"""A live cluster read once, for commands that answer one question."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import structs

from app.kube.connection import Connection
from app.kube.discovery import is_served
from app.kube.errors import ApiError, StatusError
from app.kube.feed import Source
from app.kube.listing import list_records
from app.kube.resource import Kinds
from app.kube.resources import CONFIG_MAPS, OPTED_OUT_NODES
from app.kube.sources import sources
from app.settings import Settings
from cli.kube.cluster_objects import ClusterObjects
from cli.kube.resources import (
    ASKED,
    ATTACHMENTS,
    BUDGETS,
    CSI_DRIVERS,
    DRIVER_ATTACHMENTS,
    KUBERNETES_NODES,
    PLANNED,
    PODS,
    SERVICES,
    STORAGE_CAPACITIES,
    WORKLOADS,
)
from longhorn import Node, Unreadable

_PAGE_SECONDS = 60.0
_FORBIDDEN, _FORBIDDEN_OR_ABSENT = frozenset({403}), frozenset({403, 404})


class Scope(msgspec.Struct, frozen=True):
    """What a command reads of a live cluster."""

    kinds: Kinds
    without: Mapping[str, str]
    """What to do, or what it means, if one of these names may not be listed. All else is needed.
    The service's own rights do not cover these."""


_NOT_TOLD = (
    "which nodes kube-scheduler leaves out for want of storage is told by Longhorn's setting"
)
_HOLDERS_UNKNOWN = "who holds a volume that a pod waits for is not known"
EXPLAINING = Scope(
    ASKED,
    {
        PODS.name: "give the pod in a file",
        KUBERNETES_NODES.name: "the candidates are Longhorn's nodes",
        CSI_DRIVERS.name: _NOT_TOLD,
        STORAGE_CAPACITIES.name: _NOT_TOLD,
        ATTACHMENTS.name: _HOLDERS_UNKNOWN,
        DRIVER_ATTACHMENTS.name: _HOLDERS_UNKNOWN,
    },
)
PLANNING = Scope(
    PLANNED,
    {
        PODS.name: "nothing takes CPU, memory or ports, and no pod is moved",
        KUBERNETES_NODES.name: "the nodes are Longhorn's, with their zones and without limits",
        SERVICES.name: "pods of one Service are not spread",
        BUDGETS.name: "no budget stops a drain",
        **{each.name: "only those of its pods count that there are" for each in WORKLOADS},
    },
)


def read_cluster(
    settings: Settings, kubeconfig: Path | None, context: str | None, scope: Scope = EXPLAINING
) -> tuple[ClusterObjects, list[str], str]:
    """Read a live cluster once.

    Returns:
        Its objects, a line for each that cannot be read, and the namespace of what a user names
        without one.

    Raises:
        AppError: There is no cluster to connect to, or it does not let us.
    """
    from app.kube.connecting import connect  # noqa: PLC0415 (it takes long)

    async def read() -> tuple[ClusterObjects, list[str], str]:
        connection = await connect(kubeconfig, context)
        try:
            return *await read_snapshot(connection, settings, scope), connection.namespace
        finally:
            await connection.close()

    return asyncio.run(read())


async def read_snapshot(
    connection: Connection, settings: Settings, scope: Scope = EXPLAINING
) -> tuple[ClusterObjects, list[str]]:
    """List everything that decisions rest on, and what else the command reads.

    Args:
        connection: To the API server.
        settings: Of the process.
        scope: What the command reads.

    Returns:
        The objects, and a line for each that cannot be read; also one if there is no Longhorn
        Node.

    Raises:
        ApiError: Something could not be listed; the text names it.
    """
    cluster, problems = ClusterObjects(), list[str]()
    others = dict(scope.kinds)
    followed = [
        structs.replace(source, resource=others.pop((source.resource.group, source.resource.kind)))
        for source in sources(settings)
        if source.resource not in (CONFIG_MAPS, OPTED_OUT_NODES)
    ]
    more = [
        Source(
            resource=each,
            namespace=settings.longhorn_namespace if each.group == ATTACHMENTS.group else "",
        )
        for each in others.values()
    ]
    for source in [*followed, *more]:
        try:
            if source.resource.is_optional and not await is_served(
                connection, source, deadline_seconds=_PAGE_SECONDS
            ):
                continue
            await _read(connection, source, cluster, problems)
        except ApiError as error:
            instead = scope.without.get(source.resource.name)
            refused = _FORBIDDEN
            if source.resource.is_advisory:
                instead = "what it would tell of nodes is taken to be all right"
                refused = _FORBIDDEN_OR_ABSENT
            if instead and isinstance(error, StatusError) and error.status in refused:
                problems.append(f"{source.resource.name} cannot be listed; {instead}: {error}")
                continue
            raise ApiError(f"{source.resource.name} cannot be listed: {error}") from error
    if not cluster.of(Node):
        problems.append(
            f"there is no Longhorn Node (nodes.longhorn.io) in {settings.longhorn_namespace}; if "
            f"Longhorn is elsewhere, name its namespace in EXTENDER_LONGHORN_NAMESPACE"
        )
    return cluster, problems


async def _read(
    connection: Connection, source: Source, cluster: ClusterObjects, problems: list[str]
) -> None:
    name = source.resource.name
    for record in await list_records(
        connection,
        source,
        on_skipped=lambda why: problems.append(f"{name}: {why}"),
        page_seconds=_PAGE_SECONDS,
    ):
        cluster.add(record)
        if isinstance(record, Unreadable):
            problems.append(f"{record.kind} {record.name} cannot be read: {record.why}")
