"""By which StorageClass the volume of a claim is made: its own, or the default one."""

import pytest

from extender.kubernetes import StorageClass, class_of, default_class
from tests.builders import claim


def made(name: str, created: str = "", *, is_default: bool = True) -> StorageClass:
    return StorageClass(
        name=name, provisioner="x", parameters={}, is_default=is_default, created=created
    )


@pytest.mark.parametrize(
    ("classes", "expected"),
    [
        pytest.param([], "", id="no-class"),
        pytest.param([made("a", is_default=False)], "", id="no-default"),
        pytest.param([made("a"), made("b", is_default=False)], "a", id="one"),
        pytest.param(
            [
                made("a", "2026-01-01T00:00:00Z"),
                made("b", "2026-02-01T00:00:00Z"),
                made("c"),
            ],
            "b",
            id="the-newest",
        ),
        pytest.param([made("b"), made("a")], "a", id="the-first-by-name"),
    ],
)
def test_default_class(classes, expected):
    assert default_class(classes) == expected


@pytest.mark.parametrize(
    ("asks", "expected"),
    [
        pytest.param(claim(storage_class="own"), "own", id="its-own"),
        pytest.param(claim(storage_class=None), "standard", id="the-default-one"),
        pytest.param(claim(storage_class=""), None, id="none-at-all"),
        pytest.param(claim(storage_class="gone"), None, id="one-that-is-not-there"),
    ],
)
def test_default_class_is_for_claims_that_name_none(asks, expected):
    classes = {"own": made("own", is_default=False), "standard": made("standard")}

    found = class_of(asks, classes)

    assert (found.name if found else None) == expected
