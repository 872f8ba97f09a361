"""A mirror is what was last heard of each object, whatever the order it was heard in."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from app.kube.mirror import Change, Known, Mirror
from app.kube.records import Item
from longhorn import Unreadable
from tests.builders import setting
from tests.effort import examples

KEYS = st.sampled_from("abcd")
VALUES = st.sampled_from(["1", "2", "broken", "broken otherwise"])


def known(key: str, value: str) -> Known:
    """Build a Setting, or one that cannot be read."""
    if value.startswith("broken"):
        return Unreadable(kind="Setting", name=key, why=value)
    return setting(key, value)


def item(key: str, value: str, version: str) -> Item:
    return Item(key, version, known(key, value))


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

    @rule(key=KEYS, value=VALUES, version=st.sampled_from(["1", "2"]))
    def show(self, key: str, value: str, version: str) -> None:
        """Put an object: as a part of a listing, or an event; early, late, twice."""
        change = self.mirror.put(item(key, value, version))
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
        assert changes == [Change(self.told[key], None) for key in self.told if key in self.unshown]
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
TestMirrorMachine.settings = settings(max_examples=examples(100), stateful_step_count=30)
