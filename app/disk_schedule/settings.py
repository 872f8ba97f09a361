"""The settings of the controller of DiskSchedules."""

from collections.abc import Mapping

from app import config
from app.config import ProcessSettings


class ControllerSettings(ProcessSettings, frozen=True, kw_only=True):
    """What can be set of the controller of DiskSchedules."""

    manage_objects: bool = False


def load_controller(environ: Mapping[str, str]) -> ControllerSettings:
    """Read the same variables for the controller of DiskSchedules, which has fewer.

    Raises:
        InputError: As for the service.
    """
    return config.load(environ, ControllerSettings)
