"""Whether replicas that may go anywhere could take the room of a local one first.

Longhorn places each volume by itself. A remote replica of one may come to the node where the local
replica of another was to go, before that one is attached. A best-effort volume is then placed
elsewhere; a strict-local one is bound to a node without room for ever. So an answer waits until
enough of the others are placed. Where they go, nobody foretells: all that may come to a node does.
"""

from collections.abc import Iterable

from extender.verdicts.looking import Looking
from extender.verdicts.rejections import Rejection
from extender.verdicts.shortages import LocalRoomAtRisk
from extender.verdicts.situation import Situation
from longhorn import NodeName


def risks(started: Situation, nodes: Iterable[NodeName]) -> dict[NodeName, Rejection]:
    """Return which of the *nodes*, all accepted else, put a local replica at risk.

    Either another pod's, by what this pod is about to get; or the pod's own, by what others are
    about to get. For strict-local replicas also what else comes with them counts: Longhorn may put
    it on other disks than the packing does.

    *started* has the pod's volumes in a forecast that need nothing on its node.
    """
    if not _may_come_first(started):
        return {}
    looking = Looking(started)
    nodes, open_ = [*nodes], started.bound.open_nodes
    chosen = started.ledger.chosen_nodes(but=started.request.pod.uid)
    if looking.takes_from_others(chosen, with_open=False):
        return dict.fromkeys(nodes, LocalRoomAtRisk())
    if looking.takes_from_others(open_, with_open=True):
        return dict.fromkeys(nodes, LocalRoomAtRisk(by_open=True))
    if not started.request.volumes:
        return {}
    found: dict[NodeName, Rejection] = {}
    by_own: dict[NodeName, Rejection] = {}
    has_own = looking.with_remote is not looking.others
    for name in looking.endangered(nodes):
        if looking.is_at_risk(name, looking.others):
            found[name] = LocalRoomAtRisk()
        elif name in open_ and looking.is_at_risk(name, looking.others, with_open=True):
            found[name] = LocalRoomAtRisk(by_open=True)
        elif has_own and looking.is_at_risk(name, looking.with_remote):
            by_own[name] = LocalRoomAtRisk()
    # Where nothing but its own replicas is in the way, waiting would not help the pod.
    return {} if len(by_own) == len(nodes) else {**found, **by_own}


def _may_come_first(situation: Situation) -> bool:
    """Whether there is anything that could come first, or could lose its room for ever."""
    if situation.others.each or situation.is_strict:
        return True
    own = [each.volume for each in situation.own if each.count]
    if not all(volume.needs_local_replica for volume in own):
        return True
    uid = situation.request.pod.uid
    held = (hold for hold in situation.ledger if hold.pod.uid != uid)
    return any(own or any(volume.is_strict for volume in hold.volumes) for hold in held)
