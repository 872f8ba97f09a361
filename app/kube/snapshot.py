"""A live cluster read once, for commands that answer one question."""

from msgspec import structs

from app.config import Settings
from app.kube.cluster_objects import ClusterObjects
from app.kube.connection import Connection
from app.kube.discovery import is_served
from app.kube.errors import ApiError, StatusError
from app.kube.feed import Source
from app.kube.listing import list_records
from app.kube.resources import CONFIG_MAPS, EXPLAINED, KUBERNETES_NODES, PODS
from app.kube.sources import sources
from extender import Unreadable
from longhorn import Node

_PAGE_SECONDS = 60.0
_FORBIDDEN = 403
_WITHOUT = {
    PODS.name: "give the pod in a file",
    KUBERNETES_NODES.name: "the candidates are Longhorn's nodes",
}
"""What is not needed; the service's own rights do not cover these."""


async def read_snapshot(
    connection: Connection, settings: Settings
) -> tuple[ClusterObjects, list[str]]:
    """List everything that decisions rest on, and the pods and nodes.

    Returns:
        The objects, and a line for each that cannot be read; also one if there is no Longhorn
        Node.

    Raises:
        ApiError: Something could not be listed; the text names it.
    """
    cluster, problems = ClusterObjects(), list[str]()
    followed = [source for source in sources(settings) if source.resource is not CONFIG_MAPS]
    more = {each.name: each for each in EXPLAINED}
    for plain in [*followed, Source(resource=PODS), Source(resource=KUBERNETES_NODES)]:
        source = structs.replace(plain, resource=more.get(plain.resource.name, plain.resource))
        try:
            if source.resource.is_optional and not await is_served(
                connection, source, deadline_seconds=_PAGE_SECONDS
            ):
                continue
            await _read(connection, source, cluster, problems)
        except ApiError as error:
            instead = _WITHOUT.get(source.resource.name)
            if instead and isinstance(error, StatusError) and error.status == _FORBIDDEN:
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
