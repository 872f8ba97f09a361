"""How many bytes were attached to nodes that have them, and how many to nodes that do not."""

from collections import Counter
from collections.abc import Sequence

from app.kube.mirror import Change
from extender import ClusterView
from longhorn import Volume, is_usable


def attached_bytes(changes: Sequence[Change], view: ClusterView) -> Counter[str]:
    """Return the bytes of the volumes that were attached for pods: "local" and "remote" ones.

    A volume is local if a usable replica of it is on its node. Not counted is what says nothing of
    where a pod is: a shared volume is attached where its share manager is, one without frontend is
    attached for Longhorn itself, and of one that is seen for the first time it is not known since
    when it is attached.
    """
    found = Counter[str]()
    for old, new in changes:
        if isinstance(old, Volume) and isinstance(new, Volume) and _is_attached(old, new):
            replicas = view.replicas.get(new.name, ())
            is_local = any(each.node == new.attached_to and is_usable(each) for each in replicas)
            found["local" if is_local else "remote"] += new.size_bytes
    return found


def _is_attached(before: Volume, after: Volume) -> bool:
    is_elsewhere = after.attached_to not in (None, before.attached_to)
    return is_elsewhere and after.has_frontend and not after.shared
