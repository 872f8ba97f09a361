"""Says what is missing or wrong in a configuration that is there already; pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from app.config import RESOURCE
from cli.scheduler_config.given import Given, at
from cli.scheduler_config.owners import OwnedEntry, Owner, manages, split
from cli.scheduler_config.wanted import (
    ALL_NODES,
    CAPACITY_PLUGIN,
    KUBECONFIGS,
    PROFILES,
    SCHEDULER_NAME,
    Distribution,
    is_service,
    make_wanted,
)

_DURATION = re.compile(r"(?=.*[1-9])([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+")
"""What Go reads as a duration, and is more than 0."""
_MERGE = "have it written with --merge"
_CONNECT = "see docs/tls.md"
_ASK_FOR_SCORES = (
    "set prioritizeVerb: prioritize and a weight in the extender's entry of kube-scheduler's "
    "configuration, and restart it (docs/kube-scheduler.md). Ignore this if scores are not wanted"
)
_SEND_ALL_NODES = (
    "set percentageOfNodesToScore: 100 in kube-scheduler's configuration (docs/kube-scheduler.md)"
)


class Flaw(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is missing or wrong, and what to do."""

    text: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.text}\n  -> {self.remedy}"


def flaws(
    given: Given,
    distribution: Distribution,
    url: str | None,
    owned: Sequence[OwnedEntry],
    *,
    capacity_score: bool = True,
) -> list[Flaw]:
    """Return what is missing or wrong for our service.

    An entry of which it is not known whose it is, is judged as ours; not if *url* says that ours
    is elsewhere.

    Args:
        given: The configuration.
        distribution: Whose it is.
        url: The service's address, if it is known.
        owned: Whose the entries of concern are.
        capacity_score: Whether free storage may give points; in a second scheduler it never may.
    """
    found = list(_around(given.config, distribution))
    if distribution is Distribution.SECONDARY or not capacity_score:
        found += _capacity_scores(_profiles(given.config))
    if not owned:
        text = f"no entry of extenders manages {RESOURCE}"
        return [Flaw(text=f"{text}: no pod is sent to the extender", remedy=_MERGE), *found]
    managing = [each.name for each in owned if manages(given.entries[each.index])]
    if len(managing) > 1:
        text = f"{', '.join(managing)} all manage {RESOURCE}, and kube-scheduler refuses that twice"
        found.append(Flaw(text=text, remedy="leave one of them; --merge does that"))
    for each in owned:
        may_be_ours = each.owner is Owner.UNKNOWN and (url is None or each.url is None)
        if each.owner is not Owner.OURS and not may_be_ours:
            remedy = f"leave it, or have ours written there by --merge with --replace {each.url}"
            found.append(Flaw(text=str(each), remedy=remedy))
        else:
            found += _entry(each.name, given.entries[each.index], distribution, url)
    return found


def _around(config: Mapping[str, Any], distribution: Distribution) -> Iterator[Flaw]:
    """Judge what is not in the extender's entry."""
    kubeconfig = at(config, ["clientConnection", "kubeconfig"])
    if (path := KUBECONFIGS.get(distribution)) and not kubeconfig:
        yield Flaw(
            text="clientConnection.kubeconfig is not set, and with --config kube-scheduler ignores "
            "--kubeconfig: it will not start",
            remedy=f"set it to {path}",
        )
    profiles = _profiles(config)
    shares = [(ALL_NODES, config.get(ALL_NODES))]
    for index, profile in enumerate(profiles):
        share = at(profile, [ALL_NODES])
        if share is not None:  # it counts instead of the other one
            shares.append((f"profiles[{index}].{ALL_NODES}", share))
    for name, share in shares:
        if share != 100 or isinstance(share, bool):
            text = f"{name} is {_shown(share)}: of more than 100 nodes only a sample is sent"
            yield Flaw(text=text, remedy=_SEND_ALL_NODES)
    if distribution is Distribution.SECONDARY:
        yield from _secondary(config, [at(profile, ["schedulerName"]) for profile in profiles])


def _profiles(config: Mapping[str, Any]) -> list[Any]:
    profiles = config.get(PROFILES)
    return profiles if isinstance(profiles, list) else []


def _capacity_scores(profiles: list[Any]) -> Iterator[Flaw]:
    """Name the profiles in which free storage gives points: all that do not say otherwise."""
    named = {f"{PROFILES}[{index}]": each for index, each in enumerate(profiles)}
    for name, profile in (named or {"the default profile": None}).items():
        disabled = at(profile, ["plugins", "score", "disabled"])
        names = [at(each, ["name"]) for each in disabled] if isinstance(disabled, list) else []
        if not {CAPACITY_PLUGIN, "*"}.intersection(names):
            yield Flaw(
                text=f"{name} lets {CAPACITY_PLUGIN} give points for free storage from Kubernetes "
                "1.37 on, against EXTENDER_BALANCE=pack",
                remedy=f"set {PROFILES}[].plugins.score.disabled to [{{name: {CAPACITY_PLUGIN}}}]",
            )


