"""What an instance is built from: so several can run on one loop, and on virtual time."""

from collections.abc import Callable
from datetime import datetime
from random import Random
from typing import NamedTuple

from app.kube.connection import Connection


class Surroundings(NamedTuple):
    """What an instance finds around it."""

    connection: Connection
    """To the API server."""
    clock: Callable[[], float]
    """Seconds that also pass while the process or the machine is suspended."""
    wall_clock: Callable[[], datetime]
    """UTC, for times that people read and those in Longhorn's objects."""
    random: Random
    """Spreads what several instances would do at once, and makes identities."""
