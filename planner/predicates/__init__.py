"""Which nodes a pod may go to: the first of a scheduler's three steps."""

from planner.predicates.catalog import PREDICATES
from planner.predicates.labels import labels_presence, service_affinity
from planner.predicates.longhorn_fit import LONGHORN_FIT, longhorn_fit
from planner.predicates.nodes import affinity, cordon, selector, taint
from planner.predicates.refusals import Predicate, Refusal
from planner.predicates.volumes import Limit, limits_of, within

__all__ = [
    "LONGHORN_FIT",
    "PREDICATES",
    "Limit",
    "Predicate",
    "Refusal",
    "affinity",
    "cordon",
    "labels_presence",
    "limits_of",
    "longhorn_fit",
    "selector",
    "service_affinity",
    "taint",
    "within",
]
