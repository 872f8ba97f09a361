"""Which objects are read, and where: each kind with its namespace or name."""

from app.config import NAME, ProcessSettings
from app.kube.feed import Source
from app.kube.longhorn.resources import LONGHORN_RESOURCES
from app.kube.resources import CLUSTER_RESOURCES, CONFIG_MAPS, OPTED_OUT_NODES
from longhorn import V2_OFF_LABEL


def sources(settings: ProcessSettings) -> list[Source]:
    """Return everything that is followed."""
    return [
        *(Source(resource=resource) for resource in CLUSTER_RESOURCES),
        *(
            Source(resource=resource, namespace=settings.longhorn_namespace)
            for resource in LONGHORN_RESOURCES
        ),
        Source(resource=OPTED_OUT_NODES, labels=f"{V2_OFF_LABEL}=true"),
        Source(resource=CONFIG_MAPS, namespace=settings.namespace, fields=f"metadata.name={NAME}"),
    ]
