"""One command on any cluster: injection by a policy, and by a webhook where none is served."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.config import NAME
from tests.cluster.conftest import started
from tests.cluster.installed import end_burst, expect_pods_with_room
from tests.cluster.running import RunningCluster
from tests.docs.consoles import Chapter, commands_of
from tests.docs.pages import DOCS
from tests.fakes.installed import NAMESPACE

pytestmark = pytest.mark.nodes

CHAPTER = Chapter(DOCS / "install.md", "the-command")
WITHOUT_POLICIES = (
    "--runtime-config=admissionregistration.k8s.io/v1/mutatingadmissionpolicies=false,"
    "admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings=false",
    "--disable-admission-plugins=MutatingAdmissionPolicy",
)
POLICY = ["mutatingadmissionpolicies", "mutatingadmissionpolicybindings"]
WEBHOOK = ["mutatingwebhookconfigurations"]


@pytest.fixture(scope="module", params=[(), WITHOUT_POLICIES], ids=["policy", "webhook"])
def cluster(folder: Path, request: pytest.FixtureRequest) -> Iterator[RunningCluster]:
    """A cluster that serves MutatingAdmissionPolicy, and one that does not."""
    with started(folder, flags=request.param) as cluster:
        yield cluster


async def test_one_command_leads_to_pods_that_run_where_they_have_room(cluster):
    run = cluster.administrator.run
    for command in commands_of(CHAPTER):
        await run("bash", "-euc", command.text.replace("REPOSITORY", "registry.example"))
    await run("kubectl", "apply", "--filename", "examples/burst.yaml")
    pods = await expect_pods_with_room(cluster)
    await end_burst(cluster)
    await run("helm", "test", NAME, "--namespace", NAMESPACE)
    report = await doctor(cluster)

    assert {pod["spec"]["schedulerName"] for pod in pods} == {"longhorn-scheduler"}
    assert report == set()


async def test_pods_that_nobody_sends_to_the_extender_are_found(cluster):
    administrator = cluster.administrator
    served = await administrator.run("kubectl", "api-resources", "--output", "name")
    kinds = POLICY if "mutatingadmissionpolicies." in served else WEBHOOK
    for kind in kinds:
        await administrator.run("kubectl", "delete", kind, f"{NAME}-injection.{NAMESPACE}")

    tested = await administrator.attempt("helm", "test", NAME, "--namespace", NAMESPACE, "--logs")

    assert tested.returncode != 0
    assert "does not get longhorn.io/scheduler-extender" in tested.stdout + tested.stderr
    assert await doctor(cluster) == {"not-injected"}


async def doctor(cluster: RunningCluster) -> set[str]:
    """Return the codes of what `doctor` finds in a pod of the service, with its rights."""
    done = await cluster.administrator.attempt(
        *("kubectl", "--namespace", NAMESPACE, "exec", f"deploy/{NAME}", "--"),
        *(NAME, "doctor", "--output", "json"),
    )
    found = json.loads(done.stdout)["findings"]
    assert [each for each in found if each["severity"] == "unknown"] == []
    return {each["code"] for each in found if each["severity"] in ("warning", "error")}
