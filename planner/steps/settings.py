"""Change a setting of Longhorn's."""

import msgspec

from longhorn import SCHEDULER_SETTINGS, Setting, UnreadableSetting, read_settings
from planner.errors import PlanError, unknown
from planner.outcome import Event
from planner.plan import Plan

OTHER_SETTINGS = frozenset(
    {"default-data-locality", "default-replica-count", "disable-scheduling-on-cordoned-node"}
)
"""That plans read besides those which decide where replicas go."""


class ChangeSetting(msgspec.Struct, frozen=True, kw_only=True):
    """Give a setting another value."""

    name: str
    value: str

    @property
    def title(self) -> str:
        """What is done."""
        return f"set {self.name}={self.value}"

    def take(self, plan: Plan) -> list[Event]:
        """Do it, and return what happened."""
        known = SCHEDULER_SETTINGS | OTHER_SETTINGS
        if self.name not in known:
            raise unknown("setting that a plan depends on called", self.name, known)
        if isinstance(read_settings({self.name: self.value}), UnreadableSetting):
            raise PlanError(
                f"Setting {self.name} cannot be {self.value[:60]!r}; give a value that Longhorn "
                f"accepts"
            )
        plan.cluster.put(Setting(name=self.name, value=self.value))
        return plan.settle()
