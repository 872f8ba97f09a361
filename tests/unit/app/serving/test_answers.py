"""Answers that are made of parts of a body are sent in pieces, with all their bytes."""

from hypothesis import given
from hypothesis import strategies as st

from app.serving.answers import pieces

PIECE_BYTES = 256 * 2**10
sizes = st.sampled_from([0, 1, 5_000, PIECE_BYTES - 1, PIECE_BYTES, 3 * PIECE_BYTES + 7])


@given(st.lists(sizes, max_size=6))
def test_pieces_are_together_what_the_parts_are_and_none_is_large(some: list[int]) -> None:
    parts = [bytes([number]) * size for number, size in enumerate(some)]

    found = [*pieces(parts)]

    assert b"".join(found) == b"".join(parts)
    assert all(PIECE_BYTES <= len(each) < 2 * PIECE_BYTES for each in found[:-1])
    assert all(found)
