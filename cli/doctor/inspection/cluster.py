"""Reads what is the cluster's own: the version of Kubernetes, its nodes and StorageClasses."""

from collections.abc import Sequence

from app.kube.errors import StatusError
from app.kube.feed import Source
from app.kube.resources import STORAGE_CLASSES
from app.kube.translate import storage_class_record
from cli.doctor import objects
from cli.doctor.facts import ClassSeen, Unread
from cli.doctor.inspection.requests import Requests
from cli.doctor.reading import reading, why_unread
from cli.kube.resources import KUBERNETES_NODES

_UNAUTHORIZED = 401


async def version(requests: Requests) -> str | Unread:
    """Read the version of Kubernetes.

    Raises:
        ApiError: The API server cannot be reached, or does not know who this is.
    """
    try:
        return (await requests.get("/version", objects.Version)).git_version
    except StatusError as error:
        if error.status == _UNAUTHORIZED:
            raise
        return why_unread("get /version", error)


async def nodes(requests: Requests) -> int | Unread:
    """Count them without reading them: of large clusters they are tens of megabytes."""

    async def read() -> int:
        path = KUBERNETES_NODES.path()
        page = await requests.get(path, objects.Count, query=[("limit", "1")])
        left = page.metadata.remaining
        if left is None and page.metadata.token:
            return len(await requests.records(Source(resource=KUBERNETES_NODES)))
        return len(page.items or ()) + (left or 0)

    return await reading("list nodes", read())


async def classes(requests: Requests) -> Sequence[ClassSeen] | Unread:
    async def read() -> Sequence[ClassSeen]:
        listed = await requests.get(STORAGE_CLASSES.path(), objects.Classes)
        return [
            ClassSeen(
                record=storage_class_record(each),
                binding_mode=each.volume_binding_mode or "Immediate",
            )
            for each in listed.items or ()
        ]

    return await reading("list storageclasses.storage.k8s.io", read())
