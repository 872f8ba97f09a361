"""Names in requests: what Kubernetes accepts passes, and the rest is refused with its field."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import BadRequestError
from app.serving.names import (
    MOST_VOLUMES,
    NodeNames,
    check_beginning,
    check_label,
    check_name,
    check_uid,
    is_name,
)
from app.serving.wire import ExtenderRequest
from app.serving.wire import decode_request as decode
from longhorn import NodeName

WIRE = Path(__file__).parents[3] / "data" / "wire"
NEARLY_NAMES = st.text("ab0-.", max_size=12) | st.text("aA_/\\%\n\x00é", max_size=4)

Object = dict[str, Any]


SUBDOMAINS = ["a", "0", "web-0", "a--b.c", "10.0.0.1", "node-1.example.test", "a" * 253]
NO_SUBDOMAINS = ["", "-a", "a-", ".a", "a.", "a..b", "a-.b", "a.-b", "..", "a" * 254]
NO_SUBDOMAINS += ["A", "a_b", "a/b", "a%2f", "a\n", "é"]


def test_only_a_subdomain_is_a_name():
    assert [text for text in SUBDOMAINS if not is_name(text)] == []
    assert [text for text in NO_SUBDOMAINS if is_name(text)] == []


def taken(names: NodeNames, sent: list[str]) -> tuple[list[str], int] | str:
    """Return the names that are taken and how many no node has, or the field that is refused."""
    try:
        found, unknown = names.each_once([NodeName(name) for name in sent], "f[{}]")
    except BadRequestError as error:
        return str(error).partition(" is ")[0]
    return [*found], unknown


@given(
    st.frozensets(NEARLY_NAMES.filter(is_name), max_size=6),
    st.lists(st.lists(NEARLY_NAMES, max_size=6), max_size=4),
)
def test_names_of_nodes_are_taken_once_or_refused_whatever_was_asked_before(nodes, lists):
    names = NodeNames(lambda: frozenset(map(NodeName, nodes)))

    for sent in lists:
        wrong = [index for index, name in enumerate(sent) if not is_name(name)]
        once = list(dict.fromkeys(sent))
        expected = f"`f[{wrong[0]}]`" if wrong else (once, len({*once} - nodes))
        assert taken(names, sent) == expected


def test_only_names_of_nodes_are_the_same_object_each_time():
    nodes = [NodeName("node-1")]
    names = NodeNames(lambda: nodes)

    def asked() -> list[NodeName]:
        sent = [NodeName("".join(["node-", number])) for number in "123"]
        return names.each_once(sent, "f[{}]")[0]

    assert [one is two for one, two in zip(asked(), asked(), strict=True)] == [True, False, False]

    nodes = [NodeName("node-2"), NodeName("node-3")]
    assert [one is two for one, two in zip(asked(), asked(), strict=True)] == [False, True, True]


UID = "3b841b96-6ff2-4b64-93c1-018316a30e31"
CHECKS: dict[str, tuple[Callable[[str, str], None], list[str], list[str]]] = {
    "a name of": (
        check_label,
        ["shop", "a", "0", "a--b", "a" * 63],
        ["a.b", "a" * 64, "-a", "a-", "A", "a/b", "..", "a\n"],
    ),
    "a uid": (check_uid, [UID, "x", "a" * 128], ["a b", "a" * 129, "é", "a\n", "\x00"]),
    "the beginning of a name": (
        check_beginning,
        ["web-", "web", "a.", "a" * 253],
        ["-a", "A", "../", "a" * 254],
    ),
}


@pytest.mark.parametrize(
    ("check", "what", "text"),
    [(check, what, text) for what, (check, _, bad) in CHECKS.items() for text in bad],
)
def test_text_that_is_no_label_uid_or_beginning_is_refused(check, what, text):
    with pytest.raises(BadRequestError, match=rf"^`f` is .*; it must be {what}"):
        check("f", text)


@pytest.mark.parametrize(("check", "good", "_"), CHECKS.values(), ids=CHECKS)
def test_label_uid_and_beginning_of_a_name_pass(check, good, _):
    for text in good:
        check("f", text)


def test_long_value_is_shown_shortened_and_escaped():
    with pytest.raises(BadRequestError) as caught:
        check_name("f", "\x1b" + "é" * 1_000)

    text = str(caught.value)
    assert text.startswith(r"`f` is '\x1b\xe9\xe9")
    assert " and 941 more characters; it must be a name" in text
    assert text.isascii()
    assert len(text) < 500


RECORDED = sorted(path.name for verb in ("filter", "prioritize") for path in WIRE.glob(f"{verb}-*"))


def decode_request(body: bytes) -> ExtenderRequest:
    return decode(body, NodeNames(tuple))


HOSTILE = "../../../../apis/longhorn.io/v1beta2/namespaces/longhorn-system/volumes/v"


def asked(pod: Object, **more: object) -> bytes:
    return json.dumps({"Pod": pod, "Nodes": None, "NodeNames": ["a"], **more}).encode()


def pod(spec: object = None, status: object = None, **metadata: object) -> Object:
    return {"metadata": {"name": "web-0", **metadata}, "spec": spec, "status": status}


def volumes(*more: Object) -> Object:
    return {"volumes": [{"name": "v", "emptyDir": {}}, *more]}


CLAIM_NAMED = {"name": "w", "persistentVolumeClaim": {"claimName": HOSTILE}}
CLAIM_MADE = {"name": "../x", "ephemeral": {"volumeClaimTemplate": {}}}
LOWER_CASE = json.dumps({"pod": pod(), "nodenames": ["a", ".."]}).encode()
WHOLE = {"items": [{"metadata": {"name": name}} for name in ("a", "B")]}
NOMINATED = {"nominatedNodeName": "a/b"}
WRONG: dict[str, tuple[bytes, str, str]] = {
    "pod": (asked(pod(name=HOSTILE)), "Pod.metadata.name", "../../"),
    "pod-upper-case": (asked(pod(name="Web")), "Pod.metadata.name", "Web"),
    "namespace": (asked(pod(namespace="a/../b")), "Pod.metadata.namespace", "a/../b"),
    "uid": (asked(pod(uid="a b")), "Pod.metadata.uid", "a b"),
    "node-of-pod": (asked(pod({"nodeName": ".."})), "Pod.spec.nodeName", ".."),
    "nominated": (asked(pod(status=NOMINATED)), "Pod.status.nominatedNodeName", "a/b"),
    "claim": (asked(pod(volumes(CLAIM_NAMED))),
        "Pod.spec.volumes[1].persistentVolumeClaim.claimName", "../../"),
    "claim-made": (asked(pod(volumes(CLAIM_MADE))), "Pod.spec.volumes[1].name", "../x"),
    "node": (asked(pod(), NodeNames=["a", "b", "c d"]), "NodeNames[2]", "c d"),
    "node-lower-case-key": (LOWER_CASE, "NodeNames[1]", ".."),
    "whole-node": (asked(pod(), Nodes=WHOLE), "Nodes.items[1].metadata.name", "B"),
}  # fmt: skip


@pytest.mark.parametrize(("body", "field", "value"), WRONG.values(), ids=WRONG)
def test_a_request_with_a_wrong_name_is_refused_with_its_field_and_value(body, field, value):
    with pytest.raises(BadRequestError) as caught:
        decode_request(body)

    assert str(caught.value).startswith(f"`{field}` is ")
    assert value in str(caught.value)


def test_pod_has_some_volumes_and_not_thousands():
    volume: Object = {"emptyDir": {}}

    assert decode_request(asked(pod({"volumes": [volume] * MOST_VOLUMES}))).pod.name == "web-0"
    with pytest.raises(BadRequestError, match="has more than 1000 volumes"):
        decode_request(asked(pod({"volumes": [volume] * (MOST_VOLUMES + 1)})))


@pytest.mark.parametrize("name", RECORDED)
def test_no_recorded_request_is_refused(name):
    assert decode_request((WIRE / name).read_bytes()).candidates
