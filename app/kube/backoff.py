"""How long to wait before trying again."""

from random import Random

FIRST_SECONDS = 0.5
LONGEST_SECONDS = 8.0
"""Short, since decisions rest on what watches report; client-go goes up to 30 s."""
_LONGEST_REQUESTED_SECONDS = 60.0


class Backoff:
    """Pauses that double up to a limit, each somewhere in its upper half.

    Our own, since retry libraries wrap a call that ends. This is for a loop that never ends and
    begins with the shortest pause after each success.
    """

    def __init__(self, random: Random) -> None:
        self._random = random
        self._seconds = FIRST_SECONDS

    def reset(self) -> None:
        """Begin with the shortest pause again."""
        self._seconds = FIRST_SECONDS

    def next_seconds(self, requested_seconds: float = 0.0) -> float:
        """Return the next pause, no shorter than the server asked for."""
        pause = self._random.uniform(self._seconds / 2, self._seconds)
        self._seconds = min(2 * self._seconds, LONGEST_SECONDS)
        return max(pause, min(requested_seconds, _LONGEST_REQUESTED_SECONDS))
