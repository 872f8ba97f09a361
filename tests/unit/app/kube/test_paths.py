"""Paths to objects: whatever a name is, it stays in its segment, or nothing is sent."""

from urllib.parse import unquote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from yarl import URL

from app.kube.errors import ImpossibleNameError
from app.kube.longhorn.resources import NODES
from app.kube.paths import path_of
from app.kube.resources import CLAIMS, PODS

HOSTILE = "../../../../apis/longhorn.io/v1beta2/namespaces/longhorn-system/volumes/v"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (PODS.path(), "/api/v1/pods"),
        (PODS.path("shop"), "/api/v1/namespaces/shop/pods"),
        (PODS.path("shop", "web-0"), "/api/v1/namespaces/shop/pods/web-0"),
        (PODS.path("shop", "web-0", "status"), "/api/v1/namespaces/shop/pods/web-0/status"),
        (
            NODES.path("longhorn-system", "a.example"),
            "/apis/longhorn.io/v1beta2/namespaces/longhorn-system/nodes/a.example",
        ),
    ],
)
def test_a_path_is_the_one_of_the_api_server(path, expected):
    assert path == expected


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/", "a%2fb", HOSTILE, "\ud800"])
def test_a_name_that_no_object_can_have_makes_no_path(name):
    with pytest.raises(ImpossibleNameError, match=r"^no object can have the name '.*; nothing was"):
        CLAIMS.path("shop", name)


@pytest.mark.parametrize("namespace", [".", "..", "a/b", HOSTILE])
def test_a_namespace_that_cannot_be_makes_no_path(namespace):
    with pytest.raises(ImpossibleNameError):
        CLAIMS.path(namespace)


@given(st.text())
@example("a?watch=true")
@example("a#b")
@example("a;b\\..\\c")
@example("...")
@example("a\r\nHost: b")
def test_a_name_never_leaves_its_segment(name):
    """As aiohttp makes it a request and Go's net/http reads it, which decodes before it parts."""
    try:
        path = path_of("/api/v1", "pods", namespace="shop", name=name)
    except ImpossibleNameError:
        return
    url = URL(f"https://api.test{path}")

    assert unquote(url.raw_path).split("/") == ["", "api", "v1", "namespaces", "shop", "pods", name]
    assert (url.query_string, url.fragment) == ("", "")
    assert path.isascii()
    assert path.isprintable()
