"""What has changed since somebody last asked; what is kept for a key comes with that."""

from extender.view import MOST_CHANGES, ChangeLog, VersionedCache
from longhorn import NodeName

A, B = NodeName("a"), NodeName("b")


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


def test_everything_may_have_changed_for_who_never_asked():
    log = ChangeLog[NodeName]()
    log.add(A)

    changed, _ = log.since(None)

    assert changed is None


def test_a_cursor_leads_on_from_where_it_was_given():
    log = ChangeLog[NodeName]()
    log.add(A)
    _, first = log.since(None)
    assert log.since(first) == ([], first)
    log.add(B)
    log.add(A)

    changed, second = log.since(first)

    assert (changed, log.since(second)) == ([B, A], ([], second))


def test_everything_may_have_changed_after_a_cut():
    log = ChangeLog[NodeName]()
    _, cursor = log.since(None)

    log.cut()
    changed, later = log.since(cursor)
    log.add(A)

    assert (changed, log.since(later)[0]) == (None, [A])


def test_everything_may_have_changed_between_two_logs():
    _, cursor = ChangeLog[NodeName]().since(None)

    assert ChangeLog[NodeName]().since(cursor)[0] is None


def test_only_so_many_changes_are_kept():
    log = ChangeLog[NodeName]()
    _, cursor = log.since(None)
    for _ in range(2 * MOST_CHANGES):
        log.add(A)
    assert log.since(cursor)[0] == [A] * 2 * MOST_CHANGES

    log.add(B)

    assert log.since(cursor)[0] is None


def test_who_asks_often_hears_of_every_change_however_many_there_are():
    log = ChangeLog[NodeName]()
    log.add(A)
    _, cursor = log.since(None)
    for _ in range(5 * MOST_CHANGES):
        log.add(B)
        changed, cursor = log.since(cursor)
        assert changed == [B]


def test_each_key_learns_once_what_has_changed():
    asking = Asking()
    asking.get("a")
    asking.log.add("node-1")
    asking.get("b")
    asking.log.add("node-2")

    assert [asking.get(key) for key in "aabb"] == [["node-1", "node-2"], [], ["node-2"], []]
    assert asking.made == ["a", "b"]


def test_if_everything_may_have_changed_it_is_made_anew():
    asking = Asking()
    asking.get("a")
    asking.log.cut()

    assert asking.get("a") == []
    assert asking.made == ["a", "a"]


def test_another_log_tells_nothing_of_what_is_kept():
    asking = Asking()
    asking.get("a")
    asking.log = ChangeLog()

    asking.get("a")

    assert asking.made == ["a", "a"]


def test_what_was_asked_for_longest_ago_goes_first():
    asking = Asking(most=2)

    for key in "abac":
        asking.get(key)

    assert [*asking.cache] == ["a", "c"]
