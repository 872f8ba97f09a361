"""How much of a resource a pod asks for, and how much nodes have left, for people."""

from collections.abc import Sequence

from planner.predicates.refusals import DISK_SPACE, Lack
from planner.records import PODS

_THOUSANDTHS, _GIB = 1_000, 2**30
_IN_BYTES = ("memory", "ephemeral-storage", "hugepages-")


def figures(lacks: Sequence[Lack]) -> str:
    """Say what nodes lack, to be added to a reason, such as ": asks 1 CPU, 0.4 left".

    Args:
        lacks: Of one pod on some nodes, of which each lacks the same resources; none for reasons
            without figures.
    """
    by_resource: dict[str, list[Lack]] = {}
    for each in lacks:
        by_resource.setdefault(each.resource, []).append(each)
    told = [_told(resource, by_resource[resource]) for resource in sorted(by_resource)]
    return f": {'; '.join(told)}" if told else ""


def _told(resource: str, lacks: Sequence[Lack]) -> str:
    if resource == PODS:
        least, most = (of(each.allocatable for each in lacks) for of in (min, max))
        return f"{least}" if least == most else f"{least} to {most}"
    left = [max(0, each.left) for each in lacks]
    bound = "at most " if len({*left}) > 1 else ""
    if resource == DISK_SPACE:
        return f"{bound}{_rounded(max(left), _GIB, is_up=False)} GiB left on one disk"
    asked, unit = _amount(resource, lacks[0].asked, is_asked=True)
    rest, _ = _amount(resource, max(left), is_asked=False)
    return f"asks {asked}{unit}, {bound}{rest}{' GiB' if unit.startswith(' GiB') else ''} left"


def _amount(resource: str, amount: int, *, is_asked: bool) -> tuple[str, str]:
    """Return a figure and its unit; what is asked is rounded up, what is left down."""
    if resource == "cpu":
        return _rounded(amount, _THOUSANDTHS, is_up=is_asked), " CPU"
    if resource.startswith(_IN_BYTES):
        return _rounded(amount, _GIB, is_up=is_asked), f" GiB of {resource}"
    return str(amount), f" {resource}"


def _rounded(amount: int, unit: int, *, is_up: bool) -> str:
    hundredths = -(-100 * amount // unit) if is_up else 100 * amount // unit
    return f"{hundredths / 100:g}"
