"""Items that find room in whatever order they come."""

from collections.abc import Sequence
from random import Random

import pytest

from packing import Bin, Item, fits_in_any_order

KIND = frozenset({0})


def items(name: str, sizes: list[int]) -> list[Item]:
    return [Item(f"{name}-{number}", size, 0, KIND) for number, size in enumerate(sizes)]


@pytest.mark.parametrize(
    ("bins", "sizes", "others", "expected"),
    [
        pytest.param([100], [60], [40], True, id="all-fit-on-the-disk"),
        pytest.param([100], [60], [41], False, id="one-gib-too-much"),
        pytest.param([120, 80], [110], [60], False, id="the-other-takes-the-larger-disk"),
        pytest.param([120, 80], [60], [110], True, id="the-other-fits-on-one-disk-only"),
        pytest.param([100, 100, 100], [60], [90, 90], True, id="more-disks-than-others"),
        pytest.param([100, 100, 100], [60], [90, 90, 90], False, id="as-many"),
        pytest.param([100, 100], [60, 60], [], True, id="each-finds-a-disk"),
        pytest.param([100, 60], [60, 50, 10], [], False, id="locals-among-themselves"),
        pytest.param([200] * 4, [50], [150] * 6, False, id="too-many-to-try-all-orders"),
    ],
)
def test_room_is_left_in_every_order(
    bins: list[int], sizes: list[int], others: list[int], *, expected: bool
) -> None:
    rooms = [Bin(f"bin-{number}", 0, size, 0) for number, size in enumerate(bins)]

    found = fits_in_any_order(items("own", sizes), items("other", others), rooms)

    assert found is expected


@pytest.mark.parametrize("seed", range(300))
def test_whoever_places_one_by_one_finds_room_if_it_says_so(seed: int) -> None:
    random = Random(seed)
    free = [random.randint(5, 30) for _ in range(random.randint(1, 4))]
    own = items("own", [random.randint(1, 12) for _ in range(random.randint(1, 3))])
    others = items("other", [random.randint(1, 12) for _ in range(random.randint(0, 4))])
    rooms = [Bin(f"bin-{number}", 0, size, 0) for number, size in enumerate(free)]

    lost = any(_places_in_vain(free, own, others, random) for _ in range(50))

    assert not (lost and fits_in_any_order(own, others, rooms))


def _places_in_vain(
    free: Sequence[int], own: Sequence[Item], others: Sequence[Item], random: Random
) -> bool:
    left = [*free]
    for item in random.sample([*own, *others], len(own) + len(others)):
        takers = [number for number, size in enumerate(left) if size >= item.logical_bytes]
        if takers:
            left[random.choice(takers)] -= item.logical_bytes
        elif item in own:
            return True
    return False
