"""Every reason that `filter` gives: its code, what it means, and what to do.

docs/troubleshooting.md has a row for each that an event shows, docs/reasons.md names the others. A
reason is why a node is rejected, why kube-scheduler leaves it out, why a disk takes nothing, why
a claim cannot be judged, or a note on the pod.
"""

from cli.explaining.remedies.claims import ERRORS
from cli.explaining.remedies.disks import DISKS, SHORTAGES
from cli.explaining.remedies.exclusions import EXCLUSIONS, PREDICATES
from cli.explaining.remedies.notes import NOTES
from cli.explaining.remedies.rejections import REJECTIONS
from cli.explaining.remedies.remedy import Remedy, in_words
from cli.explaining.remedies.table import REMEDIES

__all__ = [
    "DISKS",
    "ERRORS",
    "EXCLUSIONS",
    "NOTES",
    "PREDICATES",
    "REJECTIONS",
    "REMEDIES",
    "SHORTAGES",
    "Remedy",
    "in_words",
]
