"""The extender protocol: what kube-scheduler sends is understood, and answered in its own form."""

import json
from pathlib import Path
from typing import Any

import pytest

from app.errors import BadRequestError
from app.serving import wire
from app.serving.names import NodeNames
from app.serving.wire import ExtenderRequest, encode_scores
from extender import Answer, Basis, PodRef, Rejection, Scores
from extender.demand.requests import PodRequest
from extender.kubernetes import ClaimKey, PodStatus
from extender.scoring import Score
from longhorn import NodeName
from tests.builders import view_of

WIRE = Path(__file__).parents[3] / "data" / "wire"
RECORDED = sorted(path.name for path in WIRE.glob("filter-*.json"))
DEPTH = 100_000
POD = '{"metadata":{"name":"pod"}}'
NAMED_POD = PodRef(namespace="default", name="pod", uid="", claims=())


class Full(Rejection, frozen=True):
    reason = "full"

    def __str__(self) -> str:
        return "no room"


def decode_request(body: bytes) -> ExtenderRequest:
    return wire.decode_request(body, NodeNames(lambda: [NodeName("a")]))


def encode_result(found: Answer, asked: ExtenderRequest) -> bytes:
    return b"".join(wire.encode_result(found, asked))


def encode_error(text: str, asked: ExtenderRequest) -> bytes:
    return b"".join(wire.encode_error(text, asked))


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


def result(request: ExtenderRequest, *accepted: str) -> Answer:
    return Answer(
        request=PodRequest(pod=request.pod, volumes=()),
        view=view_of(),
        basis=Basis.PLACEMENT,
        candidates=request.candidates,
        accepted=[NodeName(name) for name in accepted],
        rejected=dict.fromkeys(sorted({*request.candidates} - {*accepted}), Full()),
    )


@pytest.mark.parametrize(
    ("name", "key", "uid", "claims"),
    [
        (
            "filter-names-1.26.json",
            "default/web-0",
            "7b7a2f9e-0f5b-4c8f-9b0c-1f1b6a1d0001",
            ("data-web-0", "logs-web-0", "web-0-cache"),
        ),
        (
            "filter-nodes-1.36.json",
            "shop/db-full-1",
            "096587d9-d2cd-4e24-96cd-49179cd7daab",
            ("data-db-full-1", "wal-db-full-1", "db-full-1-scratch"),
        ),
    ],
)
def test_a_recorded_pod_is_read_with_its_claims_in_order(name, key, uid, claims):
    namespace, _, pod = key.partition("/")

    assert decode_request(recorded(name)).pod == PodRef(
        namespace=namespace,
        name=pod,
        uid=uid,
        claims=tuple(ClaimKey(f"{namespace}/{claim}") for claim in claims),
    )


@pytest.mark.parametrize("name", RECORDED)
def test_a_recorded_request_is_answered_in_its_own_form_and_order(name):
    sent, decoded = json.loads(recorded(name)), decode_request(recorded(name))

    answer = encode_result(result(decoded, *decoded.candidates), decoded)

    assert json.loads(answer) == {
        "Nodes": sent["Nodes"],
        "NodeNames": sent["NodeNames"],
        "FailedNodes": {},
        "FailedAndUnresolvableNodes": {},
        "Error": "",
    }
    assert sent["Nodes"] is None or items_of(answer) == items_of(recorded(name))


def test_nodes_go_back_with_their_white_space_escapes_and_number_forms():
    odd = '{ "metadata" : {"name":"n\\u006f-1"},\n"x":[1.0,1e3,-0,"\\/\\u00e9\\ud83d\\ude00é"] }'
    body = request(nodes=node_list(node("node-2"), odd))
    decoded = decode_request(body)

    answer = encode_result(result(decoded, "no-1"), decoded)

    assert items_of(answer) == [odd]


@pytest.mark.parametrize(
    ("body", "nodes", "names"),
    [
        pytest.param(request(node_names='["b","a","c"]'), None, ["b", "c"], id="names"),
        pytest.param(
            request(nodes=node_list(node("b"), node("a"), node("c"))),
            {"metadata": {}, "items": [json.loads(node("b")), json.loads(node("c"))]},
            None,
            id="nodes",
        ),
        pytest.param(
            request(nodes=node_list(node("b"), node("a")), node_names='["c"]'),
            {"metadata": {}, "items": [json.loads(node("b"))]},
            None,
            id="both-so-that-nodes-count",
        ),
    ],
)
def test_accepted_nodes_are_answered_and_the_others_are_unresolvable(body, nodes, names):
    decoded = decode_request(body)

    accepted = [name for name in decoded.candidates if name != "a"]
    answer = encode_result(result(decoded, *accepted), decoded)

    assert json.loads(answer) == {
        "Nodes": nodes,
        "NodeNames": names,
        "FailedNodes": {},
        "FailedAndUnresolvableNodes": {"a": "no room"},
        "Error": "",
    }


