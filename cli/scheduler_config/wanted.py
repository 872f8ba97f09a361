"""What kube-scheduler's configuration must hold, and why; the shipped manifests are equal to it."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

import msgspec

from app.config import NAME, OWN_NAMESPACE, RESOURCE
from app.errors import InputError
from cli.scheduler_config.writing import lines_of

API_VERSION = "kubescheduler.config.k8s.io/v1"
KIND = "KubeSchedulerConfiguration"
TALOS_KIND = "KubeSchedulerConfig"
"""The document that has the configuration in what Talos 1.14 and newer make.

Source: siderolabs/talos pkg/machinery/config/types/k8s/scheduler.go. A machine configuration that
has cluster.scheduler, as older ones made it, is refused with this document beside it.
"""
ALL_NODES = "percentageOfNodesToScore"
PROFILES = "profiles"
"""What we set besides the extender's entry; profiles only where that is asked for."""
SCHEDULER_NAME = "longhorn-scheduler"
DEFAULT_SCHEDULER = "default-scheduler"
CAPACITY_PLUGIN = "VolumeBinding"
"""Gives points for free storage from Kubernetes 1.37 on (gate StorageCapacityScoring)."""

_WHY = {
    "kubeconfig": "With --config kube-scheduler ignores --kubeconfig, so the path must be here.",
    ALL_NODES: (
        "All nodes. Otherwise kube-scheduler sends only a sample of more than 100 nodes, and "
        "the one node with room may not be in it."
    ),
    PROFILES: (
        "VolumeBinding gives no points: from Kubernetes 1.37 on it would give up to 100 for free "
        "storage, by figures up to a minute old. Which node's disks are best says the extender."
    ),
    "urlPrefix": (
        "The address of the Service: kube-scheduler runs in the host's network, where names of "
        "Services are not resolved."
    ),
    "preemptVerb": (
        "Before it evicts pods for one of higher priority, kube-scheduler asks on which nodes that "
        "helps: volumes of Longhorn stay where they are when their pods go."
    ),
    "prioritizeVerb": (
        "Of the nodes that fit, the one where the pod's data are is better. At weight 2 the scores "
        "add up to 200 points to kube-scheduler's sum for a node: more than its images do (100), "
        "and no more than a preferred node affinity (200). To do without scores, remove these two "
        "lines; filterVerb works alone."
    ),
    "serverName": (
        "The name that the service's certificate must have. Without it that is the address above."
    ),
    "caFile": "Never leave this out: kube-scheduler would then trust any certificate.",
    "caData": "Never leave this out: kube-scheduler would then trust any certificate.",
    "nodeCacheCapable": (
        "Node names instead of whole nodes: bodies are a hundred times smaller, and from 1.33 on "
        "kube-scheduler would otherwise score the nodes as if no pod ran there."
    ),
    "ignorable": (
        "Pods that ask for the extender wait while it does not answer: they must not start where "
        "their volumes cannot go. Other pods never depend on it."
    ),
    "httpTimeout": (
        "kube-scheduler schedules nothing else while it waits, so keep it short. An answer takes "
        "milliseconds, or less than this when it waits for another pod's node to be chosen."
    ),
    "managedResources": (
        "Only pods that ask for this resource are sent to the extender. No node has it, so "
        "kube-scheduler must ignore it."
    ),
}
_WHY_OF_SECONDARY = _WHY | {
    "resourceName": (
        "Its own Lease. Otherwise only one of it and the cluster's own scheduler would run."
    ),
    "leaseDuration": (
        "As short as the service's own: after the end of a scheduler that could not say so, "
        "another one begins within 8 s, and not 15."
    ),
    "urlPrefix": (
        "By name, since this kube-scheduler runs in the pods' network: no fixed address is needed. "
        "The cluster's own scheduler schedules the DNS server, so neither waits for the other."
    ),
    "managedResources": (
        "A pod needs both schedulerName and this resource: a resource means the same in all "
        "clusters. No node has it, so kube-scheduler must ignore it."
    ),
}


