"""A cluster from files: YAML, JSON, a folder of them, or a support bundle, packed or not."""

from collections.abc import Iterator
from pathlib import Path

from app.errors import BrokenObjectError, InputError
from app.kube.resource import Kinds
from cli.archives import is_archive
from cli.bundles import BundleLoader, archived, place_in_bundle
from cli.documents import SUFFIXES, Undecoded, documents_of, suffix
from cli.kube.cluster_objects import ClusterObjects
from cli.kube.decoding import read_object
from cli.kube.resources import IN_FILES
from cli.loader import Loader
from cli.stdin import INPUT, name_of
from longhorn import Unreadable


def load_cluster(
    path: Path, *also: Path, kinds: Kinds = IN_FILES
) -> tuple[ClusterObjects, list[str]]:
    """Read all objects below *path* and below each of *also* that we use.

    Of an object that is below several of them the first one counts: what is added to a bundle is
    younger, and its objects belong together.

    Args:
        path: The first file or folder.
        also: More of them.
        kinds: Those to read.

    Returns:
        The objects, and a line for each that is broken or the second of its name, with its file
        and index; a single line for all that were there before. Such an object is left out.

    Raises:
        InputError: One of them does not exist, cannot be read or parsed, or holds no object of a
            kind we use.
    """
    cluster, problems = ClusterObjects(), list[str]()
    for each in (path, *also):
        problems += _load(each, cluster, kinds)
    return cluster, problems


def _load(path: Path, cluster: ClusterObjects, kinds: Kinds) -> list[str]:
    """Add what is below *path* and not in *cluster* yet; return what there is to complain of."""
    found, problems, again, used = ClusterObjects(), list[str](), list[str](), 0
    for origin, document in _documents(path):
        try:
            record = read_object(document, kinds)
        except BrokenObjectError as error:
            problems.append(f"{origin} {error}")
            continue
        if record is None:
            continue
        used += 1
        if isinstance(record, Unreadable):
            problems.append(f"{origin}: {record.kind} {record.name} cannot be read: {record.why}")
        if not found.add(record):
            problems.append(f"{origin} is the second {_name(document)}; the first one counts")
        elif not cluster.add(record):
            again.append(_name(document))
    if again:
        more = f" and {len(again) - 1} more" if len(again) > 1 else ""
        problems.append(
            f"{name_of(path)} has {again[0]}{more} again; those of the files before it count"
        )
    if not used:
        first = f" ({problems[0]})" if problems else ""
        raise InputError(
            f"{name_of(path)} holds no object of a cluster{first}; give Longhorn's Nodes, Volumes, "
            f"Replicas and Settings and the PVCs, PVs and StorageClasses, as `kubectl get -o yaml` "
            f"prints"
        )
    return problems


def _documents(path: Path) -> Iterator[tuple[str, object]]:
    try:
        if path != INPUT and path.is_dir():
            for file in sorted(path.rglob("*")):
                if suffix(file) in SUFFIXES and file.is_file():
                    yield from _file(file)
        elif path != INPUT and is_archive(path):
            yield from archived(path)
        else:
            yield from _file(path)
    except OSError as error:  # a name too long, a folder that may not be read
        raise InputError(f"{path} cannot be read: {error.strerror}") from error


def _file(path: Path) -> Iterator[tuple[str, object]]:
    """Read the objects of one file, which may be of a bundle that was unpacked."""
    return documents_of(path, BundleLoader if place_in_bundle(path.absolute()) else Loader)


def _name(document: object) -> str:
    """Say the kind and name of an object that was read."""
    if isinstance(document, Undecoded):
        document = document.decoded()
    if not isinstance(document, dict):
        return "object"
    return f"{document['kind']} {document['metadata']['name']}"
