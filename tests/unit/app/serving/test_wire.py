"""The extender protocol: what kube-scheduler sends is understood, and answered in its own form."""

import json
from pathlib import Path
from typing import Any

import pytest

from app.errors import BadRequestError
from app.serving.wire import FilterRequest, decode_request, encode_error, encode_result
from extender import Answer, Basis, ClaimKey, PodRef, PodStatus, Rejection
from extender.demand.requests import PodRequest
from longhorn import NodeName

WIRE = Path(__file__).parents[3] / "data" / "wire"
RECORDED = sorted(path.name for path in WIRE.glob("filter-*.json"))
WITH_NODES = [name for name in RECORDED if "-nodes-" in name]
DEPTH = 100_000
POD = '{"metadata":{"name":"pod"}}'
NAMED_POD = PodRef(namespace="default", name="pod", uid="", claims=())


class Full(Rejection, frozen=True):
    reason = "full"

    def __str__(self) -> str:
        return "no room"


def recorded(name: str) -> bytes:
    return (WIRE / name).read_bytes()


def request(
    *, pod: str = POD, nodes: str = "null", node_names: str = "null", extra: str = ""
) -> bytes:
    """Write a request as kube-scheduler does, all three keys always there."""
    return f'{{{extra}"Pod":{pod},"Nodes":{nodes},"NodeNames":{node_names}}}'.encode()


def node_list(*items: str) -> str:
    return f'{{"metadata":{{}},"items":[{",".join(items)}]}}'


def node(name: str, more: str = "") -> str:
    return f'{{"metadata":{{"name":"{name}"}}{more}}}'


def items_of(body: bytes) -> list[str]:
    """Cut the items out of a body, each with exactly the characters it has there."""
    text = body.decode()
    at = text.index('"items":[') + len('"items":[')
    items = []
    while text[at] != "]":
        _, end = json.JSONDecoder().raw_decode(text, at)
        items.append(text[at:end])
        at = end + (text[end] == ",")
    return items


def accept(request: FilterRequest, *accepted: str) -> dict[str, Any]:
    """Answer with these nodes, all other candidates rejected."""
    answer: dict[str, Any] = json.loads(encode_result(result(request, *accepted), request))
    return answer


def result(request: FilterRequest, *accepted: str) -> Answer:
    return Answer(
        request=PodRequest(pod=request.pod, volumes=()),
        basis=Basis.PLACEMENT,
        accepted=[NodeName(name) for name in accepted],
        rejected=dict.fromkeys(sorted({*request.candidates} - {*accepted}), Full()),
    )


@pytest.mark.parametrize(
    ("name", "pod"),
    [
        pytest.param(
            "filter-names-1.26.json",
            PodRef(
                namespace="default",
                name="web-0",
                uid="7b7a2f9e-0f5b-4c8f-9b0c-1f1b6a1d0001",
                claims=(
                    ClaimKey("default/data-web-0"),
                    ClaimKey("default/logs-web-0"),
                    ClaimKey("default/web-0-cache"),
                ),
            ),
            id="1.26",
        ),
        pytest.param(
            "filter-nodes-1.36.json",
            PodRef(
                namespace="shop",
                name="db-full-1",
                uid="096587d9-d2cd-4e24-96cd-49179cd7daab",
                claims=(
                    ClaimKey("shop/data-db-full-1"),
                    ClaimKey("shop/wal-db-full-1"),
                    ClaimKey("shop/db-full-1-scratch"),
                ),
            ),
            id="1.36",
        ),
    ],
)
def test_a_recorded_pod_is_read_with_its_claims_in_order(name: str, pod: PodRef) -> None:
    assert decode_request(recorded(name)).pod == pod


@pytest.mark.parametrize("name", RECORDED)
def test_the_candidates_of_a_recorded_request_are_read_in_order(name: str) -> None:
    sent = json.loads(recorded(name))
    names = sent["NodeNames"] or [item["metadata"]["name"] for item in sent["Nodes"]["items"]]

    decoded = decode_request(recorded(name))

    assert decoded.candidates == names


@pytest.mark.parametrize("name", RECORDED)
def test_a_recorded_request_is_answered_in_its_own_form(name: str) -> None:
    sent, decoded = json.loads(recorded(name)), decode_request(recorded(name))

    answer = accept(decoded, *decoded.candidates)

    assert answer == {
        "Nodes": sent["Nodes"],
        "NodeNames": sent["NodeNames"],
        "FailedNodes": {},
        "FailedAndUnresolvableNodes": {},
        "Error": "",
    }


