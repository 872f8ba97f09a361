"""Findings on whether the service is installed at all, and on what is left where it is not."""

from collections.abc import Iterator

from app.config import NAME, RESOURCE
from cli.doctor.facts import Facts, LeftOver, Unread
from cli.doctor.problems import Check
from cli.doctor.rights import SECOND_SCHEDULER, injection_of
from cli.doctor.seen import fine, unread, wrong
from cli.doctor.settings import release_here
from cli.findings import Finding
from cli.kube.asking import mending
from planner.naming import counted, first_of

_SHOWN = 20
"""Most pods that are named in one text."""


def installation(facts: Facts) -> Iterator[Finding]:
    """Say by what it is installed."""
    if isinstance(facts.service, Unread):
        yield unread(Check.INSTALLATION, facts.service)
        return
    namespace, release = facts.settings.namespace, release_here(facts)
    by = "not by Helm" if release is None else f"by {release}"
    yield fine(Check.INSTALLATION, f"in {namespace}, {by}")


def absence(facts: Facts, left: LeftOver) -> Iterator[Finding]:
    """Say that it is not installed, where it is instead, and what is left of it."""
    namespace = facts.settings.namespace
    if isinstance(left.asking, Unread):
        yield unread(Check.INSTALLATION, left.asking)
    asking = [] if isinstance(left.asking, Unread) else left.asking
    texts = [f"not installed here: nothing of the extender runs in namespace {namespace}"]
    remedies = []
    if left.elsewhere:
        texts.append(f"Deployment {NAME} is in {', '.join(left.elsewhere)}")
        remedies.append(f"set EXTENDER_NAMESPACE={left.elsewhere[0]} to look there")
    else:
        remedies.append("install it (docs/install.md)")
    injecting, command = _injecting(facts)
    if injecting:
        texts.append(f"left over: {injecting}")
        remedies.append(command)
    if facts.service is not None and not isinstance(facts.service, Unread):
        texts.append(
            f"left over: Service {NAME}, at which a kube-scheduler that still calls is refused"
        )
        remedies.append(
            "take the extender out of kube-scheduler's configuration "
            "(docs/install.md#turning-it-off), then kubectl --namespace "
            f"{namespace} delete service {NAME}"
        )
    if left.leases:
        texts.append(f"left over: {', '.join(f'Lease {each}' for each in left.leases)}")
        remedies.append(f"kubectl --namespace {namespace} delete lease {' '.join(left.leases)}")
    if asking:
        names = first_of([each.key for each in asking], _SHOWN)
        texts.append(
            f"{counted(len(asking), 'pod')} without a node still "
            f"{'asks' if len(asking) == 1 else 'ask'} ({RESOURCE}, or schedulerName "
            f"{SECOND_SCHEDULER}): {names}"
        )
        remedies += mending(asking)
    yield wrong("not-installed", "; ".join(texts), "; ".join(remedies))


def _injecting(facts: Facts) -> tuple[str, str]:
    """Return what would inject, and the command that ends it; nothing if nothing is left."""
    seen, name = facts.injection, injection_of(facts.settings.namespace)
    if isinstance(seen, Unread):
        return "", ""
    if seen.has_policy and seen.has_binding:
        return (
            f"MutatingAdmissionPolicy {name}",
            f"kubectl delete mutatingadmissionpolicybindings,mutatingadmissionpolicies {name}",
        )
    if seen.has_webhook and seen.is_trusted:
        return (
            f"MutatingWebhookConfiguration {name}",
            f"kubectl delete mutatingwebhookconfigurations {name}",
        )
    return "", ""
