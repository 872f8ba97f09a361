"""One reading of `doctor`: what was read, or why it could not be."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import msgspec

from app.kube.errors import ApiError, MalformedError, StatusError
from cli.doctor.facts import Unread

Read = TypeVar("Read")

_READING_SECONDS = 60.0
"""Most that a whole reading may take, with all its requests."""
_FORBIDDEN = 403


async def reading(what: str, made: Coroutine[Any, Any, Read]) -> Read | Unread:
    """Return what is read, or why it cannot be; *what* as a right."""
    try:
        async with asyncio.timeout(_READING_SECONDS):
            return await made
    except ApiError as error:
        return why_unread(what, error)
    except TimeoutError:
        return Unread(what=what, why=f"it took longer than {_READING_SECONDS:g} s")


def why_unread(what: str, error: ApiError) -> Unread:
    """Say that something could not be read, and whether a right is missing."""
    forbidden = isinstance(error, StatusError) and error.status == _FORBIDDEN
    return Unread(what=what, why=str(error), is_forbidden=forbidden)


def decoded(content: bytes, type_: type[Read]) -> Read:
    """Decode an answer of the API server."""
    try:
        return msgspec.json.decode(content, type=type_)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise MalformedError(f"the answer cannot be decoded: {error}") from error
