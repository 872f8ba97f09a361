"""Every reason that `filter` and `plan` give."""

from collections.abc import Mapping

from cli.explaining.remedies.claims import ERRORS
from cli.explaining.remedies.disks import DISKS, SHORTAGES
from cli.explaining.remedies.exclusions import EXCLUSIONS, PREDICATES
from cli.explaining.remedies.notes import NOTES
from cli.explaining.remedies.rejections import REJECTIONS
from cli.explaining.remedies.remedy import Remedy

REMEDIES: Mapping[str, Remedy] = {
    **REJECTIONS,
    **EXCLUSIONS,
    **PREDICATES,
    **DISKS,
    **SHORTAGES,
    **ERRORS,
    **NOTES,
}
"""All of them, by their code."""
