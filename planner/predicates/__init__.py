"""Which nodes a pod may go to: the first of a scheduler's three steps."""

from planner.predicates.catalog import PREDICATES
from planner.predicates.labels import labels_presence, service_affinity
from planner.predicates.longhorn_fit import LONGHORN_FIT, longhorn_fit
from planner.predicates.nodes import affinity, cordon, selector, taint
from planner.predicates.refusals import Predicate, Refusal

__all__ = [
    "LONGHORN_FIT",
    "PREDICATES",
    "Predicate",
    "Refusal",
    "affinity",
    "cordon",
    "labels_presence",
    "longhorn_fit",
    "selector",
    "service_affinity",
    "taint",
]
