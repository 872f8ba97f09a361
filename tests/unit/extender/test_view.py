"""Which nodes have changed since somebody last asked."""

from extender import ChangeLog
from extender.view import MOST_CHANGES
from longhorn import NodeName

A, B = NodeName("a"), NodeName("b")


def test_everything_may_have_changed_for_who_never_asked() -> None:
    log = ChangeLog[NodeName]()
    log.add(A)

    changed, _ = log.since(None)

    assert changed is None


def test_a_cursor_leads_on_from_where_it_was_given() -> None:
    log = ChangeLog[NodeName]()
    log.add(A)
    _, first = log.since(None)
    assert log.since(first) == ([], first)
    log.add(B)
    log.add(A)

    changed, second = log.since(first)

    assert (changed, log.since(second)) == ([B, A], ([], second))


def test_everything_may_have_changed_after_a_cut() -> None:
    log = ChangeLog[NodeName]()
    _, cursor = log.since(None)

    log.cut()
    changed, later = log.since(cursor)
    log.add(A)

    assert (changed, log.since(later)[0]) == (None, [A])


def test_everything_may_have_changed_between_two_logs() -> None:
    _, cursor = ChangeLog[NodeName]().since(None)

    assert ChangeLog[NodeName]().since(cursor)[0] is None


def test_only_so_many_changes_are_kept() -> None:
    log = ChangeLog[NodeName]()
    _, cursor = log.since(None)
    for _ in range(2 * MOST_CHANGES):
        log.add(A)
    assert log.since(cursor)[0] == [A] * 2 * MOST_CHANGES

    log.add(B)

    assert log.since(cursor)[0] is None


def test_who_asks_often_hears_of_every_change_however_many_there_are() -> None:
    log = ChangeLog[NodeName]()
    log.add(A)
    _, cursor = log.since(None)
    for _ in range(5 * MOST_CHANGES):
        log.add(B)
        changed, cursor = log.since(cursor)
        assert changed == [B]