@pytest.mark.parametrize("name", WITH_NODES)
def test_recorded_nodes_go_back_byte_for_byte(name: str) -> None:
    body = recorded(name)
    decoded = decode_request(body)

    answer = encode_result(result(decoded, *decoded.candidates), decoded)

    assert items_of(answer) == items_of(body)


def test_nodes_go_back_with_their_white_space_escapes_and_number_forms() -> None:
    odd = '{ "metadata" : {"name":"n\\u006f\\/1"},\n"x":[1.0,1e3,-0,"\\u00e9\\ud83d\\ude00é"] }'
    body = request(nodes=node_list(node("node-2"), odd))
    decoded = decode_request(body)

    answer = encode_result(result(decoded, "no/1"), decoded)

    assert items_of(answer) == [odd]


def test_accepted_names_are_answered_and_the_others_are_unresolvable() -> None:
    decoded = decode_request(request(node_names='["b","a","c"]'))

    answer = accept(decoded, "b", "c")

    assert answer == {
        "Nodes": None,
        "NodeNames": ["b", "c"],
        "FailedNodes": {},
        "FailedAndUnresolvableNodes": {"a": "no room"},
        "Error": "",
    }


def test_accepted_nodes_are_answered_and_the_others_are_unresolvable() -> None:
    decoded = decode_request(request(nodes=node_list(node("b"), node("a"), node("c"))))

    answer = accept(decoded, "b", "c")

    assert answer == {
        "Nodes": {"metadata": {}, "items": [json.loads(node("b")), json.loads(node("c"))]},
        "NodeNames": None,
        "FailedNodes": {},
        "FailedAndUnresolvableNodes": {"a": "no room"},
        "Error": "",
    }


@pytest.mark.parametrize(
    ("body", "nodes", "names"),
    [
        pytest.param(request(node_names='["a"]'), None, [], id="names"),
        pytest.param(
            request(nodes=node_list(node("a"))), {"metadata": {}, "items": []}, None, id="nodes"
        ),
        pytest.param(request(node_names="[]"), None, [], id="no-names"),
        pytest.param(
            request(nodes=node_list()), {"metadata": {}, "items": []}, None, id="no-nodes"
        ),
        pytest.param(
            request(nodes='{"metadata":{},"items":null}'),
            {"metadata": {}, "items": []},
            None,
            id="items-null",
        ),
        pytest.param(request(nodes="{}"), {"metadata": {}, "items": []}, None, id="items-missing"),
        pytest.param(request(), None, [], id="both-null"),
        pytest.param(f'{{"Pod":{POD}}}'.encode(), None, [], id="both-missing"),
    ],
)
def test_no_node_is_an_empty_list_in_the_form_of_the_request(
    body: bytes, nodes: object, names: object
) -> None:
    answer = accept(decode_request(body))

    assert (answer["Nodes"], answer["NodeNames"]) == (nodes, names)


@pytest.mark.parametrize(
    ("body", "nodes", "names"),
    [
        pytest.param(request(node_names='["a"]'), None, [], id="names"),
        pytest.param(
            request(nodes=node_list(node("a"))), {"metadata": {}, "items": []}, None, id="nodes"
        ),
    ],
)
def test_an_error_has_no_node_and_no_rejection(body: bytes, nodes: object, names: object) -> None:
    answer = json.loads(encode_error("claim is gone", decode_request(body)))

    assert answer == {
        "Nodes": nodes,
        "NodeNames": names,
        "FailedNodes": {},
        "FailedAndUnresolvableNodes": {},
        "Error": "claim is gone",
    }


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(f'{{"pod":{POD},"nodes":null,"nodenames":["a"]}}', id="lower"),
        pytest.param(f'{{"POD":{POD},"NODES":null,"NODENAMES":["a"]}}', id="upper"),
        pytest.param(f'{{"pod":{POD},"nodes":null,"nodeNames":["a"]}}', id="camel"),
        pytest.param(f'{{"Pod":{POD},"nodenames":["a"]}}', id="mixed"),
        pytest.param(f'{{"NodeNames":["a"],"Pod":{POD},"Nodes":null}}', id="other-order"),
        pytest.param(f'{{"x":[{{}}],"pod":{POD},"y":1e400,"nodenames":["a"]}}', id="unknown-keys"),
        pytest.param(f'\r\n\t {{ "Pod" : {POD} , "NodeNames" : [ "a" ] }} \n', id="white-space"),
    ],
)
def test_keys_are_read_in_any_letter_case_and_order(body: str) -> None:
    decoded = decode_request(body.encode())

    assert decoded == FilterRequest(
        pod=NAMED_POD, status=PodStatus(), candidates=[NodeName("a")], nodes=None
    )


