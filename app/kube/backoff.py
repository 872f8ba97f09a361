"""How long to wait before trying again."""

from random import Random

FIRST_SECONDS = 0.5
LONGEST_SECONDS = 8.0
"""Short, since decisions rest on what is heard; client-go goes up to 30 s."""
_LONGEST_WISH_SECONDS = 60.0


class Backoff:
    """Pauses that double up to a limit, each somewhere in its upper half.

    Our own, since the retry libraries wrap a call that ends, and this is a loop that goes on for
    ever and starts over after each success.
    """

    def __init__(self, random: Random) -> None:
        self._random = random
        self._seconds = FIRST_SECONDS

    def reset(self) -> None:
        """Begin with the shortest pause again."""
        self._seconds = FIRST_SECONDS

    def next_seconds(self, wished_seconds: float = 0.0) -> float:
        """Return the next pause, no shorter than the server wished for."""
        pause = self._random.uniform(self._seconds / 2, self._seconds)
        self._seconds = min(2 * self._seconds, LONGEST_SECONDS)
        return max(pause, min(wished_seconds, _LONGEST_WISH_SECONDS))
