"""Members of a PodGroup: asked about one by one, and bound together or not at all.

kube-scheduler takes a member for placed as soon as it is answered, but writes no node of any member
until the last one was asked about (pkg/scheduler/schedule_one_podgroup.go of Kubernetes 1.36).
"""

from collections.abc import Iterable, Mapping

from msgspec import structs

from extender.holds.hold import Hold


def still_asked(over: Iterable[str], holds: Mapping[str, Hold]) -> list[Hold]:
    """Return, as they go on, the holds that wait for the last member of their group.

    The time of all members without a node runs from the last answer to any of them.
    """
    waiting = [each for each in map(holds.__getitem__, over) if each.waits_for_group]
    last = {each.group: each.answered_at for each in waiting}
    for each in holds.values() if waiting else ():
        if each.group in last:
            last[each.group] = max(last[each.group], each.answered_at)
    return [
        _from(last[each.group], each)
        for each in waiting
        if last[each.group] > (each.answered_at if each.given_up_at is None else each.given_up_at)
    ]


def _from(at: float, hold: Hold) -> Hold:
    """Return the hold as if it had been answered, and seemed to be given up if it did, at *at*."""
    given_up_at = None if hold.given_up_at is None else at
    return structs.replace(hold, answered_at=at, given_up_at=given_up_at)
