"""Stand-ins for what the service talks to, run by the tests' own event loop."""

from tests.fakes.api_server import FakeApiServer
from tests.fakes.faults import (
    Answer,
    Call,
    CutAnswer,
    Delay,
    Fault,
    FaultKind,
    Hang,
    LostAnswer,
    Refused,
    WatchCut,
    WatchEndsAtOnce,
    WatchGarbage,
    WatchHang,
)
from tests.fakes.outages import Outage
from tests.fakes.over_http import Served, in_a_thread, over_http
from tests.fakes.resources import DISK_SCHEDULES, Object, Resource, custom_resource
from tests.fakes.storage import Change

__all__ = [
    "DISK_SCHEDULES",
    "Answer",
    "Call",
    "Change",
    "CutAnswer",
    "Delay",
    "FakeApiServer",
    "Fault",
    "FaultKind",
    "Hang",
    "LostAnswer",
    "Object",
    "Outage",
    "Refused",
    "Resource",
    "Served",
    "WatchCut",
    "WatchEndsAtOnce",
    "WatchGarbage",
    "WatchHang",
    "custom_resource",
    "in_a_thread",
    "over_http",
]
