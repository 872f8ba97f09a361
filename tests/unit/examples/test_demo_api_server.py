"""The API server of `make demo` keeps versions, and sends what is followed."""

from collections.abc import Iterator
from itertools import islice

import pytest

from examples.demo.api_server import ApiServer, Object

PODS = "/api/v1/namespaces/default/pods"
ALL_PODS = "/api/v1/pods"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with ApiServer() as server:
        yield server


def pod(name: str = "a", **status: str) -> Object:
    return {"metadata": {"name": name, "uid": f"uid-{name}"}, "status": status}


def version_of(obj: Object | None) -> str:
    assert obj is not None
    version: str = obj["metadata"]["resourceVersion"]
    return version


def test_each_change_has_the_next_version(server: ApiServer) -> None:
    first = server.put(f"{PODS}/a", pod())
    second = server.put(f"{CLAIMS}/b", pod("b"))
    third = server.put(f"{PODS}/a", pod(phase="Running"))

    assert [version_of(each) for each in (first, second, third)] == ["1", "2", "3"]
    assert (server.version(ALL_PODS), server.version(CLAIMS)) == (3, 2)
    assert server.version("/api/v1/nodes") == 0


def test_what_is_read_is_a_copy(server: ApiServer) -> None:
    server.put(f"{PODS}/a", pod(phase="Pending"))

    read = server.get(f"{PODS}/a")
    assert read is not None
    read["status"]["phase"] = "Running"

    assert server.select(PODS, "status.phase=Pending")[1] == [server.get(f"{PODS}/a")]


@pytest.mark.parametrize(
    ("path", "fields", "expected"),
    [
        pytest.param(PODS, "", ["a", "b"], id="of-a-namespace"),
        pytest.param(ALL_PODS, "", ["a", "b", "c"], id="of-all-namespaces"),
        pytest.param(PODS, "metadata.name=b", ["b"], id="by-name"),
        pytest.param(ALL_PODS, "status.phase=Pending", ["a", "c"], id="by-phase"),
        pytest.param("/api/v1/nodes", "", [], id="of-another-kind"),
    ],
)
def test_a_list_has_what_is_asked_for(
    server: ApiServer, path: str, fields: str, expected: list[str]
) -> None:
    server.put(f"{PODS}/a", pod("a", phase="Pending"))
    server.put(f"{PODS}/b", pod("b", phase="Running"))
    server.put("/api/v1/namespaces/other/pods/c", pod("c", phase="Pending"))

    version, found = server.select(path, fields)

    assert (version, [each["metadata"]["name"] for each in found]) == ("3", expected)


def test_a_write_over_another_version_is_refused(server: ApiServer) -> None:
    created = server.write(f"{PODS}/a", pod())
    assert created is not None
    changed = server.write(f"{PODS}/a", {**created, "status": {"phase": "Running"}})

    assert version_of(changed) == "2"
    assert server.write(f"{PODS}/a", created) is None
    assert server.write(f"{PODS}/a", pod()) is None
    assert server.get(f"{PODS}/a") == changed


def test_a_patch_leaves_what_it_does_not_name(server: ApiServer) -> None:
    server.put(f"{PODS}/a", pod(phase="Pending"))

    patched = server.patch(f"{PODS}/a", {"metadata": {"annotations": {"woken": "now"}}})

    assert patched == {
        "metadata": {
            "name": "a",
            "uid": "uid-a",
            "resourceVersion": "2",
            "annotations": {"woken": "now"},
        },
        "status": {"phase": "Pending"},
    }
    assert server.patch(f"{PODS}/b", {}) is None


def test_changes_after_a_version_are_followed(server: ApiServer) -> None:
    server.put(f"{PODS}/a", pod())
    server.put(f"{CLAIMS}/b", pod("b"))
    server.put(f"{PODS}/a", pod(phase="Running"))
    server.put(f"{PODS}/c", pod("c"))
    server.delete(f"{PODS}/a")

    events = list(islice(server.follow(ALL_PODS, "metadata.name=a", after=1), 2))

    assert [(each.type, version_of(each.object)) for each in events] == [
        ("MODIFIED", "3"),
        ("DELETED", "5"),
    ]
