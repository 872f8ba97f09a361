"""Ways to schedule that are compared: without the extender, and with it in its modes."""

from collections.abc import Mapping
from typing import Any

import msgspec

from tests.e2e.report import EXTENDER, NO_EXTENDER


class Variant(msgspec.Struct, frozen=True, kw_only=True):
    """One way."""

    name: str
    """As the report has it."""
    options: Mapping[str, Any] = {}
    """What its world is made with."""
    extender: bool = True

    def __str__(self) -> str:
        return self.name


WITHOUT = Variant(name=NO_EXTENDER, extender=False)
CAPACITY = Variant(name=EXTENDER[True])
WHOLE_NODES = Variant(name=EXTENDER[False], options={"nodeCacheCapable": False})
NODE = Variant(
    name="extender, mode node",
    # Each answer waits until the pod before it is bound, at most for the scheduling timeout of 5 s.
    options={"settings": {"reservation_mode": "node"}, "httpTimeout": "10s"},
)
NO_SCORES = Variant(name="extender, no scores", options={"prioritizeVerb": ""})
