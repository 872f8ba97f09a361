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
NO_NODES: dict[str, Any] = {"metadata": {}, "items": []}


class Full(Rejection, frozen=True):
    reason = "full"

    def __str__(self) -> str:
        return "no room"


def decode_request(body: bytes) -> ExtenderRequest:
    return wire.decode_request(body, NodeNames(lambda: [NodeName("a")]))


def recorded(name: str) -> bytes:
    return (WIRE / name).read_bytes()


def request(
    *, pod: str = POD, nodes: str = "null", node_names: str = "null", extra: str = ""
) -> bytes:
    """Write a request as kube-scheduler does, all three keys always there."""
    return f'{{{extra}"Pod":{pod},"Nodes":{nodes},"NodeNames":{node_names}}}'.encode()


def named(name: str, more: str = "") -> bytes:
    """Write a request for a pod of this name, with no candidates."""
    return request(pod=f'{{"metadata":{{"name":"{name}"}}{more}}}', node_names="[]")


def of_group(group: str) -> bytes:
    return named("pod", f',"spec":{{"schedulingGroup":{group}}}')


def listed(*items: str) -> bytes:
    return request(nodes=node_list(*items))


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


def answered(asked: ExtenderRequest, *accepted: str) -> bytes:
    """Answer that these candidates are accepted and the others are full."""
    found = Answer(
        request=PodRequest(pod=asked.pod, volumes=()),
        view=view_of(),
        basis=Basis.PLACEMENT,
        candidates=asked.candidates,
        accepted=[NodeName(name) for name in accepted],
        rejected=dict.fromkeys(sorted({*asked.candidates} - {*accepted}), Full()),
    )
    return b"".join(wire.encode_result(found, asked))


def form(
    nodes: object, names: list[str] | None, rejected: object = None, error: str = ""
) -> dict[str, Any]:
    """Return an answer to kube-scheduler, with all its keys."""
    return {
        "Nodes": nodes,
        "NodeNames": names,
        "FailedNodes": {},
        "FailedAndUnresolvableNodes": rejected or {},
        "Error": error,
    }


PODS = {
    "filter-names-1.26.json": (
        "default/web-0 7b7a2f9e-0f5b-4c8f-9b0c-1f1b6a1d0001 data-web-0 logs-web-0 web-0-cache"
    ),
    "filter-nodes-1.36.json": (
        "shop/db-full-1 096587d9-d2cd-4e24-96cd-49179cd7daab "
        "data-db-full-1 wal-db-full-1 db-full-1-scratch"
    ),
}


@pytest.mark.parametrize(("name", "words"), PODS.items())
def test_recorded_pod_is_read_with_its_claims_in_order(name, words):
    key, uid, *claims = words.split()
    namespace, _, pod = key.partition("/")

    assert decode_request(recorded(name)).pod == PodRef(
        namespace=namespace,
        name=pod,
        uid=uid,
        claims=tuple(ClaimKey(f"{namespace}/{claim}") for claim in claims),
    )


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_request_is_answered_in_its_own_form_and_order(name):
    sent, decoded = json.loads(recorded(name)), decode_request(recorded(name))

    answer = answered(decoded, *decoded.candidates)

    assert json.loads(answer) == form(sent["Nodes"], sent["NodeNames"])
    assert sent["Nodes"] is None or items_of(answer) == items_of(recorded(name))


ODD = '{ "metadata" : {"name":"n\\u006f-1"},\n"x":[1.0,1e3,-0,"\\/\\u00e9\\ud83d\\ude00é"] }'
FIRST = node("a", ',"spec":{"x":1}')
ECHOED = {
    "white-space-escapes-and-number-forms": (listed(node("node-2"), ODD), "no-1", ODD),
    "first-of-two-nodes-of-one-name": (listed(FIRST, node("a", ',"spec":{"x":2}')), "a", FIRST),
    "lower-case-keys": (f'{{"pod":{POD},"nodes":{{"items":[{FIRST}]}}}}'.encode(), "a", FIRST),
}


@pytest.mark.parametrize(("body", "accepted", "item"), ECHOED.values(), ids=ECHOED)
def test_whole_node_goes_back_as_it_came(body, accepted, item):
    assert items_of(answered(decode_request(body), accepted)) == [item]


