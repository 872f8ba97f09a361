"""Kubernetes quantities in bytes, as apimachinery's Quantity.Value() gives them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.quantity import parse_bytes

LARGEST = 2**63 - 1


@pytest.mark.parametrize(
    ("quantity", "size_bytes"),
    [
        ("0", 0),
        ("1", 1),
        ("+1", 1),
        ("107374182400", 100 * 2**30),
        ("1k", 10**3),
        ("1M", 10**6),
        ("1G", 10**9),
        ("1T", 10**12),
        ("1P", 10**15),
        ("1E", 10**18),
        ("1Ki", 2**10),
        ("1Mi", 2**20),
        ("100Gi", 100 * 2**30),
        ("1Ti", 2**40),
        ("1Pi", 2**50),
        ("7Ei", 7 * 2**60),
        ("1.5Gi", 3 * 2**29),
        ("0.5Ki", 512),
        (".5Ki", 512),
        ("5.Ki", 5 * 2**10),
        ("1e3", 1000),
        ("1E3", 1000),
        ("1e+3", 1000),
        ("5e+09", 5 * 10**9),
        ("6.397024534528e+12", 6_397_024_534_528),
        ("12e-1", 2),
        ("-1", -1),
        ("-1Ki", -1024),
    ],
)
def test_units_and_exponents(quantity: str, size_bytes: int) -> None:
    assert parse_bytes(quantity) == size_bytes


@pytest.mark.parametrize(
    ("quantity", "size_bytes"),
    [
        ("1.1", 2),
        ("0.1", 1),
        ("1m", 1),
        ("1000m", 1),
        ("1001m", 2),
        ("1n", 1),
        ("1u", 1),
        ("1.0000000001Ki", 1025),
        ("1e-999", 1),
        ("0e-999", 0),
        ("-1.1", -2),
        ("0.0", 0),
        ("-0", 0),
    ],
)
def test_parts_of_a_byte_are_rounded_away_from_zero(quantity: str, size_bytes: int) -> None:
    assert parse_bytes(quantity) == size_bytes


@pytest.mark.parametrize(
    ("quantity", "size_bytes"),
    [
        ("9223372036854775807", LARGEST),
        ("9223372036854775808", LARGEST),
        ("8Ei", LARGEST),
        ("9999999999999999999999999999", LARGEST),
        ("1e19", LARGEST),
        ("1e999", LARGEST),
        ("-1e999", -LARGEST),
        ("9" * 40 + "Ei", LARGEST),
    ],
)
def test_what_exceeds_64_bit_is_cut_off_there(quantity: str, size_bytes: int) -> None:
    assert parse_bytes(quantity) == size_bytes


@pytest.mark.parametrize(
    "quantity",
    [
        "",
        " ",
        " 1Gi",
        "1Gi ",
        "1 Gi",
        "1\n",
        "Gi",
        ".",
        ".Gi",
        "-",
        "1GiB",
        "1gi",
        "1GI",
        "1K",
        "1i",
        "1KB",
        "1e",
        "e3",
        "1e3Gi",
        "1e1.5",
        "1e+",
        "0x10",
        "1_000",
        "1,000",
        "1.2.3",
        "--1",
        "inf",
        "nan",
        "null",
        "\u0661",
        "\uff11Gi",
        "1" * 100_000,
        "1e" + "9" * 100_000,
        "1e9999999999",
    ],
)
def test_anything_else_is_no_quantity_and_quoted(quantity: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity such as 100Gi") as caught:
        parse_bytes(quantity)

    assert str(caught.value).startswith(repr(quantity[:60])[:-1])
    assert len(str(caught.value)) < 200


@given(number=st.integers(min_value=-LARGEST, max_value=LARGEST))
def test_plain_integers_are_themselves(number: int) -> None:
    assert parse_bytes(str(number)) == number


@given(st.text(max_size=20))
def test_any_text_is_read_within_64_bit_or_refused(text: str) -> None:
    try:
        size_bytes = parse_bytes(text)
    except ValueError:
        return

    assert abs(size_bytes) <= LARGEST


@given(
    whole=st.integers(min_value=0, max_value=10**6),
    unit=st.sampled_from(["", "k", "M", "G", "Ki", "Mi", "Gi"]),
    more=st.integers(min_value=0, max_value=10**6),
)
def test_a_larger_number_of_a_unit_is_never_fewer_bytes(whole: int, unit: str, more: int) -> None:
    assert parse_bytes(f"{whole}{unit}") <= parse_bytes(f"{whole + more}{unit}")
