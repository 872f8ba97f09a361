"""What our service has in the cluster, and whether anybody has touched it."""

from collections.abc import Mapping

import msgspec

from app.config import NAME, OWN_NAMESPACE
from tests.actors import api as kinds
from tests.e2e.audit import lines, writes
from tests.e2e.users import EXTENDER
from tests.e2e.world import World

_LOST = frozenset({"lease.lost", "endpointslice.withdrawn"})
"""What an instance logs that no longer leads."""
_RENEWAL = (f"update leases/{NAME}", EXTENDER)
"""The write that goes on all the time: what, by whom."""


class Ours(msgspec.Struct, frozen=True, kw_only=True):
    """The state at one moment."""

    lease: tuple[str, int]
    """Its holder, and how often it has changed."""
    slices: Mapping[str, list[str]]
    """The addresses in each."""
    losses: Mapping[str, int]
    """How often each instance has said that it leads no longer."""
    audited: int
    """Lines of the audit log."""


async def look(world: World) -> Ours:
    lease = await world.api.get(kinds.LEASES, NAME, OWN_NAMESPACE)
    assert lease is not None
    spec = lease["spec"]
    slices = await world.api.list(kinds.ENDPOINT_SLICES, OWN_NAMESPACE)
    return Ours(
        lease=(spec.get("holderIdentity", ""), spec.get("leaseTransitions", 0)),
        slices={
            each["metadata"]["name"]: [
                address for end in each["endpoints"] or () for address in end["addresses"]
            ]
            for each in slices
        },
        losses={
            each.pod: sum(event.get("event") in _LOST for event in each.events())
            for each in world.extender.instances
        },
        audited=lines(world.control_plane.audit_log),
    )


async def changes(world: World, before: Ours) -> list[str]:
    """Say what is not as it was, and who has written what."""
    now = await look(world)
    found = [
        f"{name}: {old} before, {new} now"
        for name, old, new in (
            ("Lease", before.lease, now.lease),
            ("slices", before.slices, now.slices),
            ("no longer leading", before.losses, now.losses),
        )
        if old != new
    ]
    log = world.control_plane.audit_log
    written = {
        (what, who)
        for resource in ("endpointslices", "leases")
        for what, who in writes(log, resource, OWN_NAMESPACE, skip=before.audited)
        if what.partition("/")[2].startswith(NAME)
    }
    return found + [f"{what} by {who}" for what, who in sorted(written - {_RENEWAL})]
