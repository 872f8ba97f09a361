"""What the bytes of lists and watches do to a mirror, where no server is needed to show it."""

import pytest

from app.kube.errors import MalformedError
from app.kube.feed import Feed, Source
from app.kube.mirror import Change
from app.kube.resources import CLAIMS
from extender.kubernetes import Claim

SOURCE = Source(resource=CLAIMS)


def claim_nested(levels: int) -> bytes:
    """Build a claim with managedFields as any client may send them and the API server keeps them.

    Its volume's name has what a bracket counter stumbles over, were it not in a string.
    """
    deep = b'{"f:a":' * levels + b"[{}]" + b"}" * levels
    return (
        b'{"metadata":{"name":"data","namespace":"default","resourceVersion":"5","managedFields":'
        b'[{"fieldsV1":' + deep + b'}]},"spec":{"volumeName":"pv\\"}]{","accessModes":[]}}'
    )


def one_claim(changes: list[Change]) -> str | None:
    [change] = changes
    assert isinstance(change.new, Claim)
    return change.new.persistent_volume


@pytest.mark.parametrize("levels", [0, 90, 1_500, 9_900])
def test_an_object_nested_however_deep_is_read_from_a_page(levels):
    feed = Feed(SOURCE, on_skipped=pytest.fail)
    feed.page_query("")
    page = feed.read_page(
        b'{"metadata":{"resourceVersion":"7"},"items":[' + claim_nested(levels) + b"]}"
    )

    assert one_claim(list(feed.take_objects(page.items or ()))) == 'pv"}]{'


@pytest.mark.parametrize("levels", [0, 90, 1_500, 9_900])
def test_an_object_nested_however_deep_is_read_from_an_event(levels):
    feed = Feed(SOURCE, on_skipped=pytest.fail)
    line = b'{"type":"ADDED","object":' + claim_nested(levels) + b"}"

    assert one_claim(list(feed.take_events([line]))) == 'pv"}]{'


def test_the_others_of_its_page_are_read_too():
    feed = Feed(SOURCE, on_skipped=pytest.fail)
    feed.page_query("")
    other = b'{"metadata":{"name":"other","namespace":"default","resourceVersion":"6"}}'
    items = claim_nested(5_000) + b"," + other
    page = feed.read_page(b'{"metadata":{"resourceVersion":"7"},"items":[' + items + b"]}")

    names = [c.new.key for c in feed.take_objects(page.items or ()) if isinstance(c.new, Claim)]

    assert names == ["default/data", "default/other"]


def test_nested_brackets_that_are_no_json_are_refused():
    feed = Feed(SOURCE, on_skipped=pytest.fail)

    with pytest.raises(MalformedError, match="persistentvolumeclaims"):
        feed.read_page(b"[" * 100_000)
