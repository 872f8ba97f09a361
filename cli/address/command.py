"""One proposal: connect, read, choose, and say why."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from app.config import NAME
from app.errors import InputError
from cli.address.proposing import Free, Full, number_of, propose, static_band
from cli.address.reading import Seen, read_addresses


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """What is printed."""

    addresses: Sequence[str]
    """One for each family that has one left, the family of the cluster's default first."""
    notes: Sequence[str]


def propose_address(namespace: str, kubeconfig: Path | None, context: str | None) -> Proposal:
    """Propose addresses for the Service in *namespace*, in a live cluster.

    Raises:
        AppError: There is no cluster to connect to, or it does not let us; or nothing is free.
    """
    from app.kube.connecting import connect  # noqa: PLC0415 (it takes long)

    async def read() -> Seen:
        connection = await connect(kubeconfig, context)
        try:
            return await read_addresses(connection)
        finally:
            await connection.close()

    return make_proposal(asyncio.run(read()), f"{namespace}/{NAME}")


def make_proposal(seen: Seen, service: str) -> Proposal:
    """Choose, and say why; *service* is ours as NAMESPACE/NAME.

    Raises:
        InputError: No family has an address left.
    """
    found = propose(seen.ranges, seen.taken)
    addresses = [str(each.address) for each in found if isinstance(each, Free)]
    if not addresses:
        raise InputError(" ".join(_reason(each) for each in found))
    notes = [*_reservations(seen, service), *(_reason(each) for each in found)]
    return Proposal(addresses=addresses, notes=notes)


def _reservations(seen: Seen, service: str) -> Iterator[str]:
    """Say what speaks against every address."""
    if own := [str(address) for address, name in seen.taken.items() if name == service]:
        yield (
            f"Service {service} has {' and '.join(own)} already. That cannot be changed: to take "
            f"another address, delete the Service."
        )
    if not seen.is_told:
        ranges = " and ".join(str(each) for each in seen.ranges)
        yield (
            f"The cluster does not tell its Service range, as Kubernetes does from 1.33 on. It is "
            f"taken for {ranges}: the beginning is certain, the end is not. kube-apiserver's flag "
            f"--service-cluster-ip-range says it."
        )


def _reason(found: Free | Full) -> str:
    match found:
        case Free(address=address, range=range_, is_static=True):
            return (
                f"{address} is free: number {number_of(address, range_)} of {range_}, of which "
                f"Kubernetes gives out 1 to {static_band(range_)} by itself only when all others "
                f"are taken."
            )
        case Free(address=address, range=range_):
            return (
                f"{address} is free now. Kubernetes may give it to any new Service by itself, so "
                f"create the Service soon: nothing is left in the part of {range_} that it gives "
                f"out last."
            )
        case Full(ranges=ranges):
            names = " and ".join(str(each) for each in ranges)
            return f"No address of {names} is free: delete a Service, or add a ServiceCIDR."
