"""Reads what brings pods to the extender: injection, a second kube-scheduler, autoscalers."""

from collections.abc import Sequence
from typing import Any

from app.config import NAME
from app.kube.paths import path_of
from app.kube.resources import CONFIG_MAPS
from cli.doctor import objects
from cli.doctor.autoscaler import SELECTORS
from cli.doctor.config_maps import ConfigMap
from cli.doctor.facts import (
    AutoscalerSeen,
    ConfigMapSeen,
    InjectionSeen,
    LeftOver,
    SchedulerSeen,
    Unread,
)
from cli.doctor.inspection.instances import instances
from cli.doctor.inspection.requests import Requests
from cli.doctor.reading import reading
from cli.doctor.rights import SECOND_SCHEDULER, injection_of
from cli.kube.asking import SCHEDULER, WAITING_PODS, WaitingPod, asking
from cli.kube.resources import PODS

_ADMISSION = "/apis/admissionregistration.k8s.io"


async def injection(requests: Requests, namespace: str) -> InjectionSeen | Unread:
    """Look for the policy in the versions that the chart installs, and for the webhook."""
    name = injection_of(namespace)

    async def is_there(version: str, plural: str) -> bool:
        path = path_of(f"{_ADMISSION}/{version}", plural, name=name)
        return await requests.find(path, dict[str, Any]) is not None

    async def read() -> InjectionSeen:
        policy = binding = False
        for version in ("v1", "v1beta1"):
            policy = policy or await is_there(version, "mutatingadmissionpolicies")
            binding = binding or await is_there(version, "mutatingadmissionpolicybindings")
        path = path_of(f"{_ADMISSION}/v1", "mutatingwebhookconfigurations", name=name)
        webhook = await requests.find(path, objects.WebhookConfiguration)
        return InjectionSeen(
            has_policy=policy,
            has_binding=binding,
            has_webhook=webhook is not None,
            is_trusted=webhook is not None and webhook.is_trusted,
        )

    what = "get mutatingadmissionpolicies, their bindings and mutatingwebhookconfigurations"
    return await reading(f"{what} {name}", read())


async def second_scheduler(requests: Requests, namespace: str) -> SchedulerSeen | Unread | None:
    """Read the second kube-scheduler and its configuration, if there is one."""
    path = path_of("/apis/apps/v1", "deployments", namespace=namespace, name=SECOND_SCHEDULER)
    what = f"get deployments.apps/{SECOND_SCHEDULER} in {namespace}"
    deployment = await reading(what, requests.find(path, objects.Deployment))
    if deployment is None or isinstance(deployment, Unread):
        return deployment
    name = deployment.config_map
    return SchedulerSeen(
        image=deployment.image,
        config_name=name,
        config=await _config_map(requests, namespace, name) if name else None,
        pods=await instances(requests, namespace, SECOND_SCHEDULER),
    )


async def _config_map(
    requests: Requests, namespace: str, name: str
) -> ConfigMapSeen | Unread | None:
    async def read() -> ConfigMapSeen | None:
        found = await requests.find(CONFIG_MAPS.path(namespace, name), ConfigMap)
        return None if found is None else found.seen

    return await reading(f"get configmaps/{name} in {namespace}", read())


async def left_over(requests: Requests, leases: Sequence[str]) -> LeftOver:
    """Look for what an installation leaves behind, and for one in another namespace."""
    return LeftOver(
        leases=leases,
        asking=await reading("list pods in all namespaces", _asking(requests)),
        elsewhere=await elsewhere(requests),
    )


async def _asking(requests: Requests) -> Sequence[WaitingPod]:
    found = await requests.records(WAITING_PODS)
    return asking((each for each in found if isinstance(each, WaitingPod)), SCHEDULER)


async def elsewhere(requests: Requests) -> Sequence[str]:
    """Return the namespaces with a Deployment of our name; none if they may not be listed."""
    query = [("fieldSelector", f"metadata.name={NAME}")]
    path = path_of("/apis/apps/v1", "deployments")
    found = await reading(
        "list deployments.apps in all namespaces",
        requests.get(path, objects.Deployments, query=query),
    )
    if isinstance(found, Unread):
        return []
    return sorted(each.metadata.namespace or "" for each in found.items or ())


async def autoscalers(requests: Requests) -> Sequence[AutoscalerSeen] | Unread:
    """Find them by their labels: the service may list pods everywhere, and no Deployments."""

    async def read() -> Sequence[AutoscalerSeen]:
        found = dict[str, AutoscalerSeen]()
        for selector in SELECTORS:
            query = [("labelSelector", selector)]
            for pod in (await requests.get(PODS.path(), objects.Pods, query=query)).items or ():
                if not objects.is_over(pod):
                    seen = objects.autoscaler_seen(pod)
                    found[seen.name] = seen
        return [found[name] for name in sorted(found)]

    return await reading("list pods in all namespaces", read())