def test_whole_nodes_are_read_and_echoed_under_lower_case_keys() -> None:
    item = node("a", ',"spec": {"unschedulable":true}')
    decoded = decode_request(f'{{"pod":{POD},"nodes":{{"items":[{item}]}}}}'.encode())

    answer = encode_result(result(decoded, "a"), decoded)

    assert items_of(answer) == [item]


def test_nodes_win_over_names_if_both_come() -> None:
    decoded = decode_request(request(nodes=node_list(node("a")), node_names='["b"]'))

    answer = accept(decoded, "a")

    assert (answer["Nodes"]["items"], answer["NodeNames"]) == ([json.loads(node("a"))], None)


def test_the_metadata_of_the_node_list_is_not_looked_at() -> None:
    metadata = '{"resourceVersion":"1","remainingItemCount":5,"continue":null}'
    body = request(nodes=f'{{"metadata":{metadata},"items":[{node("a")}]}}')

    assert decode_request(body).candidates == ["a"]


def test_null_metadata_of_the_node_list_is_no_error() -> None:
    body = request(nodes=f'{{"metadata":null,"items":[{node("a")}]}}')

    assert decode_request(body).candidates == ["a"]


def test_the_first_of_two_nodes_of_one_name_is_echoed() -> None:
    first, second = node("a", ',"spec":{"x":1}'), node("a", ',"spec":{"x":2}')
    decoded = decode_request(request(nodes=node_list(first, second)))

    answer = encode_result(result(decoded, "a"), decoded)

    assert items_of(answer) == [first]


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(
            '{"metadata":{"name":"pod","generation":' + "9" * 100_000 + "}}", id="integer"
        ),
        pytest.param('{"metadata":{"name":"pod"},"status":{"x":1e999999999}}', id="exponent"),
        pytest.param('{"metadata":{"name":"pod"},"spec":null,"status":null}', id="nulls"),
        pytest.param('{"metadata":{"name":"pod","namespace":null,"uid":null}}', id="no-uid"),
        pytest.param('{"metadata":{"name":"pod"},"spec":{"volumes":null}}', id="no-volumes"),
        pytest.param('{"metadata":{"name":"pod"},"spec":{"volumes":[{}]}}', id="empty-volume"),
    ],
)
def test_what_decides_nothing_may_be_anything(pod: str) -> None:
    decoded = decode_request(request(pod=pod, node_names="[]"))

    assert decoded.pod == NAMED_POD


def test_a_hundred_thousand_names_are_read_and_answered() -> None:
    names = [f"node-{number}" for number in range(100_000)]
    decoded = decode_request(request(node_names=json.dumps(names)))

    answer = accept(decoded, *names)

    assert answer["NodeNames"] == names


