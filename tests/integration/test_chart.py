"""What the chart's `helm test` runs, and the certificates it makes, with the real service."""

import subprocess
import sys
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.integration.server import Server, serving
from tests.unit.manifests.charted import INSECURE, NAME, charted, find, hooks

pytestmark = pytest.mark.tools

HERE = "--set=service.clusterIP.ipv4=127.0.0.1"
FILES = ("ca.crt", "tls.crt", "tls.key")


@pytest.fixture(scope="module")
def plain() -> Iterator[Server]:
    with serving("goal2") as server:
        yield server


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The Secrets of the chart as folders, like in the pods that mount them."""
    objects = charted("tls-self-signed", HERE)
    made = {}
    for name in ("tls", "client"):
        made[name] = tmp_path_factory.mktemp(name)
        for file, content in find(objects, "Secret", f"{NAME}-{name}")["data"].items():
            (made[name] / file).write_bytes(b64decode(content))
    return made


@pytest.fixture(scope="module")
def over_https(folders: dict[str, Path]) -> Iterator[Server]:
    """The service with the variables that the chart sets."""
    mounted = folders["tls"]
    with serving(
        "goal2",
        EXTENDER_METRICS_PORT="0",
        EXTENDER_TLS_CERT_FILE=str(mounted / "tls.crt"),
        EXTENDER_TLS_PRIVATE_KEY_FILE=str(mounted / "tls.key"),
        EXTENDER_CLIENT_CA_FILE=str(mounted / "ca.crt"),
        EXTENDER_CLIENT_NAMES="kube-scheduler",
    ) as server:
        yield server


def probe(*arguments: str) -> tuple[int, str]:
    """Run the script of the test pod; return its status and what it says."""
    pod = find(hooks(""), "Pod", f"{NAME}-test")
    [container] = pod["spec"]["containers"]
    script, *_ = container["args"]
    assert container["command"] == ["python", "-c"]
    done = subprocess.run(
        [sys.executable, "-I", "-c", script, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stderr + done.stdout


def test_the_service_passes(plain):
    assert probe(f"http://127.0.0.1:{plain.port}") == (0, "")


def test_with_the_client_s_certificate_it_passes_over_https(over_https, folders):
    files = [str(folders["client"] / file) for file in FILES]

    assert probe(f"https://127.0.0.1:{over_https.port}", *files) == (0, "")


def test_without_a_certificate_it_does_not(over_https, folders):
    status, said = probe(f"https://127.0.0.1:{over_https.port}", str(folders["client"] / "ca.crt"))

    assert status == 1
    assert said.startswith("https://127.0.0.1:")


def test_an_address_at_which_nobody_answers_does_not_pass():
    status, said = probe("http://127.0.0.1:1")

    assert status == 1
    assert said == "http://127.0.0.1:1/filter: <urlopen error [Errno 111] Connection refused>\n"


def test_an_answer_with_an_error_does_not_pass(plain):
    status, said = probe(f"http://127.0.0.1:{plain.port}/prioritize?")

    assert status == 1
    assert "/prioritize?/filter" in said


@pytest.mark.parametrize(
    ("option", "files"),
    [(INSECURE, ()), ("--set=tls.mode=secret", FILES), ("--set=tls.mode=certManager", FILES)],
)
def test_the_pod_of_the_test_has_the_files_that_it_names(option, files):
    pod = find(hooks("", option), "Pod", f"{NAME}-test")
    [container] = pod["spec"]["containers"]
    _, url, *given = container["args"]
    mounts = [mount["mountPath"] for mount in container.get("volumeMounts", [])]

    assert url.startswith(f"http{'s' if files else ''}://{NAME}.longhorn-scheduler.svc:")
    assert given == [f"{folder}/{file}" for folder in mounts for file in files]
    assert bool(files) == bool(pod["spec"].get("volumes"))


def test_the_pod_of_the_test_is_not_taken_for_an_instance():
    pod = find(hooks(""), "Pod", f"{NAME}-test")

    assert "app" not in pod["metadata"]["labels"]
    assert yaml.safe_dump(pod).count("serviceAccountName") == 0
