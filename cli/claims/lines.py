"""What `claims` prints for people: a line for each, and the sum."""

from collections.abc import Iterator, Sequence

from cli.claims.figures import ClaimFigures
from cli.paragraphs import ANY_WIDTH, paragraph, table
from planner.sizes import amount

_NAMES = ("claim", "size", "written", "replicas", "locality", "attached to", "replicas on")
_WIDE = ("StorageClass", "volume")


def lines(claims: Sequence[ClaimFigures], width: int, *, wide: bool = False) -> Iterator[str]:
    """Write the claims, what some wait for, and the sum."""
    if not claims:
        yield "no claim of Longhorn"
        return
    names = (*_NAMES, *(_WIDE if wide else ()))
    yield from table([names, *(_row(each, wide=wide) for each in claims)], figures={1, 2, 3})
    for each in claims:
        if each.note:
            long = ANY_WIDTH if wide else width
            yield from paragraph(f"{each.claim}: ", each.note, long, colour="yellow")
    yield ""
    yield _sum(claims)


def _row(each: ClaimFigures, *, wide: bool) -> tuple[str, ...]:
    has_volume = bool(each.volume)
    return (
        each.claim,
        amount(each.size_bytes),
        amount(each.written_bytes) if has_volume else "-",
        f"{each.healthy_replicas}/{each.wanted_replicas}" if has_volume else "-",
        each.locality or "-",
        each.attached_to or "-",
        ",".join(each.nodes) or "-",
        *((each.storage_class or "-", each.volume or "-") if wide else ()),
    )


def _sum(claims: Sequence[ClaimFigures]) -> str:
    of = "1 claim" if len(claims) == 1 else f"{len(claims)} claims"
    size, written = (
        amount(sum(getattr(each, figure) for each in claims))
        for figure in ("size_bytes", "written_bytes")
    )
    few = sum(each.missing_replicas > 0 for each in claims)
    waiting = sum(not each.volume for each in claims)
    more = f"; {few} without all replicas" if few else ""
    return f"{of}: {size}, {written} written{more}" + (
        f"; {waiting} without a volume" if waiting else ""
    )
