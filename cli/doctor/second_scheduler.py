"""Findings on the second kube-scheduler: whether it runs, asks, and calls where it is answered."""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import SplitResult

from app.config import NAME, RESOURCE
from app.errors import InputError
from app.serving.wire import Verb
from app.settings import Settings, load
from cli.doctor.facts import ConfigMapSeen, Facts, InstanceSeen, SchedulerSeen, Unread
from cli.doctor.problems import Check
from cli.doctor.rights import SECOND_SCHEDULER
from cli.doctor.seen import fine, unknown, unread, wrong
from cli.doctor.settings import settings_in_force
from cli.documents import parse_yaml
from cli.findings import Finding
from cli.kube.versions import minor_version
from cli.scheduler_config.owners import manages, split
from planner.naming import counted

_FILE = "config.yaml"
_VERBS = {"filterVerb": Verb.FILTER, "prioritizeVerb": Verb.PRIORITIZE, "preemptVerb": Verb.PREEMPT}
_PORTS = {"http": 80, "https": 443}


def second_scheduler(facts: Facts) -> Iterator[Finding]:
    """Judge whether it runs and asks, and compare its version with that of the cluster."""
    seen = facts.second_scheduler
    if seen is None:
        yield fine(Check.SCHEDULER, "none is installed")
        return
    if isinstance(seen, Unread):
        yield unread(Check.SCHEDULER, seen)
        return
    yield from _running(seen)
    yield from _configured(seen, facts)
    if isinstance(facts.version, Unread):
        yield unread(Check.SCHEDULER, facts.version)
    else:
        yield _versions(seen.image, facts.version)


def _running(seen: SchedulerSeen) -> Iterator[Finding]:
    if isinstance(seen.pods, Unread):
        yield unread(Check.SCHEDULER, seen.pods)
    elif not any(pod.is_ready for pod in seen.pods):
        why = next((f": {pod.trouble}" for pod in seen.pods if pod.trouble), "")
        yield wrong(
            "scheduler-not-ready",
            f"{counted(len(seen.pods), 'pod')} of Deployment {SECOND_SCHEDULER}, none ready{why}",
        )


def _configured(seen: SchedulerSeen, facts: Facts) -> Iterator[Finding]:
    """Judge what it was configured with: kube-scheduler reads that when it starts."""
    config, namespace = seen.config, facts.settings.namespace
    if isinstance(config, Unread):
        yield unread(Check.SCHEDULER, config)
        return
    where = f"ConfigMap {seen.config_name} in {namespace}"
    entry, problem = _entry(config)
    if config is None or entry is None:
        yield wrong("scheduler-not-configured", f"{where} {problem}")
        return
    restart = f"kubectl --namespace {namespace} rollout restart deployment/{SECOND_SCHEDULER}"
    if not entry.get("filterVerb"):
        yield wrong(
            "emergency-on",
            f"the entry of the extender in {where} has no filterVerb: pods get nodes without being "
            "asked about, whether their volumes fit or not",
            _ask_again(config, namespace, restart),
        )
    for difference in _differences(entry, facts):
        yield wrong(
            "scheduler-calls-wrong",
            f"the entry of the extender in {where} {difference}",
            _written_anew(config, namespace, restart),
        )
    for pod in () if isinstance(seen.pods, Unread) else seen.pods:
        if _is_older(pod, config):
            yield wrong(
                "scheduler-not-restarted",
                f"pod {pod.name} has run since {pod.started:%Y-%m-%d %H:%M:%S} UTC, and {where} "
                f"was changed at {config.changed:%Y-%m-%d %H:%M:%S}",
                f"{restart}: kube-scheduler reads its configuration once",
            )


def _entry(config: ConfigMapSeen | None) -> tuple[Mapping[str, Any] | None, str]:
    """Return the entry of the extender in a configuration, or why there is none."""
    if config is None:
        return None, "does not exist"
    try:
        documents = parse_yaml(config.name, config.data.get(_FILE, "").encode())
    except InputError as error:
        return None, f"cannot be read: {error}"
    extenders = [
        entry
        for each in documents
        if isinstance(each, dict) and isinstance(each.get("extenders"), list)
        for entry in each["extenders"]
        if isinstance(entry, dict) and manages(entry)
    ]
    if not extenders:
        return None, f"has no entry of extenders that manages {RESOURCE}"
    return extenders[0], ""


