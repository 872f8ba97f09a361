"""Names are listed as people count."""

from hypothesis import given
from hypothesis import strategies as st

from planner.naming import natural


def test_numbers_in_names_count_by_their_value():
    names = ["web-10", "a-2-b-10", "web-2", "web", "a-2-b-9", "a-10", "web-02", "2", "10", ""]

    assert sorted(names, key=natural) == [
        "", "2", "10", "a-2-b-9", "a-2-b-10", "a-10", "web", "web-02", "web-2", "web-10",
    ]  # fmt: skip


@given(names=st.lists(st.text("a-0129²", max_size=6), unique=True))
def test_no_two_names_have_one_place(names):
    assert len({*map(natural, names)}) == len(names)


def test_a_number_of_any_length_is_compared():
    assert natural("1" * 10_000) > natural("9" * 9_999)
