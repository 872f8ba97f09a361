"""What comes in a cluster as it is at one moment."""

from collections.abc import Iterable

from extender import ClusterView, Extender, Hold, Ledger, PodRequest, Situation, StepLimits
from extender.upcoming.forecast import Forecast
from extender.upcoming.outlook import Outlook
from extender.upcoming.upcoming import Upcoming, by_certainty
from extender.work import Work
from longhorn import Moment
from tests.builders import GENEROUS


def outlook(
    view: ClusterView,
    holds: Iterable[Hold] = (),
    utc: Moment | None = None,
    step_limit: int = GENEROUS.per_node,
) -> Outlook:
    """Return all that comes."""
    ledger, made = Ledger(), Outlook(step_limit)
    for each in holds:
        ledger.put(each)
    made.catch_up(view, ledger, now=0.0, utc=utc, work=Work.unlimited())
    return made


def forecast_of(view: ClusterView, holds: Iterable[Hold] = ()) -> Forecast:
    """Return where it finds room."""
    return outlook(view, holds).forecast


def anywhere_in(
    view: ClusterView, holds: Iterable[Hold] = (), utc: Moment | None = None
) -> list[Upcoming]:
    """Return it volume by volume, the surest first, by name."""
    return sorted(outlook(view, holds, utc).anywhere.values(), key=by_certainty)


def situation_in(
    view: ClusterView, request: PodRequest, holds: Iterable[Hold] = (), steps: int = 1_000_000
) -> Situation:
    """Return what an answer to a request rests on that is made now."""
    extender = Extender(StepLimits(per_node=steps, per_request=2**62))
    for each in holds:
        extender.ledger.put(each)
    return extender.situation(request, view)
