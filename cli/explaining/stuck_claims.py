"""What keeps a claim from getting its volume, or from growing, whatever Longhorn does."""

from msgspec import structs

from cli.catalogue import NOTES
from cli.explaining.explainer import Explainer
from cli.explaining.notes import NO_SCHEDULER, lacks_scheduler
from cli.kube.pods import Pod
from cli.volumes.report import State, VolumeReport
from extender.kubernetes import ClaimKey
from longhorn import VolumeName, volume_size_bytes
from planner.sizes import amount
from planner.steps.volumes import too_full

_LOWER = (
    "Lower the request of the claim to a little more than it has (since Kubernetes 1.34; before: "
    "keep the PersistentVolume with `Retain`, and make the claim anew), or make room."
)


def with_what_is_stuck(found: VolumeReport, explainer: Explainer) -> VolumeReport:
    """Return what is told of a claim with what it waits for in vain."""
    view = explainer.view
    claim = view.claims.get(ClaimKey(found.claim))
    volume = view.volumes.get(VolumeName(found.volume))
    if claim is None or (volume is None and found.state is not State.NOT_CREATED):
        return found
    if volume is None:
        users = [p for p in explainer.cluster.of(Pod).values() if claim.key in p.ref.claims]
        if not lacks_scheduler(claim, users, view):
            return found
        action = NOTES["node_name"].action
        pods = [structs.replace(each, action=action) for each in found.pods]
        answer = f"not created yet: {NO_SCHEDULER}, so it never will be"
        return structs.replace(found, answer=answer, action=action, pods=pods)
    more_bytes = volume_size_bytes(claim.requested_bytes) - volume.size_bytes
    short = too_full(view, view.replicas.get(volume.name, ()), more_bytes)
    if more_bytes <= 0 or not short or view.settings.unreadable is not None:
        return found
    asks, has = amount(claim.requested_bytes), amount(volume.size_bytes)
    room = f"which has no room on {', '.join(short)}"
    answer = f"{found.answer}; it has {has} and asks for {asks}, {room}"
    return structs.replace(found, answer=answer, action=_LOWER)
