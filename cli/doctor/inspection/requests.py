"""What `doctor` asks of the API server, each with a deadline."""

from collections.abc import Mapping
from typing import Any

from app.kube.connection import Connection, Query
from app.kube.discovery import is_served
from app.kube.errors import StatusError
from app.kube.feed import Source
from app.kube.listing import list_records
from app.kube.mirror import Known
from cli.doctor.reading import Read, decoded

NOT_FOUND = 404
_DEADLINE_SECONDS = 10.0


class Requests:
    """Requests over one connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def get(self, path: str, type_: type[Read], *, query: Query = ()) -> Read:
        return decoded(
            await self._connection.request(
                "GET", path, query=query, deadline_seconds=_DEADLINE_SECONDS
            ),
            type_,
        )

    async def post(self, path: str, body: Mapping[str, Any], type_: type[Read]) -> Read:
        return decoded(
            await self._connection.request(
                "POST", path, body=body, deadline_seconds=_DEADLINE_SECONDS
            ),
            type_,
        )

    async def find(self, path: str, type_: type[Read]) -> Read | None:
        """Get an object; None if it does not exist."""
        try:
            return await self.get(path, type_)
        except StatusError as error:
            if error.status == NOT_FOUND:
                return None
            raise

    async def records(self, source: Source) -> list[Known]:
        return await list_records(
            self._connection, source, on_skipped=lambda _: None, page_seconds=_DEADLINE_SECONDS
        )

    async def is_served(self, source: Source) -> bool:
        return await is_served(self._connection, source, deadline_seconds=_DEADLINE_SECONDS)
