"""Answers that are made of parts of a body are sent in pieces, with all their bytes."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from app.serving.answers import PIECE_BYTES, pieces

sizes = st.sampled_from([0, 1, 5_000, PIECE_BYTES - 1, PIECE_BYTES, 3 * PIECE_BYTES + 7])


@given(st.lists(sizes, max_size=6))
def test_pieces_are_together_what_the_parts_are_and_none_is_large(some):
    parts = [bytes([number]) * size for number, size in enumerate(some)]

    found = [*pieces(parts, some)]

    assert b"".join(found) == b"".join(parts)
    assert all(len(each) <= PIECE_BYTES for each in found)
    if all(size <= PIECE_BYTES for size in some):
        assert all(len(one) + len(next_) >= PIECE_BYTES for one, next_ in pairwise(found))
