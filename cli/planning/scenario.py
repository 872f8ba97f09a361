"""The steps of a plan, from the words of a command or from a scenario file."""

import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import msgspec

from app.errors import InputError
from cli.documents import parse_yaml, read_bytes
from cli.kube.workloads import MOST_PODS
from cli.names import node_name
from cli.planning.values import (
    Names,
    add_disk,
    names_of,
    new_node,
    resize,
    scale,
    settings_of,
    size_bytes,
)
from cli.stdin import INPUT, name_of
from planner.plan import Step
from planner.steps.disks import RemoveDisk
from planner.steps.draining import Drain
from planner.steps.nodes import AddNode, Cordon, LoseNode
from planner.steps.workloads import Sized

_UNKNOWN = re.compile("unknown field `(.*)`", re.DOTALL)
_MISSING = re.compile("missing required field `(.*)`")
_TYPES = {
    "array": "a list",
    "bool": "true or false",
    "float": "a number with a point",
    "int": "a whole number",
    "null": "nothing",
    "object": "a mapping",
    "str": "a text",
}
_QUOTED = re.compile(r"`([a-z |]+)`")
"""Types as msgspec names them."""
_MOST_STEPS = 1_000
_MOST_REPLICAS = 20
"""Of a volume; Longhorn allows no more."""


