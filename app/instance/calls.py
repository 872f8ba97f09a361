"""What is known of kube-scheduler's calls, noted on the Lease for whoever checks the wiring.

Nothing in the cluster says how kube-scheduler is configured. A call shows that it uses the
extender, and the number of candidates shows whether it looks at all nodes.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from app.serving.wire import ExtenderRequest, Verb

LAST_REQUEST_AT = "longhorn-scheduler-extender/last-request-at"
MOST_CANDIDATES = "longhorn-scheduler-extender/most-candidates"
LAST_PRIORITIZE_AT = "longhorn-scheduler-extender/last-prioritize-at"
LAST_PREEMPT_AT = "longhorn-scheduler-extender/last-preempt-at"
_NOTED_AT = {
    Verb.FILTER: LAST_REQUEST_AT,
    Verb.PRIORITIZE: LAST_PRIORITIZE_AT,
    Verb.PREEMPT: LAST_PREEMPT_AT,
}
_TIME = "%Y-%m-%dT%H:%M:%SZ"


class Calls:
    """The calls of one term as the leader."""

    def __init__(self, wall_clock: Callable[[], datetime]) -> None:
        self._wall_clock = wall_clock
        self._last: dict[Verb, datetime] = {}
        self._most = 0

    def note(self, verb: Verb, request: ExtenderRequest) -> None:
        """Note a request if kube-scheduler sent it.

        Its pods have uids, and it never asks without candidates. A request that lacks either comes
        from somebody who tries out whether the service answers.
        """
        if request.pod.uid and request.candidates:
            self._last[verb] = self._wall_clock()
            self._most = max(self._most, len(request.candidates))

    def forget(self) -> None:
        """Start again from nothing; a later leader may have noted later calls."""
        self._last, self._most = {}, 0

    def annotations(self, found: Mapping[str, str]) -> dict[str, str]:
        """Return what to note beside the annotations *found*; nothing if there was no call."""
        if not self._last:
            return {}
        times = {_NOTED_AT[verb]: last.strftime(_TIME) for verb, last in self._last.items()}
        return {**times, MOST_CANDIDATES: str(max(self._most, read_most(found)))}


def read_most(annotations: Mapping[str, str]) -> int:
    """Return the largest number of candidates noted, 0 if none is."""
    text = annotations.get(MOST_CANDIDATES, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def read_last(annotations: Mapping[str, str], verb: Verb) -> datetime | None:
    """Return when the last call of *verb* was, in UTC; None if none is noted."""
    try:
        noted = annotations.get(_NOTED_AT[verb], "")
        return datetime.strptime(noted, _TIME).replace(tzinfo=UTC)
    except ValueError:
        return None
