"""What is coming in a cluster as it is at one moment."""

from collections.abc import Iterable

from extender import ClusterView, Hold, Ledger
from extender.forecast.coming import Coming, by_certainty
from extender.forecast.forecast import Forecast
from extender.forecast.outlook import Outlook, outlook_of
from longhorn import Moment
from tests.builders import GENEROUS


def outlook(view: ClusterView, holds: Iterable[Hold] = (), utc: Moment | None = None) -> Outlook:
    """Return all that is coming."""
    ledger = Ledger()
    for each in holds:
        ledger.put(each)
    return outlook_of(view, ledger, step_limit=GENEROUS.per_node, utc=utc)


def forecast_of(view: ClusterView, holds: Iterable[Hold] = ()) -> Forecast:
    """Return where it finds room."""
    return outlook(view, holds).forecast


def coming_in(
    view: ClusterView, holds: Iterable[Hold] = (), utc: Moment | None = None
) -> list[Coming]:
    """Return it volume by volume, the surest first, by name."""
    return sorted(outlook(view, holds, utc).coming.values(), key=by_certainty)
