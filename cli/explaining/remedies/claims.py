"""What to do about a claim that cannot be judged."""

from collections.abc import Mapping

from cli.explaining.remedies.remedy import Remedy

ERRORS: Mapping[str, Remedy] = {
    "object_not_found": Remedy(
        "",
        "Create it. If it exists, the extender has not seen it: see [The extender does not "
        "answer](#the-extender-does-not-answer). If a Volume is lost, delete the claim.",
    ),
    "object_deleting": Remedy(
        "", "Wait and create the claim again, or restore the volume and use another claim."
    ),
    "object_unreadable": Remedy("", "Correct it."),
    "replica_unreadable": Remedy("", "Correct it."),
    "claim_without_class": Remedy(
        "",
        "Name a StorageClass, make one the default, or make the PersistentVolume that the claim "
        "is to be bound to.",
    ),
    "volume_without_size": Remedy("", "Wait."),
    "negative_size": Remedy("", "Correct the claim."),
    "bad_parameter": Remedy("", "Create a StorageClass with another value, or tag nodes or disks."),
    "claim_refused": Remedy(
        "", "Delete the claim and create it again, unless the advice says otherwise."
    ),
    "bad_setting": Remedy("", "Correct it."),
}
"""Why a claim cannot be judged; the texts are those of `UnresolvableClaimError`."""
