"""Tags decide where replicas may go."""

import pytest

from longhorn import tags_match


@pytest.mark.parametrize(
    ("tags", "selector", "allow_empty", "expected"),
    [
        pytest.param([], [], True, True, id="nothing-wanted"),
        pytest.param(["a"], [], True, True, id="nothing-wanted-of-tagged"),
        pytest.param(["a"], [], False, False, id="nothing-wanted-of-tagged-not-allowed"),
        pytest.param([], [], False, True, id="nothing-wanted-of-untagged"),
        pytest.param([], ["a"], True, False, id="no-tags"),
        pytest.param(["a"], ["a"], False, True, id="the-tag"),
        pytest.param(["a", "b"], ["b", "a"], True, True, id="both-in-any-order"),
        pytest.param(["a"], ["a", "b"], True, False, id="one-of-two"),
        pytest.param(["a"], ["A"], True, False, id="another-case"),
        pytest.param(["a"], [" a"], True, False, id="a-space"),
        pytest.param(["a"], ["a*"], True, False, id="no-globs"),
    ],
)
def test_tags_match(tags, selector, *, allow_empty, expected):
    found = tags_match(frozenset(tags), tuple(selector), allow_empty=allow_empty)

    assert found is expected
