"""Reads what brings pods to the extender: injection, a second kube-scheduler, autoscalers."""

from collections.abc import Sequence
from typing import Any

from app.kube.paths import path_of
from cli.doctor import objects
from cli.doctor.autoscaler import SELECTORS
from cli.doctor.facts import AutoscalerSeen, InjectionSeen, Unread
from cli.doctor.inspection.requests import Requests
from cli.doctor.reading import reading
from cli.doctor.rights import SECOND_SCHEDULER, injection_of
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


async def second_scheduler(requests: Requests, namespace: str) -> str | Unread | None:
    """Return the image of the second kube-scheduler, if there is one."""
    path = path_of("/apis/apps/v1", "deployments", namespace=namespace, name=SECOND_SCHEDULER)

    async def read() -> str | None:
        deployment = await requests.find(path, objects.Deployment)
        return None if deployment is None else deployment.image

    return await reading(f"get deployments.apps/{SECOND_SCHEDULER} in {namespace}", read())


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
