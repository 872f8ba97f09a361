"""A share of the time: never more of it in any ten seconds, and soon something again."""

from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from app.budget import Budget

SHARE, MOST = 0.08, 0.15


@given(st.lists(st.tuples(st.floats(0, 0.05), st.floats(0, 5)), max_size=200))
def test_no_ten_seconds_have_more_than_one(done):
    """Whoever works in pieces of 50 ms at most, and rests as long as is said, or longer."""
    budget, now, spent = Budget(SHARE, MOST), 0.0, [(0.0, 0.0)]
    for seconds, idle in done:
        now += idle + budget.wait_seconds(now + idle)
        now += seconds
        budget.spend(seconds, now)
        spent.append((now, seconds))

    sums = [*accumulate(seconds for _, seconds in spent)]
    for first, (began, seconds) in enumerate(spent):
        last = max(n for n, (at, _) in enumerate(spent) if at - seconds <= began + 10)
        assert sums[last] - sums[first] + seconds <= 10 * SHARE + MOST + 0.05 + 1e-6


def test_what_takes_very_long_is_not_paid_for_very_long():
    budget = Budget(SHARE, MOST)

    budget.spend(100.0, 100.0)

    assert budget.wait_seconds(100.0) < 2.0
    assert budget.wait_seconds(102.0) == 0.0


def test_who_has_not_done_anything_may_begin_at_once():
    budget = Budget(SHARE, MOST)

    assert budget.wait_seconds(0.0) == 0.0
    budget.spend(MOST, 5.0)
    assert budget.wait_seconds(5.0) == 0.0
    budget.spend(0.04, 5.0)
    assert 0.49 < budget.wait_seconds(5.0) < 0.51
