"""A Longhorn support bundle (rancher/support-bundle-kit), or a folder, packed or not."""

from collections.abc import Iterator
from pathlib import Path, PurePath, PurePosixPath

from cli.archives import is_archive, members_of, names_in
from cli.documents import SUFFIXES, objects
from cli.loader import Loader
from cli.stdin import INPUT

_FOLDER = "yamls"


def bundled_namespaces(path: Path) -> frozenset[str]:
    """Return the namespaces that a support bundle has objects of; none if *path* is no bundle.

    Args:
        path: As given to `load_cluster`, which has read it: a bundle, packed or not, or another
            file or folder.
    """
    files: list[PurePath] = []
    if path == INPUT:
        pass
    elif path.is_dir():
        files = [file.absolute() for file in path.rglob("*.yaml")]
    elif is_archive(path):
        files = [PurePosixPath(name) for name in names_in(path)]
    places = [place_in_bundle(file) for file in files]
    return frozenset(place[1] for place in places if place[:1] == ("namespaced",) and place[2:])


def place_in_bundle(path: PurePath) -> tuple[str, ...]:
    """Return `cluster` or `namespaced` and what follows in the path of a file of a bundle."""
    parts = path.parts
    for at, folder in enumerate(parts[:-1], start=1):
        if folder == _FOLDER and parts[at] in ("cluster", "namespaced"):
            return parts[at:]
    return ()


def archived(path: Path) -> Iterator[tuple[str, object]]:
    """Read the objects of an archive: of a bundle */yamls/**/*.yaml, else of all its files."""
    names = names_in(path)
    wanted = {name for name in names if _is_in_bundle(PurePosixPath(name))}
    loader = BundleLoader if wanted else Loader
    for member in members_of(path, wanted or {*filter(_has_objects, names)}):
        origin, suffix = f"{path}:{member.name}", PurePosixPath(member.name).suffix
        yield from objects(origin, suffix, member.text, loader, member.most_values)


def _is_in_bundle(file: PurePosixPath) -> bool:
    return _FOLDER in file.parts and file.suffix == ".yaml"


def _has_objects(name: str) -> bool:
    file = PurePosixPath(name)
    return file.suffix in SUFFIXES and not file.name.startswith("._")  # what macOS adds to each


class BundleLoader(Loader):
    """Reads the YAML of support bundles, which print empty strings and nulls as "null"."""


BundleLoader.add_constructor(
    "tag:yaml.org,2002:str", lambda _, node: None if node.value == "null" else node.value
)