BAD: dict[str, tuple[bytes, str]] = {
    "empty": (b"", ""),
    "white-space": (b" \n", ""),
    "not-json": (b"Pod: x", "byte 0"),
    "null": (b"null", "object"),
    "list": (b"[]", "object"),
    "text": (b'"pod"', "object"),
    "cut-off": (request()[:-1], "truncated"),
    "byte-order-mark": (b"\xef\xbb\xbf" + request(), "byte 0"),
    "utf-16": (request().decode().encode("utf-16"), "byte 0"),
    "trailing-text": (request() + b" x", "trailing characters (byte"),
    "second-value": (request() + b"{}", "trailing characters (byte"),
    "not-a-number": (request(node_names="[NaN]"), "byte"),
    "pod-missing": (b'{"Nodes":null,"NodeNames":["a"]}', "Pod"),
    "pod-null": (request(pod="null"), "Pod"),
    "pod-list": (request(pod="[]"), "$.Pod"),
    "pod-number": (request(pod="9" * 5_000), "$.Pod"),
    "pod-empty": (request(pod="{}"), "$.Pod"),
    "pod-metadata-null": (request(pod='{"metadata":null}'), "$.Pod.metadata"),
    "pod-name-missing": (request(pod='{"metadata":{}}'), "$.Pod.metadata"),
    "pod-name-null": (request(pod='{"metadata":{"name":null}}'), "$.Pod.metadata.name"),
    "pod-name-empty": (request(pod='{"metadata":{"name":""}}'), "$.Pod.metadata.name"),
    "pod-name-number": (request(pod='{"metadata":{"name":5}}'), "$.Pod.metadata.name"),
    "pod-uid-number": (request(pod='{"metadata":{"name":"p","uid":5}}'), "$.Pod.metadata.uid"),
    "volumes-object": (
        request(pod='{"metadata":{"name":"p"},"spec":{"volumes":{}}}'),
        "$.Pod.spec.volumes",
    ),
    "claim-name-number": (
        request(
            pod='{"metadata":{"name":"p"},"spec":{"volumes":'
            '[{"name":"v"},{"name":"w","persistentVolumeClaim":{"claimName":7}}]}}'
        ),
        "$.Pod.spec.volumes[1].persistentVolumeClaim.claimName",
    ),
    "names-object": (request(node_names="{}"), "$.NodeNames"),
    "names-text": (request(node_names='"a,b"'), "$.NodeNames"),
    "name-number": (request(node_names='["a",5]'), "$.NodeNames[1]"),
    "name-huge-number": (request(node_names=f"[{'9' * 100_000}]"), "$.NodeNames[0]"),
    "name-null": (request(node_names='["a",null]'), "$.NodeNames[1]"),
    "name-lone-surrogate": (request(node_names='["\\ud800x"]'), ""),
    "nodes-list": (request(nodes="[]"), "$.Nodes"),
    "items-object": (request(nodes='{"items":{}}'), "$.Nodes.items"),
    "node-broken-inside": (request(nodes=node_list(node("a", ',"x":01.'))), "byte"),
    "ignored-broken": (request(extra='"X":[1,},'), "(byte "),
    "pod-invalid-utf-8": (
        request(pod='{"metadata":{"name":"@"}}').replace(b"@", b"\xff"),
        "utf-8",
    ),
    "name-invalid-utf-8": (request(node_names='["@"]').replace(b"@", b"\xff"), "utf-8"),
    "deep-everywhere": (b"[" * 10_000_000, ""),
    "deep-pod": (
        request(pod='{"metadata":{"name":"p","x":' + '{"a":' * DEPTH + "1" + "}" * DEPTH + "}}"),
        "recursion",
    ),
    "deep-ignored": (request(extra=f'"X":{"[" * DEPTH}{"]" * DEPTH},'), "recursion"),
    "deep-node": (
        request(nodes=node_list(node("a", f',"spec":{"[" * DEPTH}{"]" * DEPTH}'))),
        "recursion",
    ),
    "deep-lower-case": (
        f'{{"x":{"[" * DEPTH}{"]" * DEPTH},"pod":{POD},"nodenames":[]}}'.encode(),
        "recursion",
    ),
}


@pytest.mark.parametrize(("body", "where"), BAD.values(), ids=BAD.keys())
def test_a_bad_request_is_refused_with_the_place_of_the_error(body: bytes, where: str) -> None:
    with pytest.raises(BadRequestError) as caught:
        decode_request(body)

    assert where in str(caught.value)


@pytest.mark.parametrize(
    "items",
    [
        pytest.param([node("a"), "null"], id="null"),
        pytest.param([node("a"), "5"], id="number"),
        pytest.param([node("a"), "{}"], id="no-metadata"),
        pytest.param([node("a"), '{"metadata":{}}'], id="no-name"),
        pytest.param([node("a"), '{"metadata":{"name":7}}'], id="name-number"),
        pytest.param([node("a"), '{"metadata":{"name":""}}'], id="name-empty"),
    ],
)
def test_the_text_about_a_bad_node_says_which_one(items: list[str]) -> None:
    with pytest.raises(BadRequestError) as caught:
        decode_request(request(nodes=node_list(*items)))

    assert "Nodes.items[1]" in str(caught.value)


@pytest.mark.parametrize(
    ("body", "where"),
    [
        pytest.param('{"pod":[],"nodes":null,"nodenames":[]}', "pod", id="pod"),
        pytest.param(f'{{"pod":{POD},"nodes":[],"nodenames":[]}}', "nodes", id="nodes"),
        pytest.param(f'{{"pod":{POD},"nodes":null,"nodenames":["a",5]}}', "nodenames", id="names"),
    ],
)
def test_the_text_about_a_lower_case_request_says_under_which_key(body: str, where: str) -> None:
    with pytest.raises(BadRequestError) as caught:
        decode_request(body.encode())

    assert where in str(caught.value).lower()


@pytest.mark.parametrize(("body", "where"), BAD.values(), ids=BAD.keys())
def test_a_text_about_a_bad_request_is_one_line_of_bounded_length(body: bytes, where: str) -> None:
    del where
    with pytest.raises(BadRequestError) as caught:
        decode_request(body)

    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500
