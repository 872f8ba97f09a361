"""What a pod needs on its node: the volumes of its claims, and which replicas exist already."""

from extender.demand.estimates import (
    ANY_CLAIM,
    NEW_VOLUME_DEFAULTS,
    estimate_volume,
    future_backing_image,
    future_volume_name,
    has_volume,
)
from extender.demand.existing import Worth, existing_by_node
from extender.demand.injection import (
    DEFAULT_SCHEDULERS,
    Injection,
    InjectionOutcome,
    judge_claims,
    judge_pod,
)
from extender.demand.items import demand_of
from extender.demand.parameters import MOST_CHUNKS
from extender.demand.requests import (
    LONGHORN_DRIVERS,
    LONGHORN_PROVISIONERS,
    NOBODY,
    PodRequest,
    WantedVolume,
    needed_class,
    resolve,
    resolve_for_scheduled,
    source_replicas,
)

__all__ = [
    "ANY_CLAIM", "DEFAULT_SCHEDULERS", "LONGHORN_DRIVERS", "LONGHORN_PROVISIONERS", "MOST_CHUNKS",
    "NEW_VOLUME_DEFAULTS", "NOBODY", "Injection", "InjectionOutcome", "PodRequest", "WantedVolume",
    "Worth", "demand_of", "estimate_volume", "existing_by_node", "future_backing_image",
    "future_volume_name", "has_volume", "judge_claims", "judge_pod", "needed_class", "resolve",
    "resolve_for_scheduled", "source_replicas",
]  # fmt: skip
