"""One thing that somebody can do: what it changes, and how it is told."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import structs

from cli.catalogue import REMEDIES
from longhorn import Disk, DiskName, Node, NodeName, Setting

COSTS = {code: number for number, code in enumerate(REMEDIES)}


class Edit(msgspec.Struct, frozen=True):
    """A change of one object."""

    type: type
    key: Any
    """As `ViewBuilder.of` knows it."""
    change: Callable[[Any], Any]
    """Takes the object, None if there is none; returns it as it is then, None if it is gone."""


class Remedy(msgspec.Struct, frozen=True, kw_only=True):
    """Something that may help."""

    code: str
    """In `catalogue.REMEDIES`, whose order is that of the costs."""
    figures: Mapping[str, str] = {}
    edits: Sequence[Edit]
    """In their order. What Longhorn makes of them is part of them."""
    change: int = 0
    """How much is changed, where that may be less or more: of equal ones the least is told."""

    def __str__(self) -> str:
        return REMEDIES[self.code].action.format(**self.figures)


RemedyCode = Annotated[str, msgspec.Meta(extra_json_schema={"enum": [*COSTS]})]


class StepReport(msgspec.Struct, frozen=True):
    """One thing to do."""

    code: RemedyCode
    figures: Mapping[str, str]
    """What its text names."""


class RemedyReport(msgspec.Struct, frozen=True):
    """What would help, if all of it is done."""

    text: str
    steps: Sequence[StepReport]


def in_order(remedies: Iterable[Remedy]) -> list[Remedy]:
    """Return them as they are to be done: the least costly first."""
    return sorted(remedies, key=lambda each: COSTS[each.code])


def report_of(remedies: Iterable[Remedy]) -> RemedyReport:
    """Report what is to be done together."""
    ordered = in_order(remedies)
    first, *rest = map(str, ordered)
    text = "; and ".join([first, *(each[0].lower() + each[1:] for each in rest)])
    return RemedyReport(f"{text}.", [StepReport(each.code, each.figures) for each in ordered])


def cost(remedies: Iterable[Remedy]) -> tuple[int, int]:
    """Return what doing all of them costs, to compare."""
    costs = [COSTS[each.code] for each in remedies]
    return max(costs), len(costs)


def node_edit(name: NodeName, **changes: Any) -> Edit:
    """Change fields of a Longhorn Node."""
    return Edit(Node, name, lambda node: structs.replace(node, **changes))


def disk_edit(node: NodeName, name: DiskName, change: Callable[[Disk], Disk | None]) -> Edit:
    """Change or remove a disk of a Longhorn Node."""

    def changed(found: Node) -> Node:
        disks = (change(each) if each.name == name else each for each in found.disks)
        return structs.replace(found, disks=tuple(filter(None, disks)))

    return Edit(Node, node, changed)


def setting_edit(name: str, value: str) -> Edit:
    """Set a setting of Longhorn's."""
    return Edit(Setting, name, lambda _: Setting(name=name, value=value))
