"""The words of `plan`: which step is planned, and with what."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import structs

from app.errors import InputError
from cli.names import node_name
from cli.planning.scenario import Workloads, read_scenario
from cli.planning.values import (
    add_disk,
    names_of,
    new_node,
    resize,
    scale,
    settings_of,
    size_bytes,
)
from planner.plan import Step
from planner.steps.disks import RemoveDisk
from planner.steps.draining import Drain
from planner.steps.nodes import AddNode, Cordon, LoseNode
from planner.steps.workloads import Sized

_MOST_DIGITS = 12
"""Of a number, longer than any that is allowed."""


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """What the options say about a step; None, False or () where nothing is given."""

    replicas: int | None
    most: int | None
    size: str | None
    class_: str | None
    volume_replicas: int | None
    until_full: bool
    like: str | None
    reserved: str | None
    tags: Sequence[str]
    force: bool
    delete_emptydir_data: bool


class StepKind(msgspec.Struct, frozen=True):
    """One step that the command knows."""

    usage: str
    options: frozenset[str]
    """Fields of `Given` that it takes."""
    least: int
    """Of words after its name."""
    most: int | None
    make: Callable[[Sequence[str], Given, Workloads], list[Step]]


def _place(words: Sequence[str], given: Given, workloads: Workloads) -> list[Step]:
    if given.until_full:
        if given.replicas is not None:
            raise ValueError("--replicas says how many pods, and --until-full tries; give one")
        return [workloads.fill(Path(words[0]), given.most)]
    if given.most is not None:
        raise ValueError("--most ends --until-full, which is not given")
    return [workloads.place(Path(words[0]), given.replicas)]


def _capacity(words: Sequence[str], given: Given, workloads: Workloads) -> list[Step]:
    if given.size is None:
        if given.class_ is not None or given.volume_replicas is not None:
            raise ValueError("--class and --volume-replicas go with --size, which is not given")
        if not words:
            raise ValueError("what is to fit is missing; give a FILE with a workload, or --size")
        return [workloads.fill(Path(words[0]), given.most)]
    if words:
        raise ValueError("a FILE and --size say both what is to fit; give one")
    sized = Sized(
        size_bytes=size_bytes(given.size),
        storage_class=given.class_,
        volume_replicas=given.volume_replicas,
    )
    return [workloads.fill_sized(sized, given.most)]


def _drain(words: Sequence[str], given: Given, _workloads: Workloads) -> list[Step]:
    return [
        Drain(
            nodes=names_of([*words]),
            force=given.force,
            delete_local_data=given.delete_emptydir_data,
        )
    ]


def _add_node(words: Sequence[str], given: Given, _workloads: Workloads) -> list[Step]:
    if given.like is None:
        raise ValueError("--like is missing; name the node that the new one is as")
    like = node_name(given.like)
    return [AddNode(name=new_node(name), like=like) for name in names_of([*words])]


def _add_disk(words: Sequence[str], given: Given, _workloads: Workloads) -> list[Step]:
    node, disk = _disk(words[0])
    reserved = "0" if given.reserved is None else given.reserved
    return [add_disk(node, disk, words[1], reserved=reserved, tags=given.tags)]


def _remove_disk(words: Sequence[str], _given: Given, _workloads: Workloads) -> list[Step]:
    return [RemoveDisk(node=node, disk=disk) for node, disk in map(_disk, words)]


def _scale(words: Sequence[str], _given: Given, _workloads: Workloads) -> list[Step]:
    if not (words[1].isascii() and words[1].isdecimal()):
        raise ValueError(f"{words[1][:60]!r} is no number of pods; give one such as 5")
    return [scale(words[0], int(words[1][:_MOST_DIGITS]))]


def _set(words: Sequence[str], _given: Given, _workloads: Workloads) -> list[Step]:
    pairs = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not (name and equals):
            raise ValueError(f"{word[:60]!r} sets nothing; give NAME=VALUE")
        if name in pairs:
            raise ValueError(f"{name[:60]} is set twice; set it once")
        pairs[name] = value
    return settings_of(pairs)


_FILL = frozenset({"most", "size", "class_", "volume_replicas"})
STEPS: Mapping[str, StepKind] = {
    "place": StepKind(
        "place FILE [--replicas N | --until-full [--most N]]",
        frozenset({"replicas", "until_full", "most"}), 1, 1, _place,
    ),
    "capacity": StepKind(
        "capacity FILE | --size SIZE [--class NAME] [--volume-replicas N] [--most N]",
        _FILL, 0, 1, _capacity,
    ),
    "drain": StepKind(
        "drain NODE... [--force] [--delete-emptydir-data]",
        frozenset({"force", "delete_emptydir_data"}), 1, None, _drain,
    ),
    "lose": StepKind(
        "lose NODE...", frozenset(), 1, None,
        lambda words, *_: [LoseNode(nodes=names_of([*words]))],
    ),
    "cordon": StepKind(
        "cordon NODE...", frozenset(), 1, None,
        lambda words, *_: [Cordon(nodes=names_of([*words]))],
    ),
    "uncordon": StepKind(
        "uncordon NODE...", frozenset(), 1, None,
        lambda words, *_: [Cordon(nodes=names_of([*words]), is_cordoned=False)],
    ),
    "add-node": StepKind(
        "add-node NAME... --like NODE", frozenset({"like"}), 1, None, _add_node,
    ),
    "add-disk": StepKind(
        "add-disk NODE/DISK SIZE [--reserved SIZE] [--tag TAG]",
        frozenset({"reserved", "tags"}), 2, 2, _add_disk,
    ),
    "remove-disk": StepKind("remove-disk NODE/DISK...", frozenset(), 1, None, _remove_disk),
    "resize": StepKind(
        "resize [NAMESPACE/]CLAIM SIZE", frozenset(), 2, 2,
        lambda words, *_: [resize(words[0], words[1])],
    ),
    "scale": StepKind("scale [KIND/][NAMESPACE/]NAME N", frozenset(), 2, 2, _scale),
    "set": StepKind("set NAME=VALUE...", frozenset(), 1, None, _set),
    "run": StepKind(
        "run SCENARIO.yaml", frozenset(), 1, 1,
        lambda words, _given, workloads: read_scenario(Path(words[0]), workloads),
    ),
}  # fmt: skip
"""By the first word."""


def step_kind(words: Sequence[str], given: Given) -> StepKind:
    """Return the step that the first word names, for which the other words and options are."""
    kind = STEPS.get(words[0])
    if kind is None:
        raise InputError(f"there is no step {words[0][:60]!r}; use one of {', '.join(STEPS)}")
    count = len(words) - 1
    if count < kind.least or (kind.most is not None and count > kind.most):
        arguments = "1 argument" if count == 1 else f"{count} arguments"
        raise InputError(f"{words[0]} has {arguments}; use: plan {kind.usage}")
    for field in structs.fields(Given):
        if getattr(given, field.name) not in (None, False, ()) and field.name not in kind.options:
            other = {"tags": "tag", "class_": "class"}
            option = other.get(field.name, field.name.replace("_", "-"))
            raise InputError(f"--{option} means nothing to {words[0]}; use: plan {kind.usage}")
    return kind


def _disk(word: str) -> tuple[str, str]:
    named = node_name(word) if word.count("/") > 1 else word  # a node may be called `no`
    node, slash, disk = named.partition("/")
    if not (node and slash and disk):
        raise ValueError(f"{word[:60]!r} names no disk; give NODE/DISK")
    return node, disk