NO_NODES: dict[str, Any] = {"metadata": {}, "items": []}


@pytest.mark.parametrize(
    ("body", "nodes", "names"),
    [
        pytest.param(request(node_names='["a"]'), None, [], id="names"),
        pytest.param(request(nodes=node_list(node("a"))), NO_NODES, None, id="nodes"),
        pytest.param(request(nodes='{"items":null}'), NO_NODES, None, id="items-null"),
        pytest.param(request(nodes="{}"), NO_NODES, None, id="items-missing"),
        pytest.param(request(), None, [], id="both-null"),
        pytest.param(f'{{"Pod":{POD}}}'.encode(), None, [], id="both-missing"),
    ],
)
def test_no_node_is_an_empty_list_in_the_form_of_the_request(body, nodes, names):
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
        pytest.param(f'{{"Pod":{POD},"nodenames":["a"]}}', id="mixed"),
        pytest.param(f'{{"NodeNames":["a"],"Pod":{POD},"Nodes":null}}', id="other-order"),
        pytest.param(f'{{"x":[{{}}],"pod":{POD},"y":1e400,"nodenames":["a"]}}', id="unknown-keys"),
        pytest.param(f'\r\n\t {{ "Pod" : {POD} , "NodeNames" : [ "a" ] }} \n', id="white-space"),
    ],
)
def test_keys_are_read_in_any_letter_case_and_order(body):
    decoded = decode_request(body.encode())

    assert decoded == ExtenderRequest(
        pod=NAMED_POD, status=PodStatus(), candidates=[NodeName("a")], nodes=None
    )


def test_whole_nodes_are_read_and_echoed_under_lower_case_keys():
    item = node("a", ',"spec": {"unschedulable":true}')
    decoded = decode_request(f'{{"pod":{POD},"nodes":{{"items":[{item}]}}}}'.encode())

    answer = encode_result(result(decoded, "a"), decoded)

    assert items_of(answer) == [item]


@pytest.mark.parametrize(
    "metadata", ["null", '{"resourceVersion":"1","remainingItemCount":5,"continue":null}']
)
def test_the_metadata_of_the_node_list_is_not_looked_at(metadata):
    body = request(nodes=f'{{"metadata":{metadata},"items":[{node("a")}]}}')

    assert decode_request(body).candidates == ["a"]


def test_the_first_of_two_nodes_of_one_name_is_echoed():
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
        pytest.param('{"metadata":{"name":"pod"},"spec":{"volumes":[{}]}}', id="empty-volume"),
    ],
)
def test_what_decides_nothing_may_be_anything(pod):
    decoded = decode_request(request(pod=pod, node_names="[]"))

    assert decoded.pod == NAMED_POD


@pytest.mark.parametrize(
    ("spec", "group"),
    [
        pytest.param('{"schedulingGroup":{"podGroupName":"gang"}}', "shop/gang", id="named"),
        pytest.param('{"schedulingGroup":{"podGroupName":"gang","x":[1]}}', "shop/gang", id="more"),
        pytest.param('{"schedulingGroup":{"podGroupName":""}}', None, id="empty"),
        pytest.param('{"schedulingGroup":{"podGroupName":null}}', None, id="name-null"),
        pytest.param('{"schedulingGroup":{}}', None, id="no-name"),
        pytest.param('{"schedulingGroup":null}', None, id="null"),
        pytest.param('{"workloadRef":{"name":"gang","podGroup":"a"}}', None, id="as-in-1.35"),
        pytest.param("{}", None, id="absent"),
        pytest.param("null", None, id="no-spec"),
    ],
)
def test_the_group_of_a_pod_is_that_of_its_namespace(spec, group):
    pod = f'{{"metadata":{{"name":"pod","namespace":"shop"}},"spec":{spec}}}'

    assert decode_request(request(pod=pod, node_names="[]")).group == group


def listed(*items: str) -> bytes:
    return request(nodes=node_list(node("a"), *items))


