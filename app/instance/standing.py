"""What this instance may do at this very moment, and why not."""

from collections.abc import Callable

from app.instance.cluster import LiveCluster
from extender import Ledger
from leader import Leadership


class Standing:
    """Whether this instance leads and answers.

    Args:
        cluster: What is known of the cluster.
        ledger: What is held; a leader that has not taken over yet does not know all of it.
        leadership: Until when it leads.
        clock: Seconds that also pass while the process or the machine is suspended.

    Attributes:
        is_stopping: Whether the process is about to end.
    """

    def __init__(
        self,
        cluster: LiveCluster,
        ledger: Ledger,
        leadership: Leadership,
        clock: Callable[[], float],
    ) -> None:
        self.is_stopping = False
        self._cluster = cluster
        self._ledger = ledger
        self._leadership = leadership
        self._clock = clock

    def is_leading(self) -> bool:
        """Whether it may act as the leader."""
        return self._leadership.is_held(self._clock())

    def has_taken_over(self) -> bool:
        """Whether it leads and knows all that must be held."""
        return self.is_leading() and self._ledger.is_complete

    def unavailable(self) -> str | None:
        """Return why kube-scheduler cannot be answered now, None if it can."""
        if self.is_stopping:
            return "this instance of the extender is shutting down"
        if (reason := self.uninformed()) is not None:
            return reason
        if not self.is_leading():
            return "this instance of the extender is not the leader"
        if not self._ledger.is_complete:
            return "this instance of the extender has just begun to lead; ask again"
        return None

    def uninformed(self) -> str | None:
        """Return why it cannot say which pods are for the extender, None if it can.

        It need not lead for that. While the extender is disabled none are: they would wait for it.
        """
        if not self._cluster.live_settings.enabled:
            return "the extender is disabled by the setting scheduler-extender-enabled"
        if self._cluster.gaps(self._clock()):
            # Which kinds they are varies while the cause stands; /readyz and the log name them.
            return "this instance of the extender does not know the cluster; its /readyz says why"
        return None
