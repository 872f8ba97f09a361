"""What texts say of objects has an end, whatever is in these."""

import pytest

from extender.demand.parameters import check_tags, selector_of
from extender.errors import UnresolvableClaimError, cut
from extender.verdicts.rejections import NodeTags
from extender.verdicts.shortages import DiskTags
from tests.builders import storage_class

TAGS = tuple(f"tag-{number}" for number in range(100_000))


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", ""), ("a" * 500, "a" * 500), ("a" * 501, "a" * 500 + "...")],
)
def test_a_long_text_is_cut(text, expected):
    assert cut(text) == expected


@pytest.mark.parametrize("tags", [",".join(TAGS), "x" * 10**6], ids=["many", "long"])
def test_the_error_about_a_class_is_short_whatever_its_tags(tags):
    made = storage_class("c", diskSelector=tags)
    selector = selector_of(made, "diskSelector")

    with pytest.raises(UnresolvableClaimError) as caught:
        check_tags(made, "diskSelector", selector, ())

    assert str(caught.value).startswith("StorageClass c has diskSelector '")
    assert len(str(caught.value)) < 1_200


@pytest.mark.parametrize("rejection", [NodeTags(selector=TAGS), DiskTags(selector=TAGS)])
def test_a_rejection_is_short_whatever_the_tags(rejection):
    assert len(str(rejection)) < 600
