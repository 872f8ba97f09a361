"""By which StorageClass the volume of a claim is made.

The API server and the controller of PersistentVolumes give the default class to claims that name
none, whenever there is one. Source: kubernetes pkg/volume/util/storageclass.go GetDefaultClass
"""

from collections.abc import Iterable, Mapping

from extender.kubernetes import Claim, StorageClass


def class_of(claim: Claim, classes: Mapping[str, StorageClass]) -> StorageClass | None:
    """Return the class that a claim asks for, None if it asks for none or that is not there."""
    return classes.get(class_name(claim.storage_class, classes))


def class_name(named: str | None, classes: Mapping[str, StorageClass]) -> str:
    """Return the name of the class that counts: the one that is *named*, or the default one.

    "" if that asks for no class, or is left open while no class is the default.
    """
    return default_class(classes.values()) if named is None else named


def default_class(classes: Iterable[StorageClass]) -> str:
    """Return the name of the class for claims that name none, "" if there is no such class.

    Of several default classes the newest counts, among equally old ones the first by name.
    """
    defaults = [each for each in classes if each.is_default]
    newest = max((each.created for each in defaults), default="")
    return min((each.name for each in defaults if each.created == newest), default="")
