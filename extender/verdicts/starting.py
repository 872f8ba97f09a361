"""Whether Longhorn could start a pod's volumes at all, wherever the pod runs.

Sources: longhorn-manager controller/volume_controller.go openVolumeDependentResources and
reconcileVolumeCondition, types/volumes.go IsVolumeReady.
"""

from collections.abc import Iterable, Sequence

from msgspec import structs

from extender.forecast.coming import Coming
from extender.verdicts.case import Case
from extender.verdicts.rejections import NoRoomAnywhere, Rejection, TooFewReplicas
from longhorn import Locality, Settings, waits_for_attach


def start_rejection(case: Case) -> Rejection | None:
    """Say why no node will do for the volumes that need nothing on the pod's node.

    A volume without any placed replica needs room for one. One of locality disabled that is not
    attached needs room for all, if Longhorn is told to start none with fewer. A volume that is
    degraded for other reasons passes. So do all while nodes cannot be read: they may have room.
    """
    if case.view.unreadable_nodes:
        return None
    remote = {wanted.name for wanted in case.request.remote}
    needed = [
        structs.replace(each, count=count)
        for each in case.own_coming
        if each.volume.name in remote and (count := _needed(each, case.settings))
    ]
    if not needed:
        return None
    missing = _first_missing(needed, case, case.coming)
    if missing is None:
        return None
    sure = [each for each in case.coming if each.is_sure]
    by_open = len(sure) < len(case.coming) and _first_missing(needed, case, sure) is None
    size_bytes = missing.need.size_bytes
    if not missing.replicas and (missing.count == 1 or not _fits_one(missing, case)):
        return NoRoomAnywhere(size_bytes=size_bytes, by_open=by_open)
    wanted = missing.volume.wanted_replicas
    return TooFewReplicas(wanted=wanted, size_bytes=size_bytes, by_open=by_open)


def _needed(coming: Coming, settings: Settings) -> int:
    """Return how many of the replicas must find room so that the volume can start."""
    volume = coming.volume
    if volume.standby or not coming.count:
        return 0
    is_detached = volume.attached_to is None and volume.node is None
    is_disabled = volume.locality is Locality.DISABLED or not waits_for_attach(volume, settings)
    is_new = not any(replica.healthy_once for replica in coming.replicas)
    if is_disabled and is_detached and is_new and not settings.allow_degraded:
        return coming.count
    return 0 if coming.replicas else 1


def _first_missing(needed: Sequence[Coming], case: Case, others: Iterable[Coming]) -> Coming | None:
    """Return the first volume that does not find the room that it needs, beside *others*.

    What is not decided within the limits counts as found.
    """
    forecast = case.new_forecast()
    forecast.place_all(others)
    missing = next((each for each in needed if forecast.place(each)), None)
    return None if forecast.is_undecided else missing


def _fits_one(coming: Coming, case: Case) -> bool:
    return _first_missing([structs.replace(coming, count=1)], case, case.coming) is None
