"""What is due and not placed for a minute, though it would find room, counts no more."""

import pytest

from extender.upcoming.queue import PATIENCE_SECONDS, Patience
from longhorn import Due, VolumeName

VOL = VolumeName("vol")
TWO, THREE = Due(anywhere=2), Due(anywhere=3)


def after(*notes: tuple[float, Due | None]) -> Patience:
    """Note at each time what was due that found room, None if nothing did."""
    patience = Patience()
    for now, due in notes:
        if due is None:
            patience.found_none(VOL)
        else:
            patience.found_room(VOL, due, now)
    return patience


@pytest.mark.parametrize(
    ("notes", "expected"),
    [
        pytest.param([(0.0, TWO)], [VOL], id="found-room-all-the-time"),
        pytest.param([(0.1, TWO)], [], id="not-long-enough"),
        pytest.param([(0.0, None)], [], id="finds-no-room"),
        pytest.param([(0.0, TWO), (5.0, None), (6.0, TWO)], [], id="found-none-meanwhile"),
        pytest.param([(0.0, TWO), (5.0, THREE), (6.0, TWO)], [], id="changed-meanwhile"),
        pytest.param([(0.0, TWO), (59.0, TWO)], [VOL], id="noted-again-and-again"),
    ],
)
def test_patience_is_over(notes, expected):
    patience = after(*notes)

    assert patience.newly_over(PATIENCE_SECONDS) == expected
    assert patience.newly_over(PATIENCE_SECONDS) == []
    assert patience.is_over(VOL, TWO) is bool(expected)


def test_patience_that_is_over_stays_so_until_something_changes():
    patience = after((0.0, TWO))
    patience.newly_over(60.0)

    patience.found_none(VOL)
    assert patience.is_over(VOL, TWO)
    assert not patience.is_over(VOL, THREE)
    assert not patience.is_over(VOL, TWO)
