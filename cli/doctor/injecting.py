"""Findings on how pods come to the extender: what gives them the resource, who schedules them."""

from collections.abc import Iterator

from app.config import RESOURCE
from cli.doctor.facts import Facts, Unread
from cli.doctor.leading import last_call
from cli.doctor.problems import Check, Finding, Problem
from cli.doctor.rights import injection_of
from cli.doctor.seen import fine, unknown, unread
from cli.kube.versions import minor_version
from leader import Body

WISH = "longhorn-scheduler-extender/injection"
"""An annotation of the Service: `none` where whoever installed it wants no injection, `waiting`
where it begins once the cluster's kube-scheduler is said to be configured."""


def injection(facts: Facts) -> Iterator[Finding]:
    """Judge whether new pods with claims ask for the extender by themselves."""
    seen, name = facts.injection, injection_of(facts.settings.namespace)
    if isinstance(seen, Unread):
        yield unread(Check.INJECTION, seen)
    elif seen.has_policy and not seen.has_binding:
        yield Problem.INJECTION_WITHOUT_EFFECT.found(
            f"MutatingAdmissionPolicy {name} has no binding, so no pod gets {RESOURCE}"
        )
    elif seen.has_policy:
        yield fine(Check.INJECTION, f"MutatingAdmissionPolicy {name} gives new pods {RESOURCE}")
    elif seen.has_webhook and not seen.is_trusted:
        yield Problem.INJECTION_WITHOUT_EFFECT.found(
            f"MutatingWebhookConfiguration {name} has no caBundle, so no pod gets {RESOURCE}"
        )
    elif seen.has_webhook:
        yield fine(Check.INJECTION, f"a webhook of the service gives new pods {RESOURCE}")
    elif facts.service is None:
        yield fine(Check.INJECTION, "nothing is installed that needs it")
    elif _wish(facts.service) == "none":
        yield fine(Check.INJECTION, f"not installed: pods name {RESOURCE} themselves")
    elif _wish(facts.service) == "waiting":
        yield Problem.INJECTION_WAITS.found(
            f"injection waits, so no new pod gets {RESOURCE}; {last_call(facts)}"
        )
    else:
        yield Problem.NOT_INJECTED.found(
            f"nothing gives new pods with claims {RESOURCE}, so kube-scheduler does not ask about "
            "them"
        )


def _wish(service: Body | Unread) -> str:
    if isinstance(service, Unread):
        return ""
    annotations = service["metadata"].get("annotations") or {}
    return str(annotations.get(WISH, ""))


def second_scheduler(facts: Facts) -> Iterator[Finding]:
    """Compare its version with that of the cluster: the same, or one minor version older."""
    image, cluster = facts.second_scheduler, facts.version
    if image is None:
        yield fine(Check.SCHEDULER, "none is installed")
    elif isinstance(image, Unread):
        yield unread(Check.SCHEDULER, image)
    elif isinstance(cluster, Unread):
        yield unread(Check.SCHEDULER, cluster)
    else:
        yield _versions(image, cluster)


def _versions(image: str, cluster: str) -> Finding:
    tag = image.rpartition(":")[2] if "@" not in image else ""
    of_image, of_cluster = minor_version(tag), minor_version(cluster)
    if of_image is None or of_cluster is None:
        return unknown(Check.SCHEDULER, f"its image {image} does not say its version")
    major, minor = of_cluster
    if of_image in ((major, minor), (major, minor - 1)):
        return fine(Check.SCHEDULER, f"it is {tag}, and the cluster {cluster}")
    return Problem.SCHEDULER_OF_OTHER_VERSION.found(
        f"it is {tag}, and the cluster {cluster}: its minor version, or one older, is needed"
    )