class Distribution(StrEnum):
    """What kube-scheduler is run by."""

    KUBEADM = "kubeadm"
    K3S = "k3s"
    RKE2 = "rke2"
    TALOS = "talos"
    SECONDARY = "secondary"


FOLDER = f"/etc/{NAME}"
"""Where kube-scheduler finds the files for TLS, on the hosts and in its own pods."""
KUBECONFIGS = {
    Distribution.KUBEADM: "/etc/kubernetes/scheduler.conf",
    Distribution.K3S: "/var/lib/rancher/k3s/server/cred/scheduler.kubeconfig",
    Distribution.RKE2: "/var/lib/rancher/rke2/server/cred/scheduler.kubeconfig",
}
"""Talos fills it in, and a secondary scheduler has its service account."""


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """The extender's entry for one distribution, and what it needs around it."""

    distribution: Distribution
    entry: Mapping[str, Any]
    namespace: str
    """Of our service, and of the Lease of its second scheduler."""
    profiles: Sequence[Mapping[str, Any]] = ()
    """None: kube-scheduler's own, or those that are there."""

    @property
    def why(self) -> Mapping[str, str]:
        """The comment above each field, by the field's name."""
        return why(self.distribution)


def why(distribution: Distribution) -> Mapping[str, str]:
    """Return the comment above each field, by the field's name."""
    return _WHY_OF_SECONDARY if distribution is Distribution.SECONDARY else _WHY


def is_service(host: str) -> bool:
    """Say whether a host is the name of a Service, which only the cluster's DNS resolves."""
    host = host.removesuffix(".")
    is_short = "." not in host and ":" not in host and host != "localhost"
    return is_short or host.endswith((".svc", ".cluster.local")) or host.startswith(f"{NAME}.")


def check_reachable(url: str, distribution: Distribution) -> None:
    """Refuse an address, as it was checked, that kube-scheduler would not reach the service at.

    Raises:
        InputError: It names a Service that is not resolved there, or has no port.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if is_service(host) and distribution is not Distribution.SECONDARY:
        raise InputError(
            f"--url {url} names a Service, and kube-scheduler runs in the host's network, where "
            f"that is not resolved: give the Service's address (`propose-address` finds a free "
            f"one), or use --distribution {Distribution.SECONDARY}"
        )
    if parts.port is None:
        raise InputError(
            f"--url {url} has no port, so that kube-scheduler would call another one than the "
            f"Service's, which is 9504 unless you set it: {url}:9504"
        )


def make_wanted(
    distribution: Distribution,
    url: str,
    tls: Mapping[str, str] | None = None,
    namespace: str = OWN_NAMESPACE,
    *,
    capacity_score: bool = True,
) -> Wanted:
    """Return what is wanted for the service at *url*.

    Args:
        distribution: Whose configuration it is in.
        url: The service's address.
        tls: tlsConfig, for HTTPS.
        capacity_score: Leave it to kube-scheduler whether free storage gives points. A second
            scheduler, whose pods are ours, never does.

    Raises:
        InputError: kube-scheduler could not call this URL, or would trust any certificate.
    """
    prefix = checked_url(url)
    is_https = prefix.startswith("https:")
    if is_https and tls is None:
        raise InputError(
            f"--url {url} needs --tls-ca, --tls-cert and --tls-key: Talos mounts no folder for "
            f"kube-scheduler, so their contents are written"
        )
    if tls is not None and not is_https:
        raise InputError(f"--tls-ca is of no use with --url {url}: it must begin with https://")
    entry: dict[str, Any] = {
        "urlPrefix": prefix,
        "filterVerb": "filter",
        "preemptVerb": "preempt",
        "prioritizeVerb": "prioritize",
        "weight": 2,
        "enableHTTPS": is_https,
    }
    if tls is not None:
        entry["tlsConfig"] = dict(tls)
    entry |= {
        "nodeCacheCapable": True,
        "ignorable": False,
        "httpTimeout": "5s",
        "managedResources": [{"name": RESOURCE, "ignoredByScheduler": True}],
    }
    profiles = []
    if distribution is Distribution.SECONDARY:
        profiles = [without_capacity_score(SCHEDULER_NAME)]
    elif not capacity_score:
        profiles = [without_capacity_score(DEFAULT_SCHEDULER)]
    return Wanted(distribution=distribution, entry=entry, namespace=namespace, profiles=profiles)


def without_capacity_score(scheduler: str) -> dict[str, Any]:
    """Return the profile of a scheduler in which free storage gives no points."""
    disabled = {"disabled": [{"name": CAPACITY_PLUGIN}]}
    return {"schedulerName": scheduler, "plugins": {"score": disabled}}


def checked_url(url: str) -> str:
    """Return *url* as urlPrefix has it: scheme, host and port, no slash at its end."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise InputError(f"--url {url!r} is no URL: {error}") from error
    plain = url.isascii() and url.isprintable() and " " not in url and "\\" not in url
    if not plain or parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise InputError(f"--url {url!r} is no address; it must be like https://10.96.0.95:9504")
    if parts.path not in ("", "/") or "?" in url or "#" in url or "@" in url:
        raise InputError(f"--url {url!r} must end after the port: kube-scheduler adds /filter")
    return f"{parts.scheme}://{parts.netloc}"


