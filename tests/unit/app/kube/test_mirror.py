"""A mirror is what was last heard of each object, whatever the order it was heard in."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from app.kube.mirror import Change, Known, Mirror
from app.kube.records import Item, Unreadable
from tests.builders import setting

KEYS = st.sampled_from("abcd")
VALUES = st.sampled_from(["1", "2", "broken", "broken otherwise"])


def known(key: str, value: str) -> Known:
    """Build a Setting, or one that cannot be read."""
    if value.startswith("broken"):
        return Unreadable(kind="Setting", name=key, why=value)
    return setting(key, value)


def item(key: str, value: str = "1", *, version: str = "1") -> Item:
    return Item(key, version, known(key, value))


def listed(*keys: str) -> Mirror:
    """Return a mirror after a listing of these keys."""
    mirror = Mirror()
    mirror.begin_listing()
    for key in keys:
        mirror.put(item(key))
    assert list(mirror.end_listing("1")) == []
    return mirror


class MirrorMachine(RuleBasedStateMachine):
    """Someone who takes in nothing but the changes must know the same as the server told."""

    def __init__(self) -> None:
        super().__init__()
        self.mirror = Mirror()
        self.told: dict[str, Known] = {}
        """What was said last of each object, by listing or event."""
        self.folded: dict[str, Known] = {}
        """What follows from the changes alone."""
        self.unshown: set[str] | None = None
        self.was_complete = False

    def fold(self, key: str, change: Change | None, expected: Known | None) -> None:
        before = self.folded.get(key)
        assert change == (None if before == expected else Change(before, expected))
        if expected is None:
            self.folded.pop(key, None)
        else:
            self.folded[key] = expected

    @rule()
    def begin_listing(self) -> None:
        self.mirror.begin_listing()
        self.unshown = set(self.told)

    @rule(key=KEYS, value=VALUES)
    def show(self, key: str, value: str) -> None:
        """Put an object: as a part of a listing, or an event; early, late, twice."""
        change = self.mirror.put(item(key, value))
        self.fold(key, change, known(key, value))
        self.told[key] = known(key, value)
        if self.unshown is not None:
            self.unshown.discard(key)

    @rule(key=KEYS)
    def delete(self, key: str) -> None:
        self.fold(key, self.mirror.remove(key), None)
        self.told.pop(key, None)
        if self.unshown is not None:
            self.unshown.discard(key)

    @rule(version=st.sampled_from(["7", "8"]))
    def end_listing(self, version: str) -> None:
        if self.unshown is None:
            return
        changes = list(self.mirror.end_listing(version))
        assert changes == [Change(self.told[key], None) for key in sorted(self.unshown)]
        for key in self.unshown:
            del self.told[key], self.folded[key]
        self.unshown = None
        self.was_complete = True
        assert self.mirror.version == version

    @invariant()
    def knows_what_it_was_told(self) -> None:
        assert self.folded == self.told
        assert len(self.mirror) == len(self.told)
        assert self.mirror.is_complete is self.was_complete
        broken = [each for each in self.told.values() if isinstance(each, Unreadable)]
        assert self.mirror.unreadable == len(broken)


TestMirrorMachine = MirrorMachine.TestCase
TestMirrorMachine.settings = settings(max_examples=100, stateful_step_count=30)


def test_mirror_is_empty_and_incomplete_at_first() -> None:
    mirror = Mirror()

    assert (len(mirror), mirror.is_complete, mirror.version) == (0, False, "")


def test_empty_listing_is_complete() -> None:
    assert listed().is_complete


def test_what_a_listing_lacks_is_deleted_at_its_end() -> None:
    mirror = listed("a", "b", "c")
    mirror.begin_listing()
    assert mirror.put(item("b")) is None
    assert len(mirror) == 3

    changes = list(mirror.end_listing("2"))

    assert changes == [Change(known("a", "1"), None), Change(known("c", "1"), None)]
    assert len(mirror) == 1


def test_whole_kind_may_be_gone() -> None:
    mirror = listed("a", "b")
    mirror.begin_listing()

    assert len(list(mirror.end_listing("2"))) == 2
    assert len(mirror) == 0


def test_listing_that_was_given_up_deletes_nothing() -> None:
    mirror = listed("a", "b")
    mirror.begin_listing()
    mirror.put(item("a"))

    mirror.begin_listing()
    mirror.put(item("b"))
    changes = list(mirror.end_listing("2"))

    assert changes == [Change(known("a", "1"), None)]


def test_object_shown_by_a_listing_that_was_given_up_counts_as_known() -> None:
    mirror = listed()
    mirror.begin_listing()
    mirror.put(item("new"))

    mirror.begin_listing()

    assert list(mirror.end_listing("2")) == [Change(known("new", "1"), None)]


def test_object_added_by_an_event_during_a_listing_stays() -> None:
    mirror = listed("a")
    mirror.begin_listing()
    mirror.put(item("late"))
    mirror.put(item("a"))

    assert list(mirror.end_listing("2")) == []


def test_object_deleted_by_an_event_during_a_listing_is_deleted_once() -> None:
    mirror = listed("a")
    mirror.begin_listing()

    assert mirror.remove("a") == Change(known("a", "1"), None)
    assert list(mirror.end_listing("2")) == []


@pytest.mark.parametrize("value", ["1", "broken"])
def test_same_content_at_a_new_version_is_no_change(value: str) -> None:
    mirror = Mirror()
    mirror.put(item("a", value, version="1"))

    assert mirror.put(item("a", value, version="2")) is None


def test_deletion_of_the_unknown_is_no_change() -> None:
    assert listed("a").remove("b") is None


def test_object_that_is_broken_and_mended_is_told_each_time() -> None:
    mirror = listed("a")

    changes = [mirror.put(item("a", value)) for value in ("broken", "broken otherwise", "2")]

    assert changes == [
        Change(known("a", "1"), known("a", "broken")),
        Change(known("a", "broken"), known("a", "broken otherwise")),
        Change(known("a", "broken otherwise"), known("a", "2")),
    ]
    assert mirror.unreadable == 0
