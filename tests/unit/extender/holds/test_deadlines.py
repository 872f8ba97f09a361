"""Until when holds stand: the next one and those that are over, however they change."""

from hypothesis import given
from hypothesis import strategies as st

from extender.holds.deadlines import Deadlines, Timeouts, deadline
from extender.holds.hold import Hold
from extender.view import ChangeLog
from tests.builders import hold

TIMEOUTS = [Timeouts(choosing_seconds=choosing, placing_seconds=30.0) for choosing in (5.0, 50.0)]
ask = st.tuples(st.sampled_from("abcdef"), st.floats(0, 100), st.booleans())


@given(st.lists(st.tuples(st.lists(ask), st.sampled_from(TIMEOUTS), st.floats(0, 200))))
def test_hold_ends_when_its_own_time_is_over(rounds):
    """Some are asked about again, some end otherwise, and the settings change."""
    holds: dict[str, Hold] = {}
    changes = ChangeLog[str]()
    deadlines = Deadlines(holds, changes)
    for asked, timeouts, now in rounds:
        for name, at, ends in asked:
            changes.add(name)
            holds.pop(name, None)
            if not ends:
                holds[name] = hold(name, now=at)
        expected = {name: deadline(each, timeouts) for name, each in holds.items()}
        assert deadlines.next(timeouts) == min((at for at, _ in expected.values()), default=None)

        over = deadlines.over(timeouts, now)

        assert over == {name: why for name, (at, why) in expected.items() if at <= now}
        for name in over:
            changes.add(name)
            del holds[name]


def test_holds_that_are_asked_about_again_and_again_leave_nothing_behind():
    holds: dict[str, Hold] = {}
    changes = ChangeLog[str]()
    deadlines = Deadlines(holds, changes)
    for number in range(10_000):
        changes.add("a")
        holds["a"] = hold("a", now=float(number))
        deadlines.next(TIMEOUTS[0])

    assert len(deadlines) < 200
