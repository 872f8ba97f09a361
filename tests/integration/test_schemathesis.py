"""The application keeps to its own OpenAPI schema, whatever it is sent."""

import schemathesis
from hypothesis import settings
from prometheus_client import CollectorRegistry
from schemathesis.config import SchemathesisConfig

from app.process.health import MetricsText
from app.serving.decisions import unchanging
from app.serving.http import create_apps
from app.serving.metrics import Metrics
from app.settings import Settings
from extender import Extender
from tests.builders import GENEROUS, bound, node, view_of, volume

VIEW = view_of(*bound(volume("vol")), node("node-1"))
METRICS = Metrics(CollectorRegistry(), version="1.2.3")
APP = create_apps(
    decisions=unchanging(Extender(GENEROUS), VIEW, METRICS),
    mutating=None,
    unready=lambda: None,
    state=None,
    picture=None,
    metrics=METRICS,
    text=MetricsText(METRICS.registry, lambda: 0.0).latest,
    settings=Settings(),
    version="1.2.3",
).main
ACCEPTED = ["2xx", "422"]
"""What a request that satisfies the schema is answered with: its claims may not exist."""
CONFIG = SchemathesisConfig.from_dict(
    {"checks": {"positive_data_acceptance": {"expected-statuses": ACCEPTED}}}
)
schema = schemathesis.openapi.from_asgi("/openapi.json", APP, config=CONFIG)


@schema.parametrize()
@settings(max_examples=100, derandomize=True, deadline=None, database=None)
def test_no_request_is_answered_against_the_schema(case):
    case.call_and_validate()
