"""Whether Longhorn attaches a detached volume by itself, to give it the replicas that it lacks.

Source: longhorn-manager controller/volume_rebuilding_controller.go isVolumeReplicasHealthy and
syncLHVolumeAttachmentForOfflineRebuild.
"""

from longhorn.records import Volume
from longhorn.settings import parse_bool, value_for_engine

OFFLINE_REBUILDING = "offline-replica-rebuilding"
"""The setting, since v1.9; its value may differ by data engine."""


def rebuilds_offline(volume: Volume, value: str) -> bool:
    """Say whether it does so for *volume*.

    Args:
        volume: With what it says of itself besides: its own choice counts more than the setting.
        value: Of the setting, as written; empty for the default, which is false.
    """
    own = volume.told.offline_rebuilding if volume.told else ""
    if own in ("enabled", "disabled"):
        return own == "enabled"
    try:
        return parse_bool(value_for_engine(value or "false", "v2" if volume.is_v2 else "v1"))
    except ValueError:
        return False
