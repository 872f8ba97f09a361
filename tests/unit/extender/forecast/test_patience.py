"""What is due and not placed for a minute, though it would find room, counts no more."""

import msgspec
import pytest

from extender import ClusterView
from extender.forecast.patience import PATIENCE_SECONDS, Patience
from longhorn import Locality, VolumeName
from tests.builders import node, view_of, volume

VOL = VolumeName("vol")
DUE = volume("vol", locality=Locality.DISABLED, replicas=2)
VIEW = view_of(node(), DUE)
OTHER_VIEW = view_of(node(), msgspec.structs.replace(DUE, wanted_replicas=3))


def after(*notes: tuple[float, set[VolumeName], ClusterView]) -> Patience:
    patience = Patience()
    for now, placed, view in notes:
        patience.note(placed, view, now)
    return patience


@pytest.mark.parametrize(
    ("notes", "expected"),
    [
        pytest.param([(0.0, {VOL}, VIEW)], {VOL}, id="found-room-all-the-time"),
        pytest.param([(0.1, {VOL}, VIEW)], set(), id="not-long-enough"),
        pytest.param([(0.0, set(), VIEW)], set(), id="finds-no-room"),
        pytest.param(
            [(0.0, {VOL}, VIEW), (5.0, set(), VIEW), (6.0, {VOL}, VIEW)],
            set(),
            id="found-none-meanwhile",
        ),
        pytest.param(
            [(0.0, {VOL}, VIEW), (5.0, {VOL}, OTHER_VIEW), (6.0, {VOL}, VIEW)],
            set(),
            id="changed-meanwhile",
        ),
        pytest.param([(0.0, {VOL}, VIEW), (59.0, {VOL}, VIEW)], {VOL}, id="noted-again-and-again"),
    ],
)
def test_patience_is_over(
    notes: list[tuple[float, set[VolumeName], ClusterView]], expected: set[VolumeName]
) -> None:
    assert after(*notes).is_over(VIEW, PATIENCE_SECONDS) == expected


def test_once_over_it_stays_over_until_something_changes() -> None:
    patience = after((0.0, {VOL}, VIEW), (60.0, {VOL}, VIEW), (61.0, set(), VIEW))

    assert patience.is_over(VIEW, 62.0) == {VOL}
    assert patience.is_over(OTHER_VIEW, 62.0) == set()
