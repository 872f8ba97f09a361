"""Which waiting pods to probe, so that few probes answer for many.

A probe is a whole judgement, and thousands of pods may wait. So only those are probed that the
changes may help; pods that want the same are probed at once; where one does not fit, those of its
kind that want more are passed over; and of each kind one probes first for the largest that fits
anywhere, which mostly is none.
"""

from collections import defaultdict
from collections.abc import Generator, Iterator, Sequence
from functools import cache, reduce
from operator import or_
from typing import NamedTuple

from extender.waiting.changes import Changes
from extender.waiting.node_sets import NodeSet, Rejected
from extender.waiting.pods import Kind, WaitingPod, WaitingPods


class Probe(NamedTuple):
    """A question: whether a pod fits on one of these nodes now."""

    waiting: WaitingPod
    nodes: NodeSet
    is_for_itself: bool = True
    """Whether it is to be woken if so; else it is asked for the sake of others."""


_Probes = Generator[Probe, Rejected | None, None]
_Failed = list[tuple[Probe, Rejected]]
"""The probes of one kind that found no room."""


def probes_for(pods: WaitingPods, changes: Changes) -> _Probes:
    """Ask whether pods fit that the changes may help, those that wait longest first.

    Is to be told of each why it is rejected: nothing if a node takes it, None if that says nothing
    about other pods. Pods may be woken, forgotten and added meanwhile.
    """
    hopeful = [*_hopeful(pods, changes)]
    groups = defaultdict[Kind, list[Probe]](list)
    for probe in hopeful:
        groups[probe.waiting.wants.kind].append(probe)
    failed: dict[Kind, _Failed] = {kind: [] for kind in groups}
    for kind, group in groups.items():
        if len(group) > 1:
            yield from _largest_that_fits(group, failed[kind])
    for probe in hopeful:
        uid, failed_alike = probe.waiting.pod.uid, failed[probe.waiting.wants.kind]
        if not pods.is_asleep(uid):
            continue
        rejected = _follows(probe, failed_alike)
        if rejected is None:
            rejected = yield probe
            if rejected:
                failed_alike.append((probe, rejected))
        if rejected:
            pods.note_found(uid, rejected, probe.nodes)


def _hopeful(pods: WaitingPods, changes: Changes) -> Iterator[Probe]:
    """Yield whom the changes may help, and on which nodes."""
    known, ending = ~pods.nodes.later, cache(changes.ending)
    for each in pods:
        if changes.are_about(each.wants.volumes):
            nodes = each.candidates
        else:
            nodes = reduce(or_, (of & ending(kinds) for kinds, of in each.waits_for()), 0)
        if nodes & known and not each.woken:
            yield Probe(each, nodes & known)


def _largest_that_fits(group: Sequence[Probe], failed: _Failed) -> _Probes:
    """Ask by bisection for the largest of some pods that fits on any node of theirs.

    With several volumes not each larger one is beyond a smaller one. Those are left to be asked
    for by themselves.
    """
    nodes = reduce(or_, (probe.nodes for probe in group))
    ordered = sorted((probe.waiting for probe in group), key=lambda each: each.wants.sizes)
    fitting, end = 0, len(ordered)
    while fitting < end:
        middle = (fitting + end) // 2 if fitting else 0  # mostly not even the smallest fits
        probe = Probe(ordered[middle], nodes, is_for_itself=False)
        rejected = yield probe
        if rejected is None:
            return
        if rejected:
            failed.append((probe, rejected))
            end = middle
        else:
            fitting = middle + 1


def _follows(probe: Probe, failed: _Failed) -> Rejected | None:
    """Return why a pod is rejected if one that asks for no more fails on these nodes, too.

    What must change before the smaller one fits must change for the larger one as well.
    """
    for other, rejected in failed:
        is_inside = not probe.nodes & ~other.nodes
        if is_inside and other.waiting.wants.covers(probe.waiting.wants):
            return rejected
    return None
