"""What is kept for a key comes with what has changed since it was asked for."""

from extender import ChangeLog, VersionedCache


class Asking:
    """Asks a cache that keeps lists, and notes for which keys it had to make one."""

    def __init__(self, most: int = 2) -> None:
        self.log = ChangeLog[str]()
        self.made = list[str]()
        self.cache = VersionedCache[str, list[str]](most)

    def get(self, key: str) -> list[str]:
        """Return what has changed since *key* was asked for."""

        def new() -> list[str]:
            self.made.append(key)
            return [key]

        kept, changed = self.cache.get(key, self.log, new)
        assert kept == [key]
        return [*changed]


def test_each_key_learns_once_what_has_changed() -> None:
    asking = Asking()
    asking.get("a")
    asking.log.add("node-1")
    asking.get("b")
    asking.log.add("node-2")

    assert [asking.get(key) for key in "aabb"] == [["node-1", "node-2"], [], ["node-2"], []]
    assert asking.made == ["a", "b"]


def test_if_everything_may_have_changed_it_is_made_anew() -> None:
    asking = Asking()
    asking.get("a")
    asking.log.cut()

    assert asking.get("a") == []
    assert asking.made == ["a", "a"]


def test_another_log_tells_nothing_of_what_is_kept() -> None:
    asking = Asking()
    asking.get("a")
    asking.log = ChangeLog()

    asking.get("a")

    assert asking.made == ["a", "a"]


def test_what_was_asked_for_longest_ago_goes_first() -> None:
    asking = Asking(most=2)

    for key in "abac":
        asking.get(key)

    assert [*asking.cache] == ["a", "c"]