def _secondary(config: Mapping[str, Any], names: list[Any]) -> Iterator[Flaw]:
    lease = at(config, ["leaderElection", "resourceName"])
    if lease in (None, "", "kube-scheduler"):
        yield Flaw(
            text=f"leaderElection.resourceName is {_shown(lease)}: only one of this and the "
            "cluster's own scheduler would run",
            remedy=f"set it to {SCHEDULER_NAME}",
        )
    if SCHEDULER_NAME not in names:
        yield Flaw(
            text=f"no profile has schedulerName {SCHEDULER_NAME}, which pods ask for",
            remedy=f"add the profile, or write the name of one that is there into the pods: "
            f"{', '.join(_shown(name) for name in names)[:100] or 'there is none'}",
        )


def _entry(
    name: str, entry: Mapping[str, Any], distribution: Distribution, url: str | None
) -> Iterator[Flaw]:
    """Judge our entry, field by field, by the one that we would write."""
    wanted = make_wanted(distribution, "http://any", None)
    yield from _address(name, entry, distribution, url)
    for field in ("filterVerb", "nodeCacheCapable", "ignorable"):
        value, right = entry.get(field), wanted.entry[field]
        is_default = right is False and value is None
        if not (is_default or (value == right and type(value) is type(right))):
            reason = f". {wanted.why[field]}" if field in wanted.why else ""
            yield Flaw(
                text=f"{name}.{field} is {_shown(value)}{reason}",
                remedy=f"set it to {_shown(right)}",
            )
    weight = entry.get("weight")
    is_weight = isinstance(weight, int) and not isinstance(weight, bool) and weight > 0
    if entry.get("prioritizeVerb") != "prioritize" or not is_weight:
        text = (
            f"{name} does not ask for scores: prioritizeVerb is "
            f"{_shown(entry.get('prioritizeVerb'))}, weight is {_shown(weight)}"
        )
        yield Flaw(text=text, remedy=_ASK_FOR_SCORES)
    if entry.get("preemptVerb") != "preempt":
        yield Flaw(
            text=f"{name}.preemptVerb is {_shown(entry.get('preemptVerb'))}: pods are evicted for "
            "others whose volumes find no room on that node",
            remedy="set it to preempt",
        )
    timeout = entry.get("httpTimeout")  # absent, kube-scheduler takes 5 s
    if timeout is not None and not _DURATION.fullmatch(str(timeout)):
        text = f"{name}.httpTimeout is {_shown(timeout)}, which is no time"
        yield Flaw(text=text, remedy="set it to 5s")
    if entry.get("bindVerb"):
        yield Flaw(text=f"{name}.bindVerb: the extender has no such verb", remedy="remove it")
    yield from _resource(name, entry, wanted.why["managedResources"])


def _resource(name: str, entry: Mapping[str, Any], reason: str) -> Iterator[Flaw]:
    resources = entry.get("managedResources")
    listed = resources if isinstance(resources, list) else []
    ours = [each for each in listed if at(each, ["name"]) == RESOURCE]
    if not ours:
        text = f"{name}.managedResources lacks {RESOURCE}. {reason}"
        yield Flaw(text=text, remedy=_MERGE)
    elif ours[0].get("ignoredByScheduler") is not True:
        text = f"{name}.managedResources: ignoredByScheduler of {RESOURCE} is not true. {reason}"
        yield Flaw(text=text, remedy="set it to true")


def _address(
    name: str, entry: Mapping[str, Any], distribution: Distribution, url: str | None
) -> Iterator[Flaw]:
    prefix = entry.get("urlPrefix")
    field = f"{name}.urlPrefix is {_shown(prefix)}"
    parts = split(prefix)
    host = parts.hostname or ""
    if parts.scheme not in ("http", "https") or not host:
        text = f"{field}, which is no URL"
        yield Flaw(text=text, remedy=f"set it to {url or 'the address of the service'}")
        return
    if url is not None and str(prefix).rstrip("/") != url:
        yield Flaw(text=f"{field}, and the service is at {url}", remedy=f"set it to {url}")
    if is_service(host) and distribution is not Distribution.SECONDARY:
        text = f"{field}: kube-scheduler runs in the host's network, where names of Services are"
        yield Flaw(text=f"{text} not resolved", remedy="write the address of the Service")
    tls = entry.get("tlsConfig")
    has_ca = bool(at(tls, ["caFile"]) or at(tls, ["caData"]))
    if parts.scheme == "https" and not has_ca:
        text = f"{name}.tlsConfig has neither caFile nor caData: any certificate is trusted"
        yield Flaw(text=text, remedy=_CONNECT)
    elif parts.scheme == "https" and not (at(tls, ["certFile"]) or at(tls, ["certData"])):
        text = f"{name}.tlsConfig has neither certFile nor certData: the service refuses calls"
        yield Flaw(text=f"{text} without a certificate", remedy=_CONNECT)
    if has_ca and at(tls, ["insecure"]):
        text = f"{name}.tlsConfig has insecure and a CA: kube-scheduler will not start"
        yield Flaw(text=text, remedy="remove insecure")
    if parts.scheme == "http" and (tls or entry.get("enableHTTPS")):
        text = f"{field}, but enableHTTPS or tlsConfig is set: they do not change the scheme"
        yield Flaw(text=text, remedy=f"let it begin with https://, or remove them; {_CONNECT}")


def _shown(value: object) -> str:
    """Write a value as YAML has it, not too long."""
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)[:80]
