"""From a pod to its claims, and from these to Longhorn volumes."""

from tests.actors.api import Informer, Object
from tests.actors.longhorn.objects import DRIVER


def claims_of(pod: Object) -> list[str]:
    """Name the claims of a pod, those of generic ephemeral volumes included."""
    names = []
    for volume in pod["spec"].get("volumes") or ():
        if source := volume.get("persistentVolumeClaim"):
            names.append(source["claimName"])
        elif "ephemeral" in volume:
            names.append(f"{pod['metadata']['name']}-{volume['name']}")
    return names


def persistent_volumes_of(
    pod: Object, claims: Informer, persistent_volumes: Informer
) -> list[Object | None]:
    """Return what each claim of a pod is bound to, None where that is not known."""
    found = [claims.get(name, pod["metadata"]["namespace"]) for name in claims_of(pod)]
    return [
        persistent_volumes.get(claim["spec"].get("volumeName", "")) if claim else None
        for claim in found
    ]


def longhorn_volumes_of(pod: Object, claims: Informer, persistent_volumes: Informer) -> list[str]:
    """Name the Longhorn volumes of a pod, as far as its claims are bound."""
    found = persistent_volumes_of(pod, claims, persistent_volumes)
    sources = [volume["spec"].get("csi") for volume in found if volume is not None]
    return [csi["volumeHandle"] for csi in sources if csi and csi["driver"] == DRIVER]
