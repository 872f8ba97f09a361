"""Paths of requests to the API server: the one place where names become part of them."""

from urllib.parse import quote

from app.kube.errors import ImpossibleNameError


def path_of(
    version_path: str, plural: str, *, namespace: str = "", name: str | None = None, part: str = ""
) -> str:
    """Return the path of objects of a kind, or of one of them.

    Args:
        version_path: Where the kinds of the version are, like `/api/v1`.
        plural: The kind, as paths spell it.
        namespace: Empty for all of them, and for kinds without namespaces.
        name: Of one object, None for all.
        part: A subresource, such as `status`.

    Raises:
        ImpossibleNameError: No object can have that name or namespace.
    """
    names = [plural]
    if namespace:
        names = ["namespaces", namespace, *names]
    if name is not None:
        names.append(name)
    if part:
        names.append(part)
    return "/".join([version_path, *map(_segment, names)])


def _segment(name: str) -> str:
    """Escape *name*, so that it is one segment of a path whatever is in it.

    The API server decodes a path before it takes it apart, so an escaped slash would still end the
    segment; dots alone would lead out of it. No object has such a name.

    Source: kubernetes staging/src/k8s.io/apimachinery/pkg/api/validation/path/name.go.
    """
    if name in ("", ".", "..") or "/" in name or "%" in name:
        raise ImpossibleNameError(name)
    try:
        return quote(name, safe="")
    except UnicodeEncodeError as error:  # half of a character
        raise ImpossibleNameError(name) from error
