"""Findings on the instances: their rights, whether they run, who leads, and who calls."""

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta

from app.config import NAME
from app.instance.calls import read_last, read_most
from app.serving.wire import Verb
from cli.doctor.facts import Facts, Unread
from cli.doctor.problems import Check
from cli.doctor.rights import WAKE_UP, of_commands
from cli.doctor.seen import fine, unknown, unread, wrong
from cli.doctor.settings import settings_in_force
from cli.findings import Finding
from planner.naming import counted

_INSTANCES = 2
_ALL_SENT = 100
"""Up to so many nodes kube-scheduler looks at all of them (minFeasibleNodesToFind)."""


def rights(facts: Facts) -> Iterator[Finding]:
    """Judge what the service's account may do."""
    if isinstance(facts.rights, Unread):
        yield unread(Check.RIGHTS, facts.rights)
        return
    optional = {*of_commands(facts.settings)}
    if not settings_in_force(facts).wake_up:
        optional.add(WAKE_UP)
    missing: defaultdict[str, list[str]] = defaultdict(list)
    for right, is_granted in facts.rights.items():
        if not is_granted and right not in optional:
            missing[right.objects].append(right.verb)
    for objects, verbs in missing.items():
        yield wrong("right-missing", f"{facts.account} may not {', '.join(verbs)} {objects}")
    yield fine(Check.RIGHTS, f"{facts.account} may do all that the service does")


def instances(facts: Facts) -> Iterator[Finding]:
    """Judge whether one can lead and another one stands by."""
    seen, namespace = facts.instances, facts.settings.namespace
    if isinstance(seen, Unread):
        yield unread(Check.INSTANCES, seen)
        return
    if not seen:
        yield wrong("no-instance", f"there is no pod with the label app={NAME} in {namespace}")
        return
    ready = [instance for instance in seen if instance.is_ready]
    if not ready:
        yield wrong("no-instance-ready", f"{counted(len(seen), 'pod')} in {namespace}, none ready")
    elif len(ready) < _INSTANCES:
        yield wrong("no-standby", f"only pod {ready[0].name} is ready: nobody stands by")
    for instance in seen:
        if not instance.is_ready:
            why = f": {instance.trouble}" if instance.trouble else ""
            yield wrong("instance-not-ready", f"pod {instance.name} is not ready{why}")
    yield fine(Check.INSTANCES, f"{counted(len(ready), 'pod')} ready")


def lease(facts: Facts) -> Iterator[Finding]:
    """Judge whether somebody leads."""
    seen, name = facts.lease, f"Lease {NAME} in {facts.settings.namespace}"
    if isinstance(seen, Unread):
        yield unread(Check.LEASE, seen)
    elif seen is None:
        yield wrong("lease-absent", f"there is no {name}: no instance has ever led")
    elif not seen.holder:
        yield wrong("lease-free", f"nobody holds {name}")
    elif not seen.is_renewed:
        yield wrong(
            "lease-stale",
            f"{seen.holder} holds {name} and has not renewed it for {seen.watched_seconds:.0f} s",
        )
    elif facts.holder is None:
        yield wrong(
            "holder-gone",
            f"{name} is renewed by pod {seen.pod}, which does not exist: nothing leads to it",
        )
    else:
        yield fine(Check.LEASE, f"pod {seen.pod} holds it and renews it")


def requests(facts: Facts) -> Iterator[Finding]:
    """Judge whether kube-scheduler calls, and whether it asks for scores, too."""
    if isinstance(facts.lease, Unread):
        yield unread(Check.REQUESTS, facts.lease)
        return
    if facts.lease is None:
        yield unknown(Check.REQUESTS, "calls are noted on the Lease, which does not exist")
        return
    last = read_last(facts.lease.annotations, Verb.FILTER)
    if last is None:
        yield wrong("never-called", last_call(facts))
        return
    most = read_most(facts.lease.annotations)
    if most > 1 and read_last(facts.lease.annotations, Verb.PRIORITIZE) is None:
        yield wrong(
            "never-prioritized",
            f"kube-scheduler has called /filter with {most} candidates, and never /prioritize",
        )
    asked = read_last(facts.lease.annotations, Verb.PREEMPT)
    evicting = "it has not asked yet before it evicts pods"
    if asked is not None:
        evicting = f"it asked {_ago(facts.now, asked)} before it evicts pods"
    yield fine(Check.REQUESTS, f"{last_call(facts)}; {evicting}")


def last_call(facts: Facts) -> str:
    """Say when kube-scheduler asked about a pod last, as far as this is known."""
    if facts.lease is None or isinstance(facts.lease, Unread):
        return "when kube-scheduler called last is not known"
    last = read_last(facts.lease.annotations, Verb.FILTER)
    if last is None:
        return f"kube-scheduler has not called since {facts.lease.created or 'the Lease was made'}"
    return f"kube-scheduler called {_ago(facts.now, last)}"


def candidates(facts: Facts) -> Iterator[Finding]:
    """Judge whether kube-scheduler sends every node as a candidate if there are more than 100."""
    nodes, of = facts.kubernetes_nodes, "nodes"
    if isinstance(nodes, Unread):
        if isinstance(facts.longhorn_nodes, Unread):
            yield unread(Check.CANDIDATES, nodes)
            return
        nodes, of = len(facts.longhorn_nodes), "nodes of Longhorn"
    if nodes <= _ALL_SENT:
        yield fine(Check.CANDIDATES, f"kube-scheduler looks at all of {nodes} {of}")
        return
    most = 0
    if facts.lease is not None and not isinstance(facts.lease, Unread):
        most = read_most(facts.lease.annotations)
    sample = sample_of(nodes)
    if most <= sample:
        yield wrong(
            "nodes-not-sent",
            f"of {nodes} {of} kube-scheduler sends {sample} as candidates by default, and it has "
            f"never sent more than {most}",
        )
        return
    yield fine(
        Check.CANDIDATES,
        f"kube-scheduler has sent {most} of {nodes} {of} as candidates; the default is {sample}",
    )


def sample_of(nodes: int) -> int:
    """Return how many of so many nodes kube-scheduler looks at by default.

    Source: numFeasibleNodesToFind in pkg/scheduler/schedule_one.go of Kubernetes.
    """
    percent = max(50 - nodes // 125, 5)
    return min(nodes, max(_ALL_SENT, nodes * percent // 100))


def _ago(now: datetime, moment: datetime) -> str:
    """Say how long ago something was, in the largest unit of which it is at least two."""
    passed = now - moment
    if passed < timedelta(0):
        return f"at {moment:%Y-%m-%d %H:%M:%S} UTC, by a clock that is ahead"
    for unit, name in (
        (timedelta(days=1), "days"),
        (timedelta(hours=1), "hours"),
        (timedelta(minutes=1), "minutes"),
    ):
        if passed >= 2 * unit:
            return f"{passed // unit} {name} ago"
    return f"{passed // timedelta(seconds=1)} seconds ago"
