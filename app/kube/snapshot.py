"""A live cluster read once, for commands that answer one question."""

from app.config import Settings
from app.kube.cluster import sources
from app.kube.cluster_objects import ClusterObjects
from app.kube.connection import Connection
from app.kube.errors import ApiError, StatusError
from app.kube.feed import Feed, Source
from app.kube.records import Unreadable
from app.kube.resources import CONFIG_MAPS, KUBERNETES_NODES, PODS

_PAGE_SECONDS = 60.0
_FORBIDDEN = 403
_WITHOUT = {
    PODS.name: "give the pod in a file",
    KUBERNETES_NODES.name: "the candidates are Longhorn's nodes",
}
"""What can be done without; the rights of the service itself do not cover these."""


async def read_snapshot(
    connection: Connection, settings: Settings
) -> tuple[ClusterObjects, list[str]]:
    """List everything that decisions rest on, and the pods and nodes.

    Returns:
        The objects, and a line for each that cannot be read.

    Raises:
        ApiError: Something could not be listed; the text names it.
    """
    cluster, problems = ClusterObjects(), list[str]()
    followed = [source for source in sources(settings) if source.resource is not CONFIG_MAPS]
    for source in [*followed, Source(resource=PODS), Source(resource=KUBERNETES_NODES)]:
        try:
            await _read(connection, source, cluster, problems)
        except ApiError as error:
            instead = _WITHOUT.get(source.resource.name)
            if instead and isinstance(error, StatusError) and error.status == _FORBIDDEN:
                problems.append(f"{source.resource.name} cannot be listed; {instead}: {error}")
                continue
            raise ApiError(f"{source.resource.name} cannot be listed: {error}") from error
    return cluster, problems


async def _read(
    connection: Connection, source: Source, cluster: ClusterObjects, problems: list[str]
) -> None:
    name = source.resource.name
    feed = Feed(source, on_skipped=lambda why: problems.append(f"{name}: {why}"))
    token = ""
    while True:
        content = await connection.request(
            "GET", source.path, query=feed.page_query(token), deadline_seconds=_PAGE_SECONDS
        )
        page = feed.read_page(content)
        for change in feed.take_objects(page.items or ()):
            if change.new is not None:
                cluster.add(change.new)
            if isinstance(change.new, Unreadable):
                broken = change.new
                problems.append(f"{broken.kind} {broken.name} cannot be read: {broken.why}")
        token = page.metadata.token or ""
        if not token:
            return
