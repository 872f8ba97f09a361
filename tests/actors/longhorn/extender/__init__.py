"""Longhorn 1.13's own scheduler extender, by its proposal: whole nodes, one pod after another.

Source: longhorn/longhorn enhancements/20260209-scheduler-extender.md. As little as others can
notice of it: what it does to objects, and what it answers.
"""

from tests.actors.longhorn.extender.endpoints import NAME, OWNED
from tests.actors.longhorn.extender.extender import Extender
from tests.actors.longhorn.extender.filter import Filter
from tests.actors.longhorn.extender.lease import Lease
from tests.actors.longhorn.extender.serving import serving

__all__ = ["NAME", "OWNED", "Extender", "Filter", "Lease", "serving"]
