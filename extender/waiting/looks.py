"""Whom of the pods that wait to look at, so that few looks tell of many.

A look is a whole judgement, and thousands may wait. So pods that want the same are looked at once;
where one does not fit, those of its kind that want more are passed over; and of each kind one looks
first for the largest that fits anywhere, which mostly is none.
"""

from collections import defaultdict
from collections.abc import Generator, Iterator, Sequence
from functools import reduce
from operator import or_
from typing import NamedTuple

from extender.waiting.lookout import Stir
from extender.waiting.node_sets import ALL, NodeSet
from extender.waiting.pods import WaitingPod, WaitingPods
from extender.waiting.wants import Kind


class Look(NamedTuple):
    """A question: whether a pod fits on one of these nodes now."""

    waiting: WaitingPod
    nodes: NodeSet
    is_for_itself: bool
    """Whether it is to be woken if so; else it is asked for the sake of others."""


def looks(pods: WaitingPods, stir: Stir) -> Generator[Look, bool | None, None]:
    """Ask whether pods fit, those that wait longest first; to be told each answer.

    The answer is None if it says nothing about other pods. Pods may be woken, forgotten and added
    meanwhile.
    """
    hopeful = [*_hopeful(pods, stir)]
    groups = defaultdict[Kind, list[Look]](list)
    for look in hopeful:
        groups[look.waiting.wants.kind].append(look)
    failed = {kind: Failed() for kind in groups}
    for kind, group in groups.items():
        if len(group) > 1:
            yield from _bounds(group, failed[kind])
    for look in hopeful:
        waiting, failed_alike = look.waiting, failed[look.waiting.wants.kind]
        if not pods.is_asleep(waiting.pod.uid) or failed_alike.covers(look):
            continue
        fits = yield look
        if fits is False:
            failed_alike.add(look)


class Failed:
    """The looks at pods of one kind that found no room."""

    def __init__(self) -> None:
        self._looks: list[Look] = []

    def add(self, look: Look) -> None:
        """Note that there was no room."""
        self._looks = [each for each in self._looks if not _is_beyond(each, look)] + [look]

    def covers(self, look: Look) -> bool:
        """Whether it follows that there is no room for this one either."""
        return any(_is_beyond(look, each) for each in self._looks)


def _is_beyond(one: Look, other: Look) -> bool:
    """Whether *one* asks for no less than *other*, on no other nodes."""
    is_inside = not one.nodes & ~other.nodes
    return is_inside and other.waiting.wants.covers(one.waiting.wants)


def _hopeful(pods: WaitingPods, stir: Stir) -> Iterator[Look]:
    """Yield whom the changes may help, and on which nodes."""
    for each in pods:
        nodes = each.candidates
        if not stir.is_about(each.wants):
            is_anywhere = each.depends_on_others and (stir.nodes or stir.has_less_due)
            nodes &= ALL if is_anywhere else stir.nodes
        if nodes and not each.woken:
            yield Look(each, nodes, is_for_itself=True)


def _bounds(group: Sequence[Look], failed: Failed) -> Generator[Look, bool | None, None]:
    """Ask by bisection for the largest of some pods that fits on any node of theirs.

    With several volumes not each larger one is beyond a smaller one. Those are left to be asked
    for by themselves.
    """
    nodes = reduce(or_, (look.nodes for look in group))
    ordered = sorted((look.waiting for look in group), key=lambda each: each.wants.sizes)
    fitting, end = 0, len(ordered)
    while fitting < end:
        middle = (fitting + end) // 2 if fitting else 0  # mostly not even the smallest fits
        look = Look(ordered[middle], nodes, is_for_itself=False)
        fits = False if failed.covers(look) else (yield look)
        if fits is None:
            return
        if fits:
            fitting = middle + 1
        else:
            failed.add(look)
            end = middle
