"""Errors at the edge of the process. Each text names the object and says what to do."""


class AppError(Exception):
    """Base of the errors raised here; the command line prints one line and exits with 2."""


class InputError(AppError):
    """A file or an option of the user's cannot be used."""


class BrokenObjectError(AppError):
    """One Kubernetes or Longhorn object cannot be read; it is skipped and named."""


class BadRequestError(AppError):
    """The body of a request cannot be decoded; it is answered with 400."""
