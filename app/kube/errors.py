"""What can go wrong between us and the API server. All of it may be temporary; none is a bug."""

from app.errors import AppError

_NAME_LENGTH = 60
"""So much of a name is shown."""


class ApiError(AppError):
    """A request to the API server failed. *cause* is a label from a closed set."""

    cause = "connection"


class UnreachableError(ApiError):
    """The API server could not be reached, did not answer in time, or broke off."""


class IdleError(ApiError):
    """A watch was silent for longer than bookmarks take to come: it may be dead."""

    cause = "idle"


class MalformedError(ApiError):
    """The answer is not what the API server sends; a proxy may have answered instead."""

    cause = "malformed"


class ImpossibleNameError(ApiError):
    """No object can have this name, so there is no path to it and nothing was sent.

    A path made of it could lead to another object.
    """

    cause = "name"

    def __init__(self, name: str) -> None:
        super().__init__(f"no object can have the name {name[:_NAME_LENGTH]!r}; nothing was sent")


class StatusError(ApiError):
    """The API server refused the request."""

    cause = "status"

    def __init__(self, status: int, text: str, retry_after_seconds: float = 0.0) -> None:
        super().__init__(f"{status}: {text}")
        self.status = status
        self.retry_after_seconds = retry_after_seconds
        """How long the server asks us to wait."""


class ExpiredError(StatusError):
    """The version asked for is gone (410): everything must be listed again."""

    cause = "expired"
