"""Names as users give them: as for kubectl with the kind before a slash, or without."""

from collections.abc import Mapping
from enum import StrEnum

from app.errors import InputError


class WrongKindError(InputError, ValueError):
    """A name of one kind where another is wanted; steps of a plan say which step has it."""


class Named(StrEnum):
    """A kind that a name may begin with, as texts for people have it."""

    POD = "pod"
    CLAIM = "claim"
    PERSISTENT_VOLUME = "PersistentVolume"
    VOLUME = "Longhorn volume"
    NODE = "node"
    STATEFUL_SET = "StatefulSet"
    DEPLOYMENT = "Deployment"
    REPLICA_SET = "ReplicaSet"
    DAEMON_SET = "DaemonSet"
    JOB = "Job"
    CRON_JOB = "CronJob"


_WORDS: Mapping[Named, str] = {
    Named.POD: "po pod pods",
    Named.CLAIM: "pvc persistentvolumeclaim persistentvolumeclaims",
    Named.PERSISTENT_VOLUME: "pv persistentvolume persistentvolumes",
    Named.VOLUME: "volume volumes volume.longhorn.io volumes.longhorn.io lhv",
    Named.NODE: "no node nodes node.longhorn.io nodes.longhorn.io lhn",
    Named.STATEFUL_SET: "sts statefulset statefulsets statefulset.apps statefulsets.apps",
    Named.DEPLOYMENT: "deploy deployment deployments deployment.apps deployments.apps",
    Named.REPLICA_SET: "rs replicaset replicasets replicaset.apps replicasets.apps",
    Named.DAEMON_SET: "ds daemonset daemonsets daemonset.apps daemonsets.apps",
    Named.JOB: "job jobs job.batch jobs.batch",
    Named.CRON_JOB: "cj cronjob cronjobs cronjob.batch cronjobs.batch",
}
"""What kubectl takes for each: short names, singular and plural, and with the group. A bare
`node` is Kubernetes' and Longhorn's at once: both have the same names."""
KINDS: Mapping[str, Named] = {
    word: kind for kind, words in _WORDS.items() for word in words.split()
}


def split_kind(given: str) -> tuple[Named | None, str]:
    """Return the kind that a name begins with, None if with none, and the rest of the name."""
    word, slash, name = given.partition("/")
    kind = KINDS.get(word.lower()) if slash else None
    return (kind, name) if kind else (None, given)


def without_kind(given: str, wanted: Named) -> str:
    """Return a name without its kind, if it has one.

    Raises:
        WrongKindError: It is of another kind than the one that is wanted.
    """
    kind, name = split_kind(given)
    if kind not in (None, wanted):
        raise WrongKindError(f"{given[:253]} is a {kind}; give a {wanted}")
    return name


def node_name(given: str) -> str:
    """Return the name of a node, which has no slash, without its kind if it has one."""
    return without_kind(given, Named.NODE)
