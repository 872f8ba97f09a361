"""What is worked out in pieces comes to the same as if there were none."""

from msgspec.structs import replace

from extender import Extender
from extender.demand.requests import NOBODY
from extender.upcoming.forecast import Forecast
from tests.builders import GENEROUS, GIB, nodes_of, volumes_of
from tests.unit.extender.live import LiveView


class Live(LiveView):
    """A cluster that changes, and an extender that lives long."""

    def __init__(self) -> None:
        super().__init__()
        self.extender = Extender(GENEROUS)

    def forecast(self) -> Forecast:
        return self.extender.situation(NOBODY, self.view).book.forecast

    def catch_up(self) -> None:
        """Catch up piece by piece."""
        for _ in range(1_000):
            if self.extender.catch_up(self.view):
                return
        raise AssertionError("it never ends")


def test_volumes_without_room_each_have_their_turn_although_no_piece_gets_through_all():
    live = Live()
    stuck = volumes_of(" ".join(f"new-{number}:200*3~" for number in range(600)))
    live.put(*nodes_of("1:50@a 2:50@b 3:50@c"), *stuck, *volumes_of("the-last:60*3~"))
    live.catch_up()
    assert "the-last" in live.forecast().nowhere

    for grown in nodes_of("1:100@a 2:100@b 3:100@c"):
        live.put(grown)
        live.catch_up()
    assert "the-last" not in live.forecast().nowhere


def test_replica_that_comes_back_to_a_node_has_an_id_of_its_own():
    live = Live()
    live.put(*nodes_of("2:65"), *volumes_of("vol:30*5~", soft=True))

    found = []
    for first in ("1:100", "1:65", "1:100"):
        live.put(*nodes_of(first))
        on = live.forecast().on.values()
        found.append(sum(len({each.item.id for each in there}) for there in on))

    assert found == [5, 4, 5]


def test_replica_stays_where_it_is_forecast_though_another_node_has_more_room_since():
    live = Live()
    [due] = volumes_of("vol:30~")
    live.put(*nodes_of("1:100@a 2:90@b"))

    found = []
    for changed in (due, *nodes_of("2:200@b"), replace(due, actual_bytes=GIB)):
        live.put(changed)
        found.append([*live.forecast().on])

    assert found == [["node-1"]] * 3
