"""A kube-scheduler with our extender, for where the real one cannot run: under virtual time.

It follows release 1.36 as far as volumes and extenders go: one scheduling cycle at a time, its
queues and their back-off, what it assumes, and how it binds. Preemption, scoring by anything but
the extender and the number of pods, CSIStorageCapacity, and the limits of nodes are left out.
"""

from tests.actors.scheduler.binding import BindingError
from tests.actors.scheduler.configuration import Choice, Configuration
from tests.actors.scheduler.events import Answered, Asked, Assumed, Bound, Event, Forgotten, Refused
from tests.actors.scheduler.exchange import Ask, CallError, Reply, Verb
from tests.actors.scheduler.scheduler import Scheduler

__all__ = [
    "Answered",
    "Ask",
    "Asked",
    "Assumed",
    "BindingError",
    "Bound",
    "CallError",
    "Choice",
    "Configuration",
    "Event",
    "Forgotten",
    "Refused",
    "Reply",
    "Scheduler",
    "Verb",
]
