"""What versions of Kubernetes mean for commands."""

import re

_MINOR = re.compile(r"v?(\d{1,3})\.(\d{1,3})")
SCORES_CAPACITY = (1, 37)
"""From this one on kube-scheduler gives points for free storage (gate StorageCapacityScoring)."""


def minor_version(text: str) -> tuple[int, int] | None:
    """Return major and minor of a version like v1.37.2, or of a tag; None if it is neither."""
    found = _MINOR.match(text)
    return (int(found[1]), int(found[2])) if found else None
