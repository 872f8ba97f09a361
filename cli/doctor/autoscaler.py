"""Findings on cluster-autoscaler, which adds nodes where it thinks that a pod fits on none."""

from collections.abc import Iterator

from app.config import RESOURCE
from cli.doctor.facts import Facts, Unread
from cli.doctor.problems import Check
from cli.doctor.seen import fine, unread, wrong
from cli.doctor.settings import longhorn_values
from cli.findings import Finding
from longhorn import CAPACITY_TRACKING

FLAG = "--scheduler-config-file"
_PROVIDERS = (
    "aws", "azure", "civo", "clusterapi", "coreweave", "exoscale", "gce", "hetzner", "kwok",
    "magnum", "oci", "rancher", "vultr",
)  # fmt: skip
_NAMES = ", ".join(["cluster-autoscaler", *(f"{each}-cluster-autoscaler" for each in _PROVIDERS)])
SELECTORS = (
    "app=cluster-autoscaler",
    "k8s-app=cluster-autoscaler",
    f"app.kubernetes.io/name in ({_NAMES})",
)
"""Labels of its pods: as in its own examples, as kOps has them, and as its chart does."""


def autoscaler(facts: Facts) -> Iterator[Finding]:
    """Judge whether cluster-autoscaler knows of our resource, and of Longhorn's room."""
    if isinstance(facts.autoscalers, Unread):
        yield unread(Check.AUTOSCALER, facts.autoscalers)
        return
    if not facts.autoscalers:
        yield fine(Check.AUTOSCALER, "no pod has a label of cluster-autoscaler")
        return
    for each in facts.autoscalers:
        if not any(FLAG in argument for argument in each.arguments):
            yield wrong(
                "autoscaler-not-told",
                f"pod {each.name} runs without {FLAG}: to cluster-autoscaler, pods that ask for "
                f"{RESOURCE} fit on no node, so that it adds none for them",
            )
    names = ", ".join(each.name for each in facts.autoscalers)
    if isinstance(facts.longhorn_settings, Unread):
        yield unread(Check.AUTOSCALER, facts.longhorn_settings)
    elif longhorn_values(facts).get(CAPACITY_TRACKING) != "true":
        yield wrong(
            "autoscaler-sees-no-room",
            f"cluster-autoscaler ({names}) does not know which nodes have room for new volumes, so "
            f"that it adds none when disks are full: Longhorn's setting {CAPACITY_TRACKING} is not "
            "true",
        )
    yield fine(Check.AUTOSCALER, f"{names} has {FLAG}, and Longhorn tells which nodes have room")
