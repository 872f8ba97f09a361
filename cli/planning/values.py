"""What users give: names and sizes, checked, and the steps that are made of them alone."""

import re
from collections.abc import Mapping, Sequence

from app.quantity import parse_bytes
from cli.kube.workloads import MOST_PODS
from cli.names import KINDS, Named, node_name, without_kind
from planner.plan import Step
from planner.steps.disks import AddDisk
from planner.steps.scaling import Scale, WorkloadName
from planner.steps.settings import ChangeSetting
from planner.steps.volumes import Resize

Names = str | list[str]
_MOST_CHARACTERS = 253
_NODE_NAME = re.compile("[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_SMALLEST_BYTES, _LARGEST_BYTES = 2**20, 2**60
"""One MiB and one EiB: no disk and no volume is smaller or larger."""
_SCALED = {
    word: kind for word, kind in KINDS.items() if kind in (Named.STATEFUL_SET, Named.DEPLOYMENT)
}


def add_disk(
    node: str, disk: str, size: str, *, reserved: str = "0", tags: Sequence[str] = ()
) -> AddDisk:
    """Make the step that adds a disk; raise ValueError for a size that is none."""
    return AddDisk(
        node=node,
        disk=_name(disk),
        size_bytes=size_bytes(size),
        reserved_bytes=size_bytes(reserved, least=0),
        tags=tuple(map(_name, tags)),
    )


def resize(claim: str, size: str, namespace: str) -> Resize:
    """Make the step that expands a claim; raise ValueError for a size that is none.

    *namespace* is that of a name without one.
    """
    claim = without_kind(claim, Named.CLAIM)
    key = claim if "/" in claim else f"{namespace}/{claim}"
    return Resize(claim=key, size_bytes=size_bytes(size))


def scale(word: str, replicas: int, namespace: str) -> Scale:
    """Make the step that scales a workload of the cluster; raise ValueError for what is none.

    Args:
        word: [KIND/]NAME, [KIND/]NAMESPACE/NAME or NAMESPACE/KIND/NAME.
        replicas: How many pods it is to have.
        namespace: Of a name without one.
    """
    if not 0 <= replicas <= MOST_PODS:
        raise ValueError(f"{replicas} is not from 0 to {MOST_PODS} pods")
    parts = word.split("/")
    kinds = [each for each in parts[:-1] if each.lower() in _SCALED]
    rest = [each for each in parts[:-1] if each not in kinds]
    if not all(parts) or len(kinds) > 1 or len(rest) > 1:
        raise ValueError(
            f"{word[:60]!r} names no workload; give NAMESPACE/NAME, or statefulset/NAME or "
            f"deployment/NAME in namespace {namespace}"
        )
    return Scale(
        workload=WorkloadName(
            kind=_SCALED[kinds[0].lower()].value if kinds else None,
            namespace=_name(rest[0]) if rest else namespace,
            name=_name(parts[-1]),
        ),
        replicas=replicas,
    )


def settings_of(given: Mapping[str, str | int | bool]) -> list[Step]:
    """Make the steps that change settings; raise ValueError if there is none."""
    if not given:
        raise ValueError("no setting is given; give NAME: VALUE")
    return [ChangeSetting(name=name, value=_written(value)) for name, value in given.items()]


def size_bytes(text: str, *, least: int = 1) -> int:
    """Read a size; raise ValueError for one that no disk and no volume can have."""
    found = parse_bytes(text)
    if found < least:
        raise ValueError(f"{text[:60]} is no size; give one such as 100Gi")
    if 0 < found < _SMALLEST_BYTES and text.isdigit():
        raise ValueError(f"{text} is so many bytes, less than any volume has; is {text}Gi meant?")
    if found > _LARGEST_BYTES:
        raise ValueError(f"{text[:60]} is more than any disk has; give one such as 100Gi")
    return found


def _written(value: str | int) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def names_of(given: Names) -> tuple[str, ...]:
    names = tuple(map(node_name, (given,) if isinstance(given, str) else given))
    if not names:
        raise ValueError("no node is named; name at least one")
    if len({*names}) < len(names):
        raise ValueError("a node is named twice; name it once")
    return tuple(_name(each) for each in names)


def new_node(name: str) -> str:
    """Return a name if a node can have it; raise ValueError if none can."""
    if not _NODE_NAME.fullmatch(name) or len(name) > _MOST_CHARACTERS:
        raise ValueError(
            f"{name[:60]!r} is no name of a node; use up to {_MOST_CHARACTERS} small letters, "
            f"digits, '-' and '.'"
        )
    return name


def _name(name: str) -> str:
    if not 0 < len(name) <= _MOST_CHARACTERS or not name.isprintable():
        raise ValueError(
            f"{name[:60]!r} is no name of an object; give 1 to {_MOST_CHARACTERS} characters that "
            f"can be printed"
        )
    return name