def tls_files(
    ca: str | None, certificate: str | None, key: str | None, name: str
) -> dict[str, str]:
    """Return tlsConfig with the names of files on the control-plane nodes; None: as documented."""
    return {
        "serverName": name,
        "caFile": ca or f"{FOLDER}/ca.crt",
        "certFile": certificate or f"{FOLDER}/tls.crt",
        "keyFile": key or f"{FOLDER}/tls.key",
    }


def tls_contents(
    ca: bytes, certificate: bytes | None, key: bytes | None, name: str
) -> dict[str, str]:
    """Return tlsConfig with what is in the files: Talos mounts no folder for kube-scheduler."""
    files = {"caData": ca, "certData": certificate, "keyData": key}
    data = {field: b64encode(content).decode() for field, content in files.items() if content}
    return {"serverName": name} | data


def whole(wanted: Wanted, *, own_document: bool = False) -> dict[str, Any]:
    """Return a whole configuration; for Talos a patch of its machine configuration.

    Args:
        wanted: The entry, and whose configuration it is in.
        own_document: Patch the document that Talos has for it from 1.14 on.
    """
    is_talos = wanted.distribution is Distribution.TALOS
    config: dict[str, Any] = {} if is_talos else {"apiVersion": API_VERSION, "kind": KIND}
    if kubeconfig := KUBECONFIGS.get(wanted.distribution):
        config["clientConnection"] = {"kubeconfig": kubeconfig}
    config["leaderElection"] = {"leaderElect": True}
    if wanted.distribution is Distribution.SECONDARY:
        config["leaderElection"] |= {
            "resourceName": SCHEDULER_NAME,
            "resourceNamespace": wanted.namespace,
            "leaseDuration": "8s",
            "renewDeadline": "5s",
            "retryPeriod": "1s",
        }
    if wanted.profiles:
        config[PROFILES] = [*wanted.profiles]
    config |= {ALL_NODES: 100, "extenders": [dict(wanted.entry)]}
    if own_document:
        return {"apiVersion": "v1alpha1", "kind": TALOS_KIND, "config": config}
    return {"cluster": {"scheduler": {"config": config}}} if is_talos else config


def written(wanted: Wanted, *, own_document: bool = False) -> str:
    """Write a whole configuration as YAML, with comments that say why; arguments as of `whole`."""
    lines = lines_of(whole(wanted, own_document=own_document), wanted.why)
    return "".join(f"{line}\n" for line in lines)
