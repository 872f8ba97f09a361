"""Findings on how pods come to the extender: what gives them the resource."""

from collections.abc import Iterator

from app.config import NAME, RESOURCE
from app.instance.live_settings import INJECT, LiveSettings, read_live_settings
from cli.doctor.facts import Facts, Unread
from cli.doctor.leading import last_call
from cli.doctor.problems import Check
from cli.doctor.rights import injection_of
from cli.doctor.seen import fine, unread, wrong
from cli.findings import Finding
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
        yield wrong(
            "injection-without-effect",
            f"MutatingAdmissionPolicy {name} has no binding, so no pod gets {RESOURCE}",
        )
    elif (seen.has_policy or seen.has_webhook) and not _has_begun(facts):
        yield wrong(
            "injection-off",
            f"injection is installed and off: {INJECT} in ConfigMap {NAME} is not true, so no new "
            f"pod gets {RESOURCE}",
        )
    elif seen.has_policy:
        yield fine(Check.INJECTION, f"MutatingAdmissionPolicy {name} gives new pods {RESOURCE}")
    elif seen.has_webhook and not seen.is_trusted:
        yield wrong(
            "injection-without-effect",
            f"MutatingWebhookConfiguration {name} has no caBundle, so no pod gets {RESOURCE}",
        )
    elif seen.has_webhook:
        yield fine(Check.INJECTION, f"a webhook of the service gives new pods {RESOURCE}")
    elif facts.service is None:
        yield fine(Check.INJECTION, "nothing is installed that needs it")
    elif _wish(facts.service) == "none":
        yield fine(Check.INJECTION, f"not installed: pods name {RESOURCE} themselves")
    elif _wish(facts.service) == "waiting":
        yield wrong(
            "injection-waits", f"injection waits, so no new pod gets {RESOURCE}; {last_call(facts)}"
        )
    else:
        yield wrong(
            "not-injected",
            f"nothing gives new pods with claims {RESOURCE}, so kube-scheduler does not ask about "
            "them",
        )


def _has_begun(facts: Facts) -> bool:
    """Whether the ConfigMap says that pods are injected; nobody can say so if it cannot be read."""
    if isinstance(facts.config_map, Unread):
        return True
    data = {} if facts.config_map is None else facts.config_map.data
    return read_live_settings(data, LiveSettings())[0].inject


def _wish(service: Body | Unread) -> str:
    if isinstance(service, Unread):
        return ""
    annotations = service["metadata"].get("annotations") or {}
    return str(annotations.get(WISH, ""))
