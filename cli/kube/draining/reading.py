"""A live cluster read once for `may-drain`."""

from collections.abc import Sequence

from app.kube.connection import Connection
from app.kube.discovery import is_served
from app.kube.errors import ApiError
from app.kube.feed import Source
from app.kube.listing import list_records
from app.settings import Settings
from cli.kube.cluster_objects import ClusterObjects
from cli.kube.draining.kinds import DRAINED, GUESTS
from longhorn import NodeName, Unreadable

_PAGE_SECONDS = 60.0


async def read_drained(
    connection: Connection, settings: Settings, nodes: Sequence[NodeName]
) -> tuple[ClusterObjects, list[str]]:
    """List all that the answer for *nodes* rests on; of pods only those that are there.

    Returns:
        The objects, and a line for each that cannot be read.

    Raises:
        ApiError: Something could not be listed; the text names it.
    """
    cluster, problems = ClusterObjects(), list[str]()
    for source in _sources(settings, nodes):
        try:
            await _read(connection, source, cluster, problems)
        except ApiError as error:
            name = source.resource.name
            raise ApiError(f"{name} cannot be listed: {error}") from error
    return cluster, problems


async def _read(
    connection: Connection, source: Source, cluster: ClusterObjects, problems: list[str]
) -> None:
    name = source.resource.name
    if source.resource.is_optional and not await is_served(
        connection, source, deadline_seconds=_PAGE_SECONDS
    ):
        return
    for record in await list_records(
        connection,
        source,
        on_skipped=lambda why: problems.append(f"{name}: {why}"),
        page_seconds=_PAGE_SECONDS,
    ):
        cluster.put(record)
        if isinstance(record, Unreadable):
            problems.append(f"{record.kind} {record.name} cannot be read: {record.why}")


def _sources(settings: Settings, nodes: Sequence[NodeName]) -> list[Source]:
    found = [Source(resource=GUESTS, fields=f"spec.nodeName={node}") for node in nodes]
    for resource in DRAINED.values():
        if resource is not GUESTS:
            namespace = settings.longhorn_namespace if resource.group == "longhorn.io" else ""
            found.append(Source(resource=resource, namespace=namespace))
    return found
