"""What the service's account must be allowed to do; manifests/base/rbac.yaml grants just this."""

from typing import NamedTuple

from app.config import NAME
from app.kube.sources import sources
from app.settings import Settings
from cli.kube.asking import SCHEDULER

SECOND_SCHEDULER = SCHEDULER
"""The Deployment of the second kube-scheduler."""
SCHEDULER_CONFIG = "longhorn-scheduler-config"
"""The ConfigMap with its configuration; with kustomize its name ends in a hash."""


def injection_of(namespace: str) -> str:
    """Return the name of the policy, its binding, and the webhook of an installation."""
    return f"{NAME}-injection.{namespace}"


class Right(NamedTuple):
    """One verb on the objects of one kind."""

    verb: str
    group: str
    resource: str
    namespace: str = ""
    """Empty: in every namespace, and what is in none."""
    name: str = ""
    """Empty: of any name."""

    @property
    def objects(self) -> str:
        """Which objects, as kubectl spells their kind."""
        kind = f"{self.resource}.{self.group}" if self.group else self.resource
        named = f"{kind}/{self.name}" if self.name else kind
        return f"{named} in {self.namespace}" if self.namespace else f"{named} in all namespaces"


WAKE_UP = Right("patch", "", "pods")
"""Needed for waking pods only: without EXTENDER_WAKE_UP the service does without."""


def of_commands(settings: Settings) -> tuple[Right, ...]:
    """Return the rights that only commands in the service's pod need; they say what they miss."""
    injecting = ("mutatingadmissionpolicies", "mutatingadmissionpolicybindings")
    return (
        Right("list", "networking.k8s.io", "networkpolicies", settings.namespace),
        Right("get", "apps", "deployments", settings.namespace, SECOND_SCHEDULER),
        Right("get", "", "configmaps", settings.namespace, SCHEDULER_CONFIG),
        Right("list", "storage.k8s.io", "csidrivers"),
        Right("list", "storage.k8s.io", "csistoragecapacities"),
        Right("list", "storage.k8s.io", "volumeattachments"),
        Right("list", "longhorn.io", "volumeattachments", settings.longhorn_namespace),
        *(
            Right(
                "get", "admissionregistration.k8s.io", plural, name=injection_of(settings.namespace)
            )
            for plural in (*injecting, "mutatingwebhookconfigurations")
        ),
    )


def needed_rights(settings: Settings) -> list[Right]:
    """Return every right that some part of it needs, `WAKE_UP` and `of_commands` among them."""
    own = settings.namespace
    leadership = [
        Right("create", "coordination.k8s.io", "leases", own),
        *(Right(verb, "coordination.k8s.io", "leases", own, NAME) for verb in ("get", "update")),
        *(
            Right(verb, "discovery.k8s.io", "endpointslices", own)
            for verb in ("list", "create", "update", "delete")
        ),
        Right("get", "", "services", own, NAME),
        Right("get", "", "pods", own),
    ]
    followed = [
        Right(
            verb,
            source.resource.group,
            source.resource.plural,
            source.namespace,
            source.fields.removeprefix("metadata.name="),
        )
        for source in sources(settings)
        for verb in ("list", "watch")
    ]
    pods = [Right("list", "", "pods"), Right("watch", "", "pods"), WAKE_UP]
    return [*leadership, *followed, *pods, *of_commands(settings)]
