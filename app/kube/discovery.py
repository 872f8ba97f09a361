"""Whether the API server has a kind at all: CustomResourceDefinitions come and go."""

import msgspec

from app.kube.connection import Connection
from app.kube.errors import MalformedError, StatusError
from app.kube.feed import Source

_FORBIDDEN, _NOT_FOUND = 403, 404


class ServedKind(msgspec.Struct, frozen=True):
    """One kind of a version; those of subresources have a slash in their name."""

    name: str


class ServedKinds(msgspec.Struct, frozen=True):
    """What the API server lists of one version of a group."""

    resources: list[ServedKind] | None = None


async def is_served(connection: Connection, source: Source, *, deadline_seconds: float) -> bool:
    """Ask whether the kind of *source* is served now.

    A request for objects alone does not tell: without the right to them it is refused whether or
    not there is such a kind. By default every account may ask which kinds there are. Where that is
    forbidden, too, a kind counts as served unless the request for its objects says otherwise.

    Raises:
        ApiError: The API server did not answer, or not what it should.
    """
    resource = source.resource
    try:
        content = await connection.request(
            "GET", resource.version_path, deadline_seconds=deadline_seconds
        )
    except StatusError as error:
        if error.status == _FORBIDDEN:
            return await _has_objects(connection, source, deadline_seconds)
        if error.status == _NOT_FOUND:  # no kind of this version is served
            return False
        raise
    try:
        kinds = msgspec.json.decode(content, type=ServedKinds).resources or ()
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise MalformedError(f"the kinds of {resource.api_version} are no list: {error}") from error
    return any(each.name == resource.plural for each in kinds)


async def _has_objects(connection: Connection, source: Source, deadline_seconds: float) -> bool:
    try:
        await connection.request(
            "GET", source.path, query=[("limit", "1")], deadline_seconds=deadline_seconds
        )
    except StatusError as error:
        if error.status not in (_FORBIDDEN, _NOT_FOUND):
            raise
        return error.status == _FORBIDDEN
    return True
