"""The size of shards, against values that go-spdk-helper's own tests fix."""

import pytest

from longhorn.arithmetic import front_bytes, shard_size_bytes
from tests.builders import GIB, MIB


@pytest.mark.parametrize(
    ("strip_kib", "expected"),
    [
        (4, 8_347_648),
        (8, 16_760_832),
        (16, 33_587_200),
        (32, 67_239_936),
        (64, 134_479_872),
        (128, 268_959_744),
        (256, 537_919_488),
        (512, 1_075_838_976),
        (1024, 2_151_677_952),
    ],
)
def test_what_is_reserved_at_the_front(strip_kib, expected):
    assert front_bytes(strip_kib) == expected


def test_one_data_chunk_holds_all_and_the_metadata():
    assert shard_size_bytes(33 * GIB, data_chunks=1, strip_kib=64) == 35_926_310_912


@pytest.mark.parametrize("data_chunks", [2, 4, 31])
def test_several_hold_a_part_each(data_chunks):
    found = shard_size_bytes(33 * GIB, data_chunks=data_chunks, strip_kib=64)

    assert found % (2 * MIB) == 0
    kept = found - front_bytes(64)
    assert 0 <= data_chunks * kept - (33 * GIB + 356_515_840) < data_chunks * 2 * MIB
