"""Which of the nodes that a pod may go to is best: the second of a scheduler's three steps."""

from planner.priorities.capacity import is_tracked
from planner.priorities.catalog import PRIORITIES
from planner.priorities.labels import label_preference
from planner.priorities.priority import HIGHEST, Priority
from planner.priorities.spreading import service_anti_affinity

__all__ = [
    "HIGHEST",
    "PRIORITIES",
    "Priority",
    "is_tracked",
    "label_preference",
    "service_anti_affinity",
]
