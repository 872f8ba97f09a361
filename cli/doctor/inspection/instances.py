"""Reads the instances of the service: their pods, their ConfigMap, and who leads."""

import asyncio
from collections.abc import Sequence
from typing import Any

from app.config import NAME
from app.kube.paths import path_of
from app.kube.resources import CONFIG_MAPS
from app.settings import Settings
from cli.doctor import objects
from cli.doctor.config_maps import ConfigMaps
from cli.doctor.facts import ConfigMapSeen, InstanceSeen, LeaseSeen, Unread
from cli.doctor.inspection.requests import Requests
from cli.doctor.reading import reading
from cli.doctor.rights import SECOND_SCHEDULER
from cli.kube.resources import PODS
from leader import Body

_LOOK_SECONDS = 0.5
"""Pause between two looks at the Lease; leaders renew it every second."""
_LONGEST_WATCH_SECONDS = 30.0


async def instances(
    requests: Requests, namespace: str, app: str = NAME
) -> Sequence[InstanceSeen] | Unread:
    """Read the pods of the service, or of the second scheduler."""

    async def read() -> Sequence[InstanceSeen]:
        query = [("labelSelector", f"app={app}")]
        pods = await requests.get(PODS.path(namespace), objects.Pods, query=query)
        return [objects.instance_seen(pod) for pod in pods.items or () if not objects.is_over(pod)]

    return await reading(f"list pods in {namespace}", read())


async def config_map(requests: Requests, namespace: str) -> ConfigMapSeen | Unread | None:
    """Read the live settings; the service may list this ConfigMap, and not get it."""

    async def read() -> ConfigMapSeen | None:
        query = [("fieldSelector", f"metadata.name={NAME}")]
        listed = await requests.get(CONFIG_MAPS.path(namespace), ConfigMaps, query=query)
        return next((each.seen for each in listed.items or ()), None)

    return await reading(f"list configmaps/{NAME} in {namespace}", read())


async def lease(requests: Requests, settings: Settings) -> LeaseSeen | Unread | None:
    """Read the Lease, and watch it until it is renewed or others should have taken it over."""
    what = f"get leases.coordination.k8s.io/{NAME} in {settings.namespace}"
    return await reading(what, _watched(requests, settings))


async def lease_now(requests: Requests, namespace: str) -> LeaseSeen | Unread | None:
    """Read the Lease once."""

    async def read() -> LeaseSeen | None:
        found = await requests.find(_lease_path(namespace, NAME), objects.Lease)
        return None if found is None else found.seen()

    return await reading(f"get leases.coordination.k8s.io/{NAME} in {namespace}", read())


def _lease_path(namespace: str, name: str) -> str:
    return path_of("/apis/coordination.k8s.io/v1", "leases", namespace=namespace, name=name)


async def leases(requests: Requests, namespace: str) -> Sequence[str]:
    """Return which of the Leases there are that an installation has, as far as can be seen."""
    found = []
    for name in (NAME, SECOND_SCHEDULER):
        path = _lease_path(namespace, name)
        read = await reading(f"get leases/{name}", requests.find(path, objects.Lease))
        if isinstance(read, objects.Lease):
            found.append(name)
    return found


async def holder(
    lease: LeaseSeen | Unread | None, requests: Requests, namespace: str
) -> Body | Unread | None:
    """Return the pod of the Lease's holder."""
    if lease is None or isinstance(lease, Unread) or not lease.holder:
        return None
    path = PODS.path(namespace, lease.pod)
    return await reading(f"get pods in {namespace}", requests.find(path, dict[str, Any]))


async def _watched(requests: Requests, settings: Settings) -> LeaseSeen | None:
    path = _lease_path(settings.namespace, NAME)
    loop = asyncio.get_running_loop()
    first = last = await requests.find(path, objects.Lease)
    began = loop.time()
    while last is not None and last.holder and last.renewal == (first and first.renewal):
        duration = last.spec.lease_duration_seconds or settings.lease_duration_seconds
        watched = loop.time() - began
        if watched > min(duration, _LONGEST_WATCH_SECONDS):
            return last.seen(is_renewed=False, watched_seconds=watched)
        await asyncio.sleep(_LOOK_SECONDS)
        last = await requests.find(path, objects.Lease)
    if last is None:
        return None
    return last.seen(is_renewed=True, watched_seconds=loop.time() - began)
