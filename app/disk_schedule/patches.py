"""What is written of a decision, as merge patches that hold for one version of the object. Pure.

A patch names what changes and nothing else: of a disk with hundreds of replicas one entry is sent.
With the version in it the API server takes the patch only if the object is still what was decided
on.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from app.disk_schedule.stored import READY
from longhorn import Decision, Entry

FINALIZER = "longhorn.io"

Patch = Mapping[str, Any]


def spec_patch(decision: Decision, version: str) -> Patch:
    """Return what to write of the requirements: those purged, and those added at the beginning."""
    before, after = decision.before, decision.after
    spec = {
        "replicas": _difference(before.replicas, after.replicas),
        "backingImages": _difference(before.images, after.images),
    }
    return {"metadata": {"resourceVersion": version}, "spec": spec}


def status_patch(
    decision: Decision, version: str, conditions: Sequence[Patch], at: datetime
) -> Patch:
    """Return what to write of entries, sum and condition.

    Args:
        decision: What was decided.
        version: Of the object, after the requirements were written.
        conditions: Those that it has. Those of other types stay.
        at: When the condition became what it is, in UTC.
    """
    before, after = decision.before, decision.after
    status: dict[str, Any] = {
        "replicas": _entries(_difference(before.held_replicas, after.held_replicas)),
        "backingImages": _entries(_difference(before.held_images, after.held_images)),
        "storageScheduled": after.scheduled_bytes,
    }
    if before.ready != after.ready:
        others = [each for each in conditions if each.get("type") != READY]
        status["conditions"] = [*others, _ready(at)]
    return {"metadata": {"resourceVersion": version}, "status": status}


def release_patch(finalizers: Sequence[str], version: str) -> Patch:
    """Return what lets an object go that is being deleted; finalizers of others stay."""
    others = [each for each in finalizers if each != FINALIZER]
    return {"metadata": {"resourceVersion": version, "finalizers": others}}


def _difference(before: Mapping[Any, Any], after: Mapping[Any, Any]) -> dict[str, Any]:
    """Return what is new or another, and None for what is no longer there."""
    changed = {name: each for name, each in after.items() if before.get(name) != each}
    return dict.fromkeys(before.keys() - after.keys()) | changed


def _entries(entries: Mapping[str, Entry | None]) -> dict[str, Any]:
    return {
        name: each and {"state": each.state.value, "scheduledSize": each.scheduled_bytes}
        for name, each in entries.items()
    }


def _ready(at: datetime) -> Patch:
    return {
        "type": READY,
        "status": "True",
        "reason": "",
        "message": "",
        "lastProbeTime": "",
        "lastTransitionTime": at.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
