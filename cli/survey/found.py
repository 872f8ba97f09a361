"""Makes findings of the survey, and says what would help."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from cli.catalogue import RISKS
from cli.findings import Finding
from longhorn import DiskName, NodeName, VolumeName


def _nothing(*_: object) -> Sequence[str]:
    return ()


class Helps(msgspec.Struct, frozen=True, kw_only=True):
    """What would help, as tried on the cluster: it takes a while, so few are asked about."""

    volume: Callable[[VolumeName], Sequence[str]] = _nothing
    """A volume whose next replica finds no node."""
    disk: Callable[[NodeName, DiskName | None], Sequence[str]] = _nothing
    """A disk that takes no replica; or a node, whatever its disks."""


def found(
    code: str, text: str, objects: Iterable[str], remedies: Sequence[str] = (), **named: str
) -> Finding:
    """Make a finding.

    Args:
        code: In the catalogue.
        text: What is so.
        objects: What it is about.
        remedies: What to do; as the catalogue has it, if there are none.
        named: Parts of that.
    """
    entry = RISKS[code]
    return Finding(
        code=code,
        severity=entry.severity,
        text=text,
        objects=tuple(objects),
        remedies=tuple(remedies) or (entry.action.format(**named),),
    )


def named(volume: VolumeName, claims: Mapping[VolumeName, str]) -> str:
    """Return what to call a volume."""
    return claims.get(volume, volume)


def count(number: int, what: str) -> str:
    """Say how many there are."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
