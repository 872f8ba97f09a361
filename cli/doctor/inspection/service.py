"""Reads what leads kube-scheduler to the leader: Service, EndpointSlices, NetworkPolicies."""

from collections.abc import Sequence
from typing import Any

from app.config import NAME
from app.kube.paths import path_of
from cli.doctor import objects
from cli.doctor.facts import Unread
from cli.doctor.inspection.requests import Requests
from cli.doctor.policies import NetworkPolicies, NetworkPolicy
from cli.doctor.reading import reading
from leader import Body
from leader.endpointslice import SERVICE_LABEL


async def service(requests: Requests, namespace: str) -> Body | Unread | None:
    path = path_of("/api/v1", "services", namespace=namespace, name=NAME)
    what = f"get services/{NAME} in {namespace}"
    return await reading(what, requests.find(path, dict[str, Any]))


async def slices(requests: Requests, namespace: str) -> Sequence[Body] | Unread:
    path = path_of("/apis/discovery.k8s.io/v1", "endpointslices", namespace=namespace)

    async def read() -> Sequence[Body]:
        query = [("labelSelector", f"{SERVICE_LABEL}={NAME}")]
        return (await requests.get(path, objects.Bodies, query=query)).items or []

    return await reading(f"list endpointslices.discovery.k8s.io in {namespace}", read())


async def network_policies(requests: Requests, namespace: str) -> Sequence[NetworkPolicy] | Unread:
    path = path_of("/apis/networking.k8s.io/v1", "networkpolicies", namespace=namespace)

    async def read() -> Sequence[NetworkPolicy]:
        return (await requests.get(path, NetworkPolicies)).items or ()

    return await reading(f"list networkpolicies.networking.k8s.io in {namespace}", read())
