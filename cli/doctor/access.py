"""Findings on who can reach the port that kube-scheduler calls."""

from collections.abc import Iterator, Sequence

from app.config import NAME
from cli.doctor.facts import Facts, InstanceSeen, Unread
from cli.doctor.policies import IngressRule, NetworkPolicy, Peer
from cli.doctor.problems import Check
from cli.doctor.seen import fine, unread, wrong
from cli.doctor.settings import settings_in_force
from cli.findings import Finding
from cli.kube.planned_rules import LabelSelector, selector_of
from planner.records import Selector
from planner.selectors import selects

_TYPICAL = InstanceSeen(name=NAME, labels={"app": NAME})
"""Judged while there is no instance."""
_OTHER_PORTS = ("metrics", "webhook")
"""Names of ports of the pods that kube-scheduler does not call."""


def access(facts: Facts) -> Iterator[Finding]:
    """Judge whether anybody but kube-scheduler can ask, by certificates or by NetworkPolicies."""
    settings, policies = settings_in_force(facts), facts.network_policies
    if isinstance(facts.instances, Unread):
        yield unread(Check.ACCESS, facts.instances)
    elif settings.client_ca_file:
        names = ", ".join(sorted(settings.allowed_clients))
        whose = f"for {names}" if names else "of the CA for clients"
        until = settings.plain_until
        others = f"; until {until:%Y-%m-%dT%H:%M:%SZ} plain HTTP is answered, too" if until else ""
        yield fine(Check.ACCESS, f"clients need a certificate {whose}{others}")
    elif isinstance(policies, Unread):
        yield unread(Check.ACCESS, policies)
    else:
        limiting: set[str] = set()
        for instance in facts.instances or [_TYPICAL]:
            of_pod = [each for each in policies if each.is_for_ingress and _selects(each, instance)]
            why = _why_open(instance, of_pod, settings.port)
            if why:
                yield wrong(
                    "port-open",
                    f"port {settings.port} is open to everything in the cluster: no certificate is "
                    f"asked for, and {why}",
                )
                return
            limiting |= {each.metadata.name for each in of_pod}
        names = ", ".join(sorted(limiting))
        yield fine(Check.ACCESS, f"who can reach port {settings.port} is limited by {names}")


def _why_open(instance: InstanceSeen, policies: Sequence[NetworkPolicy], port: int) -> str:
    """Say why everything in the cluster can reach a port of a pod, given the policies for it.

    It is empty if not everything can.
    """
    if not policies:
        return f"no NetworkPolicy is for what comes in to pod {instance.name}"
    for policy in policies:
        for rule in policy.spec.ingress or ():
            if _has_port(rule, port) and _has_everybody(rule):
                return f"NetworkPolicy {policy.metadata.name} lets everybody in"
    return ""


def _selects(policy: NetworkPolicy, instance: InstanceSeen) -> bool:
    selector = selector_of(policy.spec.pod_selector or LabelSelector())
    return selects(selector, instance.labels)


def _has_port(rule: IngressRule, port: int) -> bool:
    """Whether a rule is for a TCP port of the pod; a name counts unless it is of another one."""
    for each in rule.ports or ():
        if (each.protocol or "TCP") != "TCP":
            continue
        if each.port is None or (isinstance(each.port, str) and each.port not in _OTHER_PORTS):
            return True
        if isinstance(each.port, int) and each.port <= port <= (each.end_port or each.port):
            return True
    return not rule.ports


def _has_everybody(rule: IngressRule) -> bool:
    return not rule.from_ or any(_is_everybody(peer) for peer in rule.from_)


def _is_everybody(peer: Peer) -> bool:
    """Whether a peer is every address, or every pod of every namespace."""
    if peer.ip_block is not None:
        return peer.ip_block.cidr.endswith("/0")
    if peer.namespace_selector is None:
        return False
    given = (peer.namespace_selector, peer.pod_selector or LabelSelector())
    return all(selector_of(each) == Selector() for each in given)