B_AND_C = {"metadata": {}, "items": [json.loads(node("b")), json.loads(node("c"))]}
BOTH = request(nodes=node_list(node("b"), node("a"), node("c")), node_names='["d"]')
FORMS: dict[str, tuple[bytes, object, list[str] | None]] = {
    "names": (request(node_names='["b","a","c"]'), None, ["b", "c"]),
    "nodes": (listed(node("b"), node("a"), node("c")), B_AND_C, None),
    "both-so-that-nodes-count": (BOTH, B_AND_C, None),
}


@pytest.mark.parametrize(("body", "nodes", "names"), FORMS.values(), ids=FORMS)
def test_accepted_nodes_are_answered_and_the_others_are_unresolvable(body, nodes, names):
    answer = answered(decode_request(body), "b", "c")

    assert json.loads(answer) == form(nodes, names, {"a": "no room"})


EMPTY: dict[str, tuple[bytes, object, list[str] | None]] = {
    "names": (request(node_names='["a"]'), None, []),
    "nodes": (listed(node("a")), NO_NODES, None),
    "items-null": (request(nodes='{"items":null}'), NO_NODES, None),
    "items-missing": (request(nodes="{}"), NO_NODES, None),
    "both-null": (request(), None, []),
    "both-missing": (f'{{"Pod":{POD}}}'.encode(), None, []),
}


@pytest.mark.parametrize(("body", "nodes", "names"), EMPTY.values(), ids=EMPTY)
def test_error_has_an_empty_list_in_the_form_of_the_request(body, nodes, names):
    answer = b"".join(wire.encode_error("claim is gone", decode_request(body)))

    assert json.loads(answer) == form(nodes, names, error="claim is gone")


CASED = {
    "lower": f'{{"pod":{POD},"nodes":null,"nodenames":["a"]}}',
    "mixed": f'{{"Pod":{POD},"nodenames":["a"]}}',
    "other-order": f'{{"NodeNames":["a"],"Pod":{POD},"Nodes":null}}',
    "unknown-keys": f'{{"x":[{{}}],"pod":{POD},"y":1e400,"nodenames":["a"]}}',
    "white-space": f'\r\n\t {{ "Pod" : {POD} , "NodeNames" : [ "a" ] }} \n',
}


@pytest.mark.parametrize("body", CASED.values(), ids=CASED)
def test_keys_are_read_in_any_letter_case_and_order(body):
    assert decode_request(body.encode()) == ExtenderRequest(
        pod=NAMED_POD, status=PodStatus(), candidates=[NodeName("a")], nodes=None
    )


@pytest.mark.parametrize(
    "metadata", ["null", '{"resourceVersion":"1","remainingItemCount":5,"continue":null}']
)
def test_metadata_of_the_node_list_is_not_looked_at(metadata):
    body = request(nodes=f'{{"metadata":{metadata},"items":[{node("a")}]}}')

    assert decode_request(body).candidates == ["a"]


IGNORED = {
    "integer": '{"metadata":{"name":"pod","generation":' + "9" * 100_000 + "}}",
    "exponent": '{"metadata":{"name":"pod"},"status":{"x":1e999999999}}',
    "nulls": '{"metadata":{"name":"pod"},"spec":null,"status":null}',
    "no-uid": '{"metadata":{"name":"pod","namespace":null,"uid":null}}',
    "empty-volume": '{"metadata":{"name":"pod"},"spec":{"volumes":[{}]}}',
}


@pytest.mark.parametrize("pod", IGNORED.values(), ids=IGNORED)
def test_fields_that_decide_nothing_may_be_anything(pod):
    assert decode_request(request(pod=pod, node_names="[]")).pod == NAMED_POD


GROUPS = {
    "named": ('{"schedulingGroup":{"podGroupName":"gang"}}', "shop/gang"),
    "more": ('{"schedulingGroup":{"podGroupName":"gang","x":[1]}}', "shop/gang"),
    "empty": ('{"schedulingGroup":{"podGroupName":""}}', None),
    "name-null": ('{"schedulingGroup":{"podGroupName":null}}', None),
    "no-name": ('{"schedulingGroup":{}}', None),
    "null": ('{"schedulingGroup":null}', None),
    "as-in-1.35": ('{"workloadRef":{"name":"gang","podGroup":"a"}}', None),
    "absent": ("{}", None),
    "no-spec": ("null", None),
}