@pytest.mark.parametrize(
    ("body", "names"),
    [
        pytest.param(request(node_names='["b","a","c"]'), ["b", "a", "c"], id="names"),
        pytest.param(request(node_names='["b","a","b"]'), ["b", "a"], id="one-name-twice"),
        pytest.param(request(nodes=node_list(node("c"), node("a"))), ["c", "a"], id="nodes"),
        pytest.param(request(nodes=node_list(node("a"), node("a"))), ["a"], id="one-node-twice"),
        pytest.param(request(), [], id="both-null"),
        pytest.param(request(nodes='{"items":null}'), [], id="items-null"),
    ],
)
def test_scores_are_a_bare_list_of_names_in_the_order_asked(body, names):
    decoded = decode_request(body)
    by_node = {name: Score(total=number) for number, name in enumerate(decoded.candidates)}

    answer = encode_scores(
        Scores(
            request=PodRequest(pod=decoded.pod, volumes=()),
            nodes=[*by_node],
            scores=[*by_node.values()],
        )
    )

    assert json.loads(answer) == [
        {"Host": name, "Score": number} for number, name in enumerate(names)
    ]


BAD: dict[str, tuple[bytes, str]] = {
    "empty": (b"", ""),
    "not-json": (b"Pod: x", "byte 0"),
    "list": (b"[]", "object"),
    "byte-order-mark": (b"\xef\xbb\xbf" + request(), "byte 0"),
    "trailing-text": (request() + b" x", "trailing characters (byte"),
    "not-a-number": (request(node_names="[NaN]"), "byte"),
    "pod-missing": (b'{"Nodes":null,"NodeNames":["a"]}', "Pod"),
    "pod-null": (request(pod="null"), "Pod"),
    "pod-empty": (request(pod="{}"), "in `Pod`"),
    "pod-name-missing": (request(pod='{"metadata":{}}'), "`$.metadata` in `Pod`"),
    "pod-name-empty": (request(pod='{"metadata":{"name":""}}'), "`$.metadata.name` in `Pod`"),
    "pod-uid-number": (
        request(pod='{"metadata":{"name":"p","uid":5}}'),
        "`$.metadata.uid` in `Pod`",
    ),
    "volumes-object": (
        request(pod='{"metadata":{"name":"p"},"spec":{"volumes":{}}}'),
        "`$.spec.volumes` in `Pod`",
    ),
    "claim-name-number": (
        request(
            pod='{"metadata":{"name":"p"},"spec":{"volumes":'
            '[{"name":"v"},{"name":"w","persistentVolumeClaim":{"claimName":7}}]}}'
        ),
        "`$.spec.volumes[1].persistentVolumeClaim.claimName` in `Pod`",
    ),
    "names-text": (request(node_names='"a,b"'), "in `NodeNames`"),
    "name-number": (request(node_names='["a",5]'), "`$[1]` in `NodeNames`"),
    "name-lone-surrogate": (request(node_names='["\\ud800x"]'), ""),
    "nodes-list": (request(nodes="[]"), "$.Nodes"),
    "items-object": (request(nodes='{"items":{}}'), "$.Nodes.items"),
    "node-broken-inside": (request(nodes=node_list(node("a", ',"x":01.'))), "byte"),
    "ignored-broken": (request(extra='"X":[1,},'), "(byte "),
    "deep-everywhere": (b"[" * 10_000_000, ""),
    "deep-pod": (
        request(pod='{"metadata":{"name":"p","x":' + '{"a":' * DEPTH + "1" + "}" * DEPTH + "}}"),
        "recursion",
    ),
    "deep-ignored": (request(extra=f'"X":{"[" * DEPTH}{"]" * DEPTH},'), "recursion"),
    "group-text": (
        request(pod='{"metadata":{"name":"pod"},"spec":{"schedulingGroup":"gang"}}'),
        "`$.spec.schedulingGroup` in `Pod`",
    ),
    "group-number": (
        request(pod='{"metadata":{"name":"p"},"spec":{"schedulingGroup":{"podGroupName":1}}}'),
        "`$.spec.schedulingGroup.podGroupName` in `Pod`",
    ),
    "group-name": (
        request(pod='{"metadata":{"name":"p"},"spec":{"schedulingGroup":{"podGroupName":"a/b"}}}'),
        "`Pod.spec.schedulingGroup.podGroupName`",
    ),
    "node-null": (listed("null"), "Nodes.items[1]"),
    "node-without-metadata": (listed("{}"), "Nodes.items[1]"),
    "node-name-empty": (listed('{"metadata":{"name":""}}'), "Nodes.items[1]"),
    "lower-case-nodes": (f'{{"pod":{POD},"nodes":[]}}'.encode(), "$.nodes"),
    "lower-case-names": (f'{{"pod":{POD},"nodenames":["a",5]}}'.encode(), "`$[1]` in `NodeNames`"),
}


@pytest.mark.parametrize(("body", "where"), BAD.values(), ids=BAD.keys())
def test_a_bad_request_is_refused_in_one_line_with_the_place_of_the_error(body, where):
    with pytest.raises(BadRequestError) as caught:
        decode_request(body)

    assert where in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500
