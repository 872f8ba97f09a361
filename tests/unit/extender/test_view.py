"""What has changed since somebody last asked; what is kept for a key comes with that."""

import pytest

from extender.view import MOST_CHANGES, ChangeLog, VersionedCache

CUT = "|"
MOST = 2 * MOST_CHANGES
HEARD = {
    # What is noted before a cursor is given, and after it, and what its reader hears of.
    "nothing-new": ("a", "", []),
    "each-time-in-order": ("a", "bab", ["b", "a", "b"]),
    "everything-after-a-cut": ("a", CUT, None),
    "everything-after-a-cut-whatever-else": ("a", f"b{CUT}a", None),
    "as-many-as-are-kept": ("", "a" * MOST, ["a"] * MOST),
    "everything-if-more-than-are-kept": ("", "a" * MOST + "b", None),
}


@pytest.mark.parametrize(("before", "after", "expected"), HEARD.values(), ids=HEARD)
def test_a_cursor_leads_on_from_where_it_was_given(before, after, expected):
    log = ChangeLog[str]()
    note(log, before)
    everything, cursor = log.since(None)
    note(log, after)

    changed, later = log.since(cursor)
    log.add("last")

    assert (everything, changed) == (None, expected), "one that never asked hears of everything"
    assert log.since(later)[0] == ["last"]


def note(log: ChangeLog[str], names: str) -> None:
    for name in names:
        if name == CUT:
            log.cut()
        else:
            log.add(name)


def test_everything_may_have_changed_between_two_logs():
    _, cursor = ChangeLog[str]().since(None)

    assert ChangeLog[str]().since(cursor)[0] is None


def test_a_reader_that_asks_often_hears_of_every_change_however_many_there_are():
    log = ChangeLog[str]()
    _, cursor = log.since(None)
    for _ in range(5 * MOST_CHANGES):
        log.add("b")
        changed, cursor = log.since(cursor)
        assert changed == ["b"]


class Asking:
    """Asks a cache that keeps lists, and notes for which keys it had to make one."""

    def __init__(self) -> None:
        self.log = ChangeLog[str]()
        self.made = list[str]()
        self.cache = VersionedCache[str, list[str]](most=2)

    def get(self, key: str) -> list[str]:
        """Return what has changed since *key* was asked for."""

        def new() -> list[str]:
            self.made.append(key)
            return [key]

        kept, changed = self.cache.get(key, self.log, new)
        assert kept == [key]
        return [*changed]


def test_each_key_learns_once_what_has_changed():
    asking = Asking()
    asking.get("a")
    asking.log.add("node-1")
    asking.get("b")
    asking.log.add("node-2")

    assert [asking.get(key) for key in "aabb"] == [["node-1", "node-2"], [], ["node-2"], []]
    assert asking.made == ["a", "b"]


def test_what_is_kept_is_made_anew_after_a_cut_and_for_another_log():
    asking = Asking()
    asking.get("a")
    asking.log.cut()
    after_cut = asking.get("a")
    asking.log = ChangeLog()

    assert (after_cut, asking.get("a")) == ([], [])
    assert asking.made == ["a", "a", "a"]


def test_what_was_asked_for_longest_ago_goes_first():
    asking = Asking()

    for key in "abac":
        asking.get(key)

    assert [*asking.cache] == ["a", "c"]
