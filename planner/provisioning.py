"""What the CSI provisioner does in a plan: a claim becomes a volume, as its StorageClass says."""

from msgspec import structs

from extender.demand import (
    LONGHORN_PROVISIONERS,
    estimate_volume,
    future_backing_image,
    needed_class,
)
from extender.kubernetes import Claim, PersistentVolume
from longhorn import NodeName
from planner.cluster import Cluster

_DRIVER = "driver.longhorn.io"


def provision(claim: Claim, node: NodeName | None, cluster: Cluster) -> None:
    """Bind a claim to a new volume, as its StorageClass says.

    Args:
        claim: One that is not bound.
        node: The node of its pod; None for a class that does not wait for it.
        cluster: Gets the volume, and what belongs to it.

    Raises:
        UnresolvableClaimError: There is no class for it, or the driver would refuse to create
            the volume.
    """
    class_ = needed_class(claim, cluster.view)
    if class_.provisioner not in LONGHORN_PROVISIONERS:
        name = f"pvc-{claim.uid or claim.key.replace('/', '-')}"
        cluster.put(
            PersistentVolume(name=name, driver=None, volume_handle=None, retained=class_.retains)
        )
    else:
        volume = estimate_volume(claim, class_, cluster.view)
        image = future_backing_image(class_)
        if image is not None and image.name not in cluster.view.backing_images:
            cluster.put(image)
        if volume.name not in cluster.view.volumes:
            cluster.put(volume)
        name = volume.name
        cluster.put(
            PersistentVolume(name=name, driver=_DRIVER, volume_handle=name, retained=class_.retains)
        )
    cluster.put(structs.replace(claim, persistent_volume=name, selected_node=node))
