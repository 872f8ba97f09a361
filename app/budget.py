"""How much of the time something may take that nobody waits for."""


class Budget:
    """Time to spend, which is earned again slowly.

    Args:
        share: What is earned in a second, in seconds.
        most_seconds: So much may be spent at once, and so much may be owed: of what takes longer in
            one go, the rest is forgiven.
    """

    def __init__(self, share: float, most_seconds: float) -> None:
        self._share = share
        self._most_seconds = most_seconds
        self._left_seconds = most_seconds
        self._at = 0.0

    def spend(self, seconds: float, now: float) -> None:
        """Note that something took so long until *now*."""
        left = self._left(now) - seconds
        self._left_seconds, self._at = max(left, -self._most_seconds), now

    def wait_seconds(self, now: float) -> float:
        """Return how long to wait before anything more is spent."""
        return max(0.0, -self._left(now) / self._share)

    def _left(self, now: float) -> float:
        earned = (now - self._at) * self._share
        return min(self._left_seconds + earned, self._most_seconds)
