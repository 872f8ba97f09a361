"""Findings on the extender that Longhorn has of its own, which may run beside this one."""

from collections.abc import Iterator

from app.config import NAME
from cli.doctor.facts import Facts, Unread
from cli.doctor.problems import Check
from cli.doctor.seen import fine, unread, wrong
from cli.doctor.settings import longhorn_values
from cli.findings import Finding
from longhorn import OWN_EXTENDER, OwnExtender, own_extender

_STATES = {
    OwnExtender.ABSENT: f"Longhorn has none: it has no Setting {OWN_EXTENDER}",
    OwnExtender.OFF: f"Longhorn has one, which is off (Setting {OWN_EXTENDER})",
    OwnExtender.ON: (
        f"Longhorn's own is on (Setting {OWN_EXTENDER}): a kube-scheduler can ask one of both alone"
    ),
}


def beside(facts: Facts) -> Iterator[Finding]:
    """Say whether there is one, and judge whether its objects meet ours."""
    if isinstance(facts.longhorn_settings, Unread):
        yield unread(Check.OWN_EXTENDER, facts.longhorn_settings)
        return
    state, namespace = own_extender(longhorn_values(facts)), facts.settings.namespace
    if namespace == facts.settings.longhorn_namespace and facts.service is not None:
        whose = f"Service and Lease {NAME} in {namespace}, the namespace of Longhorn"
        if state is OwnExtender.ON:
            yield wrong(
                "namespace-contested",
                f"two extenders write {whose}: this one and Longhorn's own, which is on (Setting "
                f"{OWN_EXTENDER})",
                f"kubectl --namespace {namespace} patch settings.longhorn.io {OWN_EXTENDER} --type "
                """merge -p '{"value":"false"}', or move the service to a namespace of its own """
                "(docs/upgrade.md#to-a-namespace-of-its-own): until then each leader takes the "
                "Service away from the other",
            )
        else:
            yield wrong("namespace-shared", f"this service has {whose}")
    yield fine(Check.OWN_EXTENDER, _STATES[state])
