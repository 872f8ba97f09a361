"""What this instance may do at this very moment, and why not."""

from app.instance.cluster import LiveCluster
from app.process.member import Member
from extender import Ledger


class Standing:
    """Whether this instance answers, and why not.

    Args:
        cluster: What is known of the cluster.
        ledger: What is held; a leader that has not taken over yet does not know all of it.
        member: Whether it leads.
    """

    def __init__(self, cluster: LiveCluster, ledger: Ledger, member: Member) -> None:
        self.is_leading = member.is_leading
        self._cluster = cluster
        self._ledger = ledger
        self._member = member

    def has_taken_over(self) -> bool:
        """Whether it leads and knows all that must be held."""
        return self.is_leading() and self._ledger.is_complete

    def unavailable(self) -> str | None:
        """Return why kube-scheduler cannot be answered now, None if it can."""
        if self._member.is_stopping:
            return "this instance of the extender is shutting down"
        if (reason := self.uninformed()) is not None:
            return reason
        if not self.is_leading():
            return "this instance of the extender is not the leader"
        if not self._ledger.is_complete:
            return "this instance of the extender has just begun to lead; ask again"
        return None

    def may_answer(self) -> bool:
        """Whether kube-scheduler can be answered now."""
        return self.unavailable() is None

    def not_injecting(self) -> str | None:
        """Return why new pods are not made to ask for the extender, None if they are.

        It need not lead for that. While the extender is disabled none are: they would wait for it.
        """
        if (reason := self.uninformed()) is not None:
            return reason
        if not self._cluster.live_settings.inject:
            return "injection is off: scheduler-extender-inject is not true"
        return None

    def uninformed(self) -> str | None:
        """Return why it cannot say which pods are for the extender, None if it can."""
        if not self._cluster.live_settings.enabled:
            return "the extender is disabled by the setting scheduler-extender-enabled"
        if not self._member.is_informed():
            # Which kinds they are varies while the cause stands; /readyz and the log name them.
            return "this instance of the extender does not know the cluster; its /readyz says why"
        return None
