"""Give a claim more room."""

from collections.abc import Sequence

import msgspec
from msgspec import structs

from extender import ClusterView
from extender.kubernetes import Claim, ClaimKey, PersistentVolume
from longhorn import Replica, Volume, takes_growth, volume_size_bytes
from planner.errors import PlanError, unknown
from planner.naming import natural
from planner.picture import Event, Kind
from planner.plan import Plan
from planner.sizes import amount


class Resize(msgspec.Struct, frozen=True, kw_only=True):
    """Expand the volume of a claim: on each disk with a replica of it, or nowhere.

    Source: longhorn-manager scheduler/replica_scheduler.go CheckReplicasSizeExpansion.
    """

    claim: str
    """Namespace and name."""
    size_bytes: int

    @property
    def title(self) -> str:
        """What is done."""
        return f"resize {self.claim}"

    def take(self, plan: Plan) -> list[Event]:
        """Do it, and return what happened."""
        volume = self._volume(plan)
        size = volume_size_bytes(self.size_bytes)
        if size <= volume.size_bytes:
            raise PlanError(
                f"PersistentVolumeClaim {self.claim} has {amount(volume.size_bytes)} already; "
                f"volumes cannot shrink, so give a larger size"
            )
        replicas = plan.cluster.view.replicas.get(volume.name, ())
        if plan.cluster.view.settings.unreadable is not None:
            raise PlanError(
                f"Setting {plan.cluster.view.settings.unreadable} cannot be read, so that Longhorn "
                f"expands nothing; correct it"
            )
        short = too_full(plan.cluster.view, replicas, size - volume.size_bytes)
        if short:
            text = f"does not grow: no room for it on {', '.join(short)}"
            return [Event(kind=Kind.REFUSED, object=self.claim, text=text)]
        plan.cluster.put(structs.replace(volume, size_bytes=size))
        for each in [*replicas]:
            plan.cluster.put(structs.replace(each, size_bytes=size))
        claim = plan.cluster.get(Claim, self.claim)
        if claim is not None:
            plan.cluster.put(structs.replace(claim, requested_bytes=self.size_bytes))
        grown = Event(kind=Kind.CHANGED, object=self.claim, text=f"grows to {amount(size)}")
        return [grown, *plan.settle()]

    def _volume(self, plan: Plan) -> Volume:
        claim = plan.cluster.get(Claim, ClaimKey(self.claim))
        if claim is None:
            raise unknown("PersistentVolumeClaim", self.claim, plan.cluster.all(Claim))
        bound = plan.cluster.get(PersistentVolume, claim.persistent_volume or "")
        volume = plan.cluster.get(Volume, bound.volume_handle or "") if bound else None
        if volume is None:
            raise PlanError(
                f"PersistentVolumeClaim {self.claim} has no Longhorn volume yet, so there is "
                f"nothing to resize; place its pod first"
            )
        return volume


def too_full(view: ClusterView, replicas: Sequence[Replica], more_bytes: int) -> list[str]:
    """Return the disks with replicas of a volume that have no room for so much more of each."""
    found = []
    for name, space in view.spaces.items():
        for each in space.disks:
            here = sum((replica.node, replica.disk) == (name, each.disk.id) for replica in replicas)
            if here and not takes_growth(each, here * more_bytes, view.settings):
                found.append(f"{name}/{each.disk.name}")
    return sorted(found, key=natural)
