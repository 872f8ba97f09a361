"""What is upcoming in a cluster as it is at one moment."""

from collections.abc import Iterable

from extender import ClusterView, Extender, Hold, StepLimits
from extender.demand import PodRequest
from extender.demand.requests import NOBODY
from extender.upcoming.book import Book
from extender.upcoming.forecast import Forecast
from extender.upcoming.upcoming import Upcoming, by_certainty
from extender.verdicts import Situation
from longhorn import Moment
from tests.builders import GENEROUS


def book_of(
    view: ClusterView,
    holds: Iterable[Hold] = (),
    utc: Moment | None = None,
    limits: StepLimits = GENEROUS,
) -> Book:
    """Return all that is upcoming."""
    extender = Extender(limits)
    for each in holds:
        extender.ledger.put(each)
    return extender.situation(NOBODY, view, utc=utc).book


def forecast_of(view: ClusterView, holds: Iterable[Hold] = ()) -> Forecast:
    """Return where it finds room."""
    return book_of(view, holds).forecast


def anywhere_in(
    view: ClusterView, holds: Iterable[Hold] = (), utc: Moment | None = None
) -> list[Upcoming]:
    """Return it volume by volume, the surest first, by name."""
    return sorted(book_of(view, holds, utc).anywhere.values(), key=by_certainty)


def situation_in(
    view: ClusterView, request: PodRequest, holds: Iterable[Hold] = (), steps: int = 1_000_000
) -> Situation:
    """Return what an answer to a request rests on that is made now."""
    extender = Extender(StepLimits(per_node=steps, per_request=2**62))
    for each in holds:
        extender.ledger.put(each)
    return extender.situation(request, view)