class _Form(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Base of what a scenario file may say."""


class _Place(_Form, frozen=True):
    file: str
    replicas: int | None = None


class _Fill(_Form, frozen=True):
    file: str | None = None
    size: str | int | None = None
    class_: str | None = msgspec.field(name="class", default=None)
    volume_replicas: int | None = None
    most: int | None = None


class _Drain(_Form, frozen=True):
    nodes: Names
    force: bool = False
    delete_emptydir_data: bool = False


class _DiskName(_Form, frozen=True):
    node: str
    disk: str


class _NewDisk(_DiskName, frozen=True):
    size: str | int
    reserved: str | int = 0
    tags: list[str] = []


class _NewNode(_Form, frozen=True):
    name: str
    like: str


class _Resize(_Form, frozen=True):
    claim: str
    size: str | int


class _Scale(_Form, frozen=True):
    workload: str
    replicas: int


class _Step(_Form, frozen=True):
    """One step: exactly one of these."""

    place: str | _Place | None = None
    fill: str | _Fill | None = None
    drain: str | list[str] | _Drain | None = None
    lose: Names | None = None
    cordon: Names | None = None
    uncordon: Names | None = None
    add_node: _NewNode | None = None
    add_disk: _NewDisk | None = None
    remove_disk: _DiskName | None = None
    resize: _Resize | None = None
    scale: _Scale | None = None
    set: dict[str, str | int | bool] | None = None
    include: str | None = None


_ENTRIES = sorted(
    {
        field.encode_name
        for form in (_Step, _Place, _Fill, _Drain, _DiskName, _NewDisk, _NewNode, _Resize, _Scale)
        for field in msgspec.structs.fields(form)
    }
)


class _Scenario(_Form, frozen=True):
    steps: list[_Step]


class Workloads(msgspec.Struct, frozen=True):
    """Makes steps of files with workloads.

    Attributes:
        namespace: Of what is named, or is in such a file, without one.
        place: Of a file, and how many replicas if it is not what the file says.
        fill: Of a file, and the most pods.
        fill_sized: Of a size, and the most pods.
    """

    namespace: str
    place: Callable[[Path, int | None], Step]
    fill: Callable[[Path, int | None], Step]
    fill_sized: Callable[[Sized, int | None], Step]


def read_scenario(path: Path, workloads: Workloads) -> list[Step]:
    """Read the steps of a scenario file. Files that it names are found from its folder.

    Raises:
        InputError: It cannot be read, or says something that is no step; the text says where.
    """
    return _steps(path, workloads, ())


def _steps(path: Path, workloads: Workloads, within: tuple[Path, ...]) -> list[Step]:
    place, name = path.resolve(), name_of(path)
    if place in within:
        chain = " -> ".join(each.name for each in (*within, place))
        raise InputError(f"{name} includes itself ({chain}); take one `include` out")
    documents = [each for each in parse_yaml(name, read_bytes(path)) if each is not None]
    if len(documents) != 1:
        raise InputError(
            f"{name} holds {len(documents)} documents; a scenario is one, with `steps`"
        )
    try:
        scenario = msgspec.convert(documents[0], _Scenario)
    except msgspec.ValidationError as error:
        raise InputError(f"{name} is no scenario: {_complaint(error)}") from error
    if not scenario.steps:
        raise InputError(f"{name} has no steps; give at least one, such as `- drain: node-1`")
    found = list[Step]()
    for number, step in enumerate(scenario.steps):
        where = f"{name}: steps[{number}]"
        kind, given = _only_one(step, where)
        if kind == "include":
            found += _steps(_path(path.parent, str(given)), workloads, (*within, place))
        else:
            try:
                found += _MAKERS[kind](given, path.parent, workloads)
            except ValueError as error:
                raise InputError(f"{where}.{kind}: {error}") from error
        if len(found) > _MOST_STEPS:
            raise InputError(f"{name} has more than {_MOST_STEPS} steps; split it")
    return found


def _path(folder: Path, file: str) -> Path:
    """Return a file that a scenario of *folder* names."""
    return INPUT if file == str(INPUT) else folder / file


def _only_one(step: _Step, where: str) -> tuple[str, Any]:
    given = {
        field.encode_name: value
        for field in msgspec.structs.fields(_Step)
        if (value := getattr(step, field.name)) is not None
    }
    if len(given) != 1:
        kinds = ", ".join(field.encode_name for field in msgspec.structs.fields(_Step))
        said = " and ".join(given) or "nothing"
        raise InputError(f"{where} says {said}; a step is exactly one of {kinds}")
    [(kind, value)] = given.items()
    return kind, value


def _complaint(error: msgspec.ValidationError) -> str:
    """Say where something is wrong, and what may be meant; the library's own words name types."""
    text, _, place = str(error).partition(" - at `$")
    where = place.rstrip("`").removeprefix(".") or "the file"
    if found := _UNKNOWN.search(text):
        meant = get_close_matches(found[1], _ENTRIES, 1)
        hint = f"did you mean {meant[0]}?" if meant else f"known are {', '.join(_ENTRIES)}"
        return f"{where}: there is no entry {found[1][:60]}; {hint}"
    if found := _MISSING.search(text):
        return f"{where}: {found[1]} is missing"
    return f"{where}: {_QUOTED.sub(lambda types: _in_words(types[1]), text[:1].lower() + text[1:])}"


def _in_words(types: str) -> str:
    return " or ".join(_TYPES.get(each, each) for each in types.split(" | "))


def _place(given: str | _Place, folder: Path, workloads: Workloads) -> list[Step]:
    given = _Place(file=given) if isinstance(given, str) else given
    if given.replicas is not None and not 0 <= given.replicas <= MOST_PODS:
        raise ValueError(f"replicas {given.replicas} is not from 0 to {MOST_PODS}")
    return [workloads.place(_path(folder, given.file), given.replicas)]


def _fill(given: str | _Fill, folder: Path, workloads: Workloads) -> list[Step]:
    given = _Fill(file=given) if isinstance(given, str) else given
    if given.most is not None and not 1 <= given.most <= MOST_PODS:
        raise ValueError(f"most {given.most} is not from 1 to {MOST_PODS}")
    if (given.file is None) == (given.size is None):
        raise ValueError("what is to fit is said by one of file and size; give one")
    if given.file is not None:
        if given.class_ is not None or given.volume_replicas is not None:
            raise ValueError("class and volumeReplicas go with size, which is not given")
        return [workloads.fill(_path(folder, given.file), given.most)]
    if given.volume_replicas is not None and not 1 <= given.volume_replicas <= _MOST_REPLICAS:
        raise ValueError(
            f"volumeReplicas {given.volume_replicas} is not from 1 to {_MOST_REPLICAS}"
        )
    sized = Sized(
        size_bytes=size_bytes(str(given.size)),
        storage_class=given.class_,
        volume_replicas=given.volume_replicas,
    )
    return [workloads.fill_sized(sized, given.most)]


def _drain(given: Names | _Drain, _folder: Path, _workloads: Workloads) -> list[Step]:
    given = given if isinstance(given, _Drain) else _Drain(nodes=given)
    return [
        Drain(
            nodes=names_of(given.nodes),
            force=given.force,
            delete_local_data=given.delete_emptydir_data,
        )
    ]


def _add_disk(given: _NewDisk, _folder: Path, _workloads: Workloads) -> list[Step]:
    size, reserved = str(given.size), str(given.reserved)
    return [add_disk(node_name(given.node), given.disk, size, reserved=reserved, tags=given.tags)]


_MAKERS: Mapping[str, Callable[[Any, Path, Workloads], list[Step]]] = {
    "place": _place,
    "fill": _fill,
    "drain": _drain,
    "lose": lambda given, *_: [LoseNode(nodes=names_of(given))],
    "cordon": lambda given, *_: [Cordon(nodes=names_of(given))],
    "uncordon": lambda given, *_: [Cordon(nodes=names_of(given), is_cordoned=False)],
    "addNode": lambda given, *_: [AddNode(name=new_node(given.name), like=node_name(given.like))],
    "addDisk": _add_disk,
    "removeDisk": lambda given, *_: [RemoveDisk(node=node_name(given.node), disk=given.disk)],
    "resize": lambda given, _, files: [resize(given.claim, str(given.size), files.namespace)],
    "scale": lambda given, _, files: [scale(given.workload, given.replicas, files.namespace)],
    "set": lambda given, *_: settings_of(given),
}
"""From what an entry says, the folder of its file and the maker of workloads to steps. They raise
ValueError for values that cannot be."""