@pytest.mark.parametrize(("spec", "group"), GROUPS.values(), ids=GROUPS)
def test_group_of_a_pod_is_that_of_its_namespace(spec, group):
    pod = f'{{"metadata":{{"name":"pod","namespace":"shop"}},"spec":{spec}}}'

    assert decode_request(request(pod=pod, node_names="[]")).group == group


ASKED = {
    "names": (request(node_names='["b","a","c"]'), "b a c"),
    "one-name-twice": (request(node_names='["b","a","b"]'), "b a"),
    "nodes": (listed(node("c"), node("a")), "c a"),
    "one-node-twice": (listed(node("a"), node("a")), "a"),
    "both-null": (request(), ""),
    "items-null": (request(nodes='{"items":null}'), ""),
}


@pytest.mark.parametrize(("body", "names"), ASKED.values(), ids=ASKED)
def test_scores_are_a_bare_list_of_names_in_the_order_asked(body, names):
    decoded = decode_request(body)
    nodes = decoded.candidates
    told = [Score(total=number) for number in range(len(nodes))]
    request = PodRequest(pod=decoded.pod, volumes=())

    answer = encode_scores(Scores(request=request, nodes=nodes, scores=told))

    expected = [{"Host": name, "Score": number} for number, name in enumerate(names.split())]
    assert json.loads(answer) == expected


DEEP = '{"a":' * DEPTH + "1" + "}" * DEPTH
CLAIM_7 = ',"spec":{"volumes":[{"name":"v"},{"name":"w","persistentVolumeClaim":{"claimName":7}}]}'
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
    "pod-name-empty": (named(""), "`$.metadata.name` in `Pod`"),
    "pod-uid-number": (
        request(pod='{"metadata":{"name":"p","uid":5}}'), "`$.metadata.uid` in `Pod`"),
    "volumes-object": (named("p", ',"spec":{"volumes":{}}'), "`$.spec.volumes` in `Pod`"),
    "claim-name-number": (
        named("p", CLAIM_7), "`$.spec.volumes[1].persistentVolumeClaim.claimName` in `Pod`"),
    "names-text": (request(node_names='"a,b"'), "in `NodeNames`"),
    "name-number": (request(node_names='["a",5]'), "`$[1]` in `NodeNames`"),
    "name-lone-surrogate": (request(node_names='["\\ud800x"]'), ""),
    "nodes-list": (request(nodes="[]"), "$.Nodes"),
    "items-object": (request(nodes='{"items":{}}'), "$.Nodes.items"),
    "node-broken-inside": (listed(node("a", ',"x":01.')), "byte"),
    "ignored-broken": (request(extra='"X":[1,},'), "(byte "),
    "deep-everywhere": (b"[" * 10_000_000, ""),
    "deep-pod": (request(pod=f'{{"metadata":{{"name":"p","x":{DEEP}}}}}'), "recursion"),
    "deep-ignored": (request(extra=f'"X":{"[" * DEPTH}{"]" * DEPTH},'), "recursion"),
    "group-text": (of_group('"gang"'), "`$.spec.schedulingGroup` in `Pod`"),
    "group-number": (
        of_group('{"podGroupName":1}'), "`$.spec.schedulingGroup.podGroupName` in `Pod`"),
    "group-name": (
        of_group('{"podGroupName":"a/b"}'), "`Pod.spec.schedulingGroup.podGroupName`"),
    "node-null": (listed(node("a"), "null"), "Nodes.items[1]"),
    "node-without-metadata": (listed(node("a"), "{}"), "Nodes.items[1]"),
    "node-name-empty": (listed(node("a"), node("")), "Nodes.items[1]"),
    "lower-case-nodes": (f'{{"pod":{POD},"nodes":[]}}'.encode(), "$.nodes"),
    "lower-case-names": (f'{{"pod":{POD},"nodenames":["a",5]}}'.encode(), "`$[1]` in `NodeNames`"),
}  # fmt: skip


@pytest.mark.parametrize(("body", "where"), BAD.values(), ids=BAD)
def test_bad_request_is_refused_in_one_line_with_the_place_of_the_error(body, where):
    with pytest.raises(BadRequestError) as caught:
        decode_request(body)

    assert where in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500
