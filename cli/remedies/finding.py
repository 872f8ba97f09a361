"""Finds what would help: tries what can be done on some nodes, and anywhere."""

from collections.abc import Iterable, Iterator, Sequence

from cli.remedies.of_disks import Wanted, of_disk
from cli.remedies.of_nodes import of_node
from cli.remedies.of_volumes import new_disk
from cli.remedies.remedy import Remedy, RemedyReport, cost, report_of
from cli.remedies.trials import Question, Trials
from extender import ViewBuilder
from longhorn import NodeName

_MOST_TRIALS, _MOST_NODES = 300, 8
"""So much is tried, on so many nodes, the nearest to taking it."""
_DELETION = "delete_replica"
_MANY_NODES, _FEW_TRIALS, _FEW_NODES = 500, 60, 3
"""The same in a cluster of many nodes."""


def helpful(
    question: Question,
    builder: ViewBuilder,
    wanted: Wanted,
    nodes: Iterable[NodeName],
    others: Sequence[Remedy],
    *,
    changes_nodes: bool = True,
) -> list[RemedyReport]:
    """Return what would help, from the least to the most costly.

    Args:
        question: What is to be so, and is not.
        builder: Has the cluster; it is as before afterwards.
        wanted: What is to be placed.
        nodes: Where that may be, the nearest first.
        others: What can be done besides, each for itself.
        changes_nodes: Whether nodes that are there may be changed.
    """
    is_large = len(builder.view.spaces) > _MANY_NODES
    most_nodes, most = (_FEW_NODES, _FEW_TRIALS) if is_large else (_MOST_NODES, _MOST_TRIALS)
    near = [*nodes][:most_nodes]
    if question(builder.view, near):
        return []
    trials = Trials(builder, question, near, most)
    found: list[tuple[Remedy, ...]] = [(each,) for each in others if trials.works([each])]
    for name in near if changes_nodes else ():
        found += _on(name, builder, wanted, trials)
    builder.settle()
    reports = dict[str, RemedyReport]()
    for each in sorted(found, key=lambda some: (*cost(some), *(one.change for one in some))):
        reports.setdefault(_alike(each), report_of(each))
    return [*reports.values()]


def _on(
    name: NodeName, builder: ViewBuilder, wanted: Wanted, trials: Trials
) -> Iterator[tuple[Remedy, ...]]:
    """Yield what helps on one node."""
    view = builder.view
    space = view.spaces[name]
    of_all = [*of_node(space, wanted, builder)]
    alone = trials.sufficient(of_all)
    yield from alone
    for disk in () if alone else space.disks:
        options = [*of_all, *of_disk(disk, name, wanted, view)]
        found = trials.sufficient(options)
        yield from found
        deletions = [each for each in options if each.code == _DELETION]
        if len(deletions) > 1 and not any(_DELETION in [e.code for e in some] for some in found):
            yield from trials.sufficient(deletions)  # it costs less than what works alone
    if not alone:
        yield from trials.sufficient([*of_all, new_disk(name, wanted, view)])


def _alike(remedies: Iterable[Remedy]) -> str:
    """Return what is equal of those that differ in how much is changed alone."""
    objects = ("node", "disk", "class", "claim", "volume", "replica", "tags", "what")
    return repr([(each.code, *map(each.figures.get, objects)) for each in remedies])
