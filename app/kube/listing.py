"""Objects of one kind, listed once."""

from collections.abc import Callable

from app.kube.connection import Connection
from app.kube.feed import Feed, Source
from app.kube.mirror import Known


async def list_records(
    connection: Connection,
    source: Source,
    *,
    on_skipped: Callable[[str], None],
    page_seconds: float,
) -> list[Known]:
    """Return the records of all objects there are now.

    Args:
        connection: To the API server.
        source: Which objects.
        on_skipped: Called with the reason for each object that is left out.
        page_seconds: Most that each page of them may take.

    Raises:
        ApiError: They could not be listed.
    """
    feed = Feed(source, on_skipped=on_skipped)
    records: list[Known] = []
    token = ""
    while True:
        content = await connection.request(
            "GET",
            source.path,
            query=feed.page_query(token),
            accept=source.list_form,
            deadline_seconds=page_seconds,
        )
        page = feed.read_page(content)
        changes = feed.take_objects(page.items or ())
        records += [change.new for change in changes if change.new is not None]
        token = page.metadata.token or ""
        if not token:
            return records
