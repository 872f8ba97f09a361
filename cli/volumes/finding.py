"""Which claim and which volume a command is asked about."""

import msgspec

from app.errors import InputError
from cli.explaining.details import claims_of_volumes
from cli.kube.cluster_objects import ClusterObjects
from cli.names import Named
from cli.pods import suggestion
from extender import ClusterView
from extender.demand import LONGHORN_DRIVERS, future_volume_name
from extender.kubernetes import Claim, ClaimKey
from longhorn import Volume, VolumeName
from planner.errors import unknown


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked about, as far as it is there."""

    claim: Claim | None = None
    volume: Volume | None = None
    driver: str = ""
    """Of storage that is not Longhorn's; empty if it is, or not known yet."""


def find_target(
    kind: Named, name: str, namespace: str, cluster: ClusterObjects, view: ClusterView
) -> Target:
    """Return what a name means.

    Args:
        kind: Of the object that is named.
        name: Its name; of a claim also NAMESPACE/NAME.
        namespace: Of a claim that is named without one.
        cluster: All that is known.
        view: The same, indexed.

    Raises:
        InputError: There is no such object; the text names similar ones.
    """
    if kind is Named.CLAIM:
        key = ClaimKey(name if "/" in name else f"{namespace}/{name}")
        if claim := cluster.of(Claim).get(key):
            return target_of(claim, view)
        _refuse_unreadable("PersistentVolumeClaim", key, view)
        raise InputError(f"there is no claim {key}{suggestion(key, view.claims)}")
    if kind is Named.PERSISTENT_VOLUME:
        found = _of_persistent_volume(name, view)
    else:
        found = _of_volume(VolumeName(name), view)
    of = claims_of_volumes(view).get(found.volume.name) if found.volume else None
    return msgspec.structs.replace(found, claim=view.claims.get(ClaimKey(of)) if of else None)


def target_of(claim: Claim, view: ClusterView) -> Target:
    """Return a claim with its volume.

    Raises:
        InputError: It names an object that is not there, or cannot be read.
    """
    if claim.persistent_volume is None:
        return Target(claim=claim, volume=view.volumes.get(future_volume_name(claim)))
    found = _of_persistent_volume(claim.persistent_volume, view)
    return msgspec.structs.replace(found, claim=claim)


def _of_persistent_volume(name: str, view: ClusterView) -> Target:
    found = view.persistent_volumes.get(name)
    if found is None:
        _refuse_unreadable("PersistentVolume", name, view)
        raise InputError(str(unknown("PersistentVolume", name, view.persistent_volumes)))
    if found.driver not in LONGHORN_DRIVERS:
        return Target(driver=found.driver or "no CSI driver")
    return _of_volume(VolumeName(found.volume_handle or ""), view)


def _of_volume(name: VolumeName, view: ClusterView) -> Target:
    volume = view.volumes.get(name)
    if volume is None:
        _refuse_unreadable("Volume", name, view)
        raise InputError(str(unknown("Longhorn volume", name, view.volumes)))
    if why := view.unreadable_replicas.get(name):
        raise InputError(f"a replica of volume {name} cannot be read: {why}")
    return Target(volume=volume)


def _refuse_unreadable(kind: str, name: str, view: ClusterView) -> None:
    if why := view.unreadable.get((kind, name)):
        raise InputError(f"{kind} {name} cannot be read: {why}")
