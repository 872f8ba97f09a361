"""What Longhorn is to get and no decision takes into account: who asks for it already.

Nothing of it is released. Names and values are those of longhorn-manager's pull requests 5107
(dataEngineTransport: rdma) and 5143 (volumeAntiAffinityFromPod, volumeAntiAffinity), and of the
proposal for issue 6771; whatever is named alike, in a Volume, a StorageClass or a Setting, counts.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from cli.doctor.facts import Facts, Unread, VolumeSeen
from cli.doctor.seen import wrong
from cli.doctor.settings import longhorn_values
from cli.findings import Finding
from extender.demand import LONGHORN_PROVISIONERS
from planner.naming import first_of

_SHOWN = 5
"""Most objects of a kind named in one text."""
_OFF = frozenset({"", "false", "disabled", "ignored", "none", "{}", "[]"})


class Feature(NamedTuple):
    """Something that is not judged."""

    part: str
    """Of the name of whatever asks for it, in small letters and without hyphens."""
    is_asked_by: Callable[[str], bool]
    """Says so of its value, in small letters."""
    text: str


_FEATURES = (
    Feature(
        "transport",
        lambda value: "rdma" in value,
        "ask for transport rdma, which is not judged: Longhorn would place and attach such volumes "
        "only on nodes with condition RDMACapable, so that pods may be sent to others and wait",
    ),
    Feature(
        "volumeantiaffinity",
        lambda value: value not in _OFF,
        "have Longhorn keep replicas of different volumes apart, which is not judged: it would "
        "place them on other nodes than forecast, and room may be held where none is needed",
    ),
)


def is_watched(name: str) -> bool:
    """Say whether a field may ask for something that is not judged."""
    return any(each.part in _plain(name) for each in _FEATURES)


def coming(facts: Facts) -> Iterator[Finding]:
    """Name who asks for what is not judged; what cannot be read is told elsewhere."""
    for each in _FEATURES:
        found = dict[str, list[str]]()
        for kind, name, field, value in _fields(facts):
            if each.part in _plain(field) and each.is_asked_by(str(value).lower()):
                found.setdefault(kind, []).append(name)
        if found:
            who = ", ".join(f"{kind} {first_of(names, _SHOWN)}" for kind, names in found.items())
            yield wrong("feature-not-judged", f"{who} {each.text}")


def _fields(facts: Facts) -> Iterator[tuple[str, str, str, Any]]:
    """Yield whatever may ask for it: kind and name of the object, the field and its value."""
    for setting, value in sorted(longhorn_values(facts).items()):
        yield "Setting", setting, setting, value
    for seen in () if isinstance(facts.classes, Unread) else facts.classes:
        if seen.record.provisioner in LONGHORN_PROVISIONERS:
            for field, value in seen.record.parameters.items():
                yield "StorageClass", seen.record.name, field, value
    for volume in () if isinstance(facts.volumes, Unread) else facts.volumes:
        if isinstance(volume, VolumeSeen):
            for field, value in volume.watched.items():
                yield "Volume", volume.name, field, value


def _plain(name: str) -> str:
    return name.lower().replace("-", "")