def _differences(entry: Mapping[str, Any], facts: Facts) -> Iterator[str]:
    """Say where the entry and the service do not go together."""
    url, leader = split(entry.get("urlPrefix")), _of_the_leader(facts)
    calls = f"calls {str(entry.get('urlPrefix'))[:100]}"
    speaks = "https" if leader.tls_cert_file else "http"
    if url.scheme != speaks:
        yield f"{calls}, and the service speaks {speaks.upper()}"
    elif leader.client_ca_file and not _has_certificate(entry):
        yield "names no certificate of the client (tlsConfig), and the service asks for one"
    service = None if isinstance(facts.service, Unread) else facts.service
    if service is not None:
        yield from _elsewhere(url, calls, service.get("spec") or {}, facts.settings.namespace)
    for field, verb in _VERBS.items():
        if entry.get(field) and str(entry[field]).strip("/") != verb:
            yield f"has {field}: {str(entry[field])[:60]}, and the service answers {verb}"


def _elsewhere(
    url: SplitResult, calls: str, spec: Mapping[str, Any], namespace: str
) -> Iterator[str]:
    ports = [each.get("port") for each in spec.get("ports") or ()]
    port = url.port or _PORTS.get(url.scheme)
    if ports and port not in ports:
        yield f"{calls}, and the Service has port {', '.join(map(str, ports))}"
    name = f"{NAME}.{namespace}"
    addresses = {spec.get("clusterIP"), *(spec.get("clusterIPs") or ())}
    host = (url.hostname or "").removesuffix(".")
    if host not in (NAME, name, *addresses) and not host.startswith(f"{name}.svc"):
        yield f"{calls}, and the Service is {name}.svc"


def _has_certificate(entry: Mapping[str, Any]) -> bool:
    given = entry.get("tlsConfig")
    return isinstance(given, dict) and bool(given.get("certFile") or given.get("certData"))


def _of_the_leader(facts: Facts) -> Settings:
    """Return the settings of the instance that is asked: in a roll-out others may differ."""
    lease = facts.lease
    pod = None if lease is None or isinstance(lease, Unread) else lease.pod
    for instance in () if isinstance(facts.instances, Unread) else facts.instances:
        if instance.name == pod:
            try:
                return load(instance.variables)
            except InputError:
                break
    return settings_in_force(facts)


def _is_older(pod: InstanceSeen, config: ConfigMapSeen) -> bool:
    """Whether a pod runs with another configuration than the one that is there now.

    A pod that Helm made has a checksum of its own; a change of labels alone is a change, too.
    """
    if pod.started is None or config.changed is None or pod.started >= config.changed:
        return False
    text = config.data.get(_FILE, "").rstrip("\n")
    return pod.config_checksum != hashlib.sha256(text.encode()).hexdigest()


def _ask_again(config: ConfigMapSeen, namespace: str, restart: str) -> str:
    """Say how an Emergency ends: by the way that it was begun."""
    until = "until then pods get nodes where their volumes may not fit"
    if config.release is None:
        return f"kubectl replace -f before.yaml, or {_APPLY}; then {restart}; {until}"
    command = _upgrade(config, namespace, "secondaryScheduler.ask=true")
    if _FILE not in config.by_people:
        return f"{command}; {until}"
    return (
        "as kubectl wrote it: kubectl apply --server-side --field-manager=helm --force-conflicts "
        f"-f before.yaml; then {restart}; without that file: {command}; {until}"
    )


_APPLY = "apply the manifests again (docs/install.md#the-command)"


def _written_anew(config: ConfigMapSeen, namespace: str, restart: str) -> str:
    if config.release is None:
        return f"{_APPLY}; then {restart}"
    return f"{_upgrade(config, namespace)}; then {restart}"


def _upgrade(config: ConfigMapSeen, namespace: str, *settings: str) -> str:
    """Return the command that writes it anew; Helm 4 overwrites nothing of kubectl's."""
    assert config.release is not None
    command = config.release.upgrade(*settings)
    if _FILE not in config.by_people:
        return command
    return f"kubectl --namespace {namespace} delete configmap {config.name}; then {command}"


def _versions(image: str, cluster: str) -> Finding:
    """Compare the versions: the same, or one minor version older."""
    tag = image.rpartition(":")[2] if "@" not in image else ""
    of_image, of_cluster = minor_version(tag), minor_version(cluster)
    if of_image is None or of_cluster is None:
        return unknown(Check.SCHEDULER, f"its image {image} does not say its version")
    major, minor = of_cluster
    if of_image in ((major, minor), (major, minor - 1)):
        return fine(Check.SCHEDULER, f"it asks the service; it is {tag}, and the cluster {cluster}")
    return wrong(
        "scheduler-of-other-version",
        f"it is {tag}, and the cluster {cluster}: its minor version, or one older, is needed",
    )
