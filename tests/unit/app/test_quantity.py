"""Kubernetes quantities in bytes, as apimachinery's Quantity.Value() gives them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.quantity import parse_bytes, parse_thousandths

LARGEST = 2**63 - 1


UNITS = {
    "": 1,
    **{unit: 1000**power for power, unit in enumerate("kMGTP", 1)},
    **{f"{unit}i": 1024**power for power, unit in enumerate("KMGTP", 1)},
}


@pytest.mark.parametrize(("unit", "size_bytes"), UNITS.items())
def test_units(unit, size_bytes):
    assert parse_bytes(f"3{unit}") == 3 * size_bytes


@pytest.mark.parametrize(
    ("quantity", "size_bytes"),
    [
        *[("0", 0), ("+1", 1), ("-1Ki", -1024), ("1E", 10**18), ("7Ei", 7 * 2**60)],
        *[("1.5Gi", 3 * 2**29), (".5Ki", 512), ("5.Ki", 5 * 2**10)],
        *[("1e3", 1000), ("1E3", 1000), ("5e+09", 5 * 10**9), ("12e-1", 2)],
        ("6.397024534528e+12", 6_397_024_534_528),
    ],
)
def test_fractions_and_exponents(quantity, size_bytes):
    assert parse_bytes(quantity) == size_bytes


@pytest.mark.parametrize(
    ("quantity", "size_bytes"),
    [
        *[("1.1", 2), ("1m", 1), ("1000m", 1), ("1001m", 2), ("1n", 1), ("1u", 1), ("-1.1", -2)],
        *[("1.0000000001Ki", 1025), ("1e-999", 1), ("0e-999", 0), ("-0", 0)],
    ],
)
def test_parts_of_a_byte_are_rounded_away_from_zero(quantity, size_bytes):
    assert parse_bytes(quantity) == size_bytes


@pytest.mark.parametrize(
    ("quantity", "size_bytes"),
    [
        *[("9223372036854775807", LARGEST), ("9223372036854775808", LARGEST), ("8Ei", LARGEST)],
        *[("1e999", LARGEST), ("-1e999", -LARGEST), ("9" * 40 + "Ei", LARGEST)],
    ],
)
def test_what_exceeds_64_bit_is_cut_off_there(quantity, size_bytes):
    assert parse_bytes(quantity) == size_bytes


NO_QUANTITIES = ["", " 1Gi", "1Gi ", "1 Gi", "1\n", "Gi", ".", "-", "1GiB", "1gi", "1K", "1i", "1e"]
NO_QUANTITIES += ["e3", "1e3Gi", "1e1.5", "0x10", "1_000", "1.2.3", "--1", "inf", "nan", "\u0661"]
NO_QUANTITIES += ["1" * 100_000, "1e" + "9" * 100_000]


@pytest.mark.parametrize("quantity", NO_QUANTITIES)
def test_anything_else_is_no_quantity_and_quoted(quantity):
    with pytest.raises(ValueError, match="is not a quantity such as 100Gi") as caught:
        parse_bytes(quantity)

    assert str(caught.value).startswith(repr(quantity[:60])[:-1])
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("quantity", "thousandths"),
    [
        *[("100m", 100), ("0.5", 500), ("2", 2000), ("1e3", 1_000_000), ("1k", 1_000_000)],
        *[("0", 0), ("1e-3", 1), ("-250m", -250), ("5e-1", 500), ("3Ki", 3_072_000)],
        *[("1u", 1), ("1n", 1), ("1e-999", 1), ("100.1m", 101), ("-1n", -1)],
        *[("8Ei", LARGEST), ("9223372036854776", LARGEST), ("-1e999", -LARGEST)],
    ],
)
def test_thousandths_are_rounded_away_from_zero_and_cut_off_at_64_bit(quantity, thousandths):
    assert parse_thousandths(quantity) == thousandths


@pytest.mark.parametrize("quantity", NO_QUANTITIES)
def test_what_is_no_quantity_has_no_thousandths(quantity):
    with pytest.raises(ValueError, match="is not a quantity such as 100Gi"):
        parse_thousandths(quantity)


@given(number=st.integers(min_value=-LARGEST, max_value=LARGEST))
def test_plain_integers_are_themselves(number):
    assert parse_bytes(str(number)) == number


@given(st.text(max_size=20))
def test_any_text_is_read_within_64_bit_or_refused(text):
    try:
        size_bytes = parse_bytes(text)
    except ValueError:
        return

    assert abs(size_bytes) <= LARGEST
