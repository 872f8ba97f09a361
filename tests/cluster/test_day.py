"""A user's day on real nodes, by the README: from the first command to what the last one leaves.

And `trial`, as somebody runs it who has the service, or has not decided yet.
"""

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE, Process
from datetime import datetime

import pytest

from app.config import NAME, RESOURCE
from tests.cluster.installed import (
    EXPECTED,
    end_burst,
    expect_pods_with_room,
    holder,
    leader,
    no_volumes_are_left,
    upgrade,
)
from tests.cluster.running import Object, RunningCluster
from tests.docs.consoles import Chapter, commands_of
from tests.docs.pages import ROOT
from tests.e2e.waiting import until
from tests.fakes.installed import NAMESPACE

pytestmark = pytest.mark.nodes

INSTALL = Chapter(ROOT / "README.md", "install")
NOT_HERE = ("make image", "docker push")
"""The nodes have the image already."""
SOON_SECONDS = 90.0
REPLACED_SECONDS = 30.0
TRIAL = ("--settle", "10", "--leave", "0.5", "--image", "registry.k8s.io/pause:3.10", "--yes")
CLUSTER_WIDE = (
    "clusterroles,clusterrolebindings,mutatingadmissionpolicies,mutatingadmissionpolicybindings,"
    "mutatingwebhookconfigurations,validatingadmissionpolicies,validatingadmissionpolicybindings,"
    "storageclasses,persistentvolumes"
)


async def ours(cluster: RunningCluster, *words: str) -> tuple[int, str, str]:
    """Run a command of ours as the administrator does; return its status and what it prints.

    A trial takes longer than other commands may.
    """
    process = await begin(cluster, *words)
    stdout, stderr = await process.communicate()
    return process.returncode or 0, stdout.decode(), stderr.decode()


async def begin(cluster: RunningCluster, *words: str) -> Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "cli", *words),
        cwd=ROOT,
        env={**os.environ, "KUBECONFIG": cluster.administrator.kubeconfig},
        stdout=PIPE,
        stderr=PIPE,
    )


async def pod(cluster: RunningCluster, name: str) -> Object:
    return await cluster.get("pod", name)


async def until_runs(cluster: RunningCluster, name: str) -> Object:
    """Wait until a pod runs that is not being deleted."""

    async def runs() -> bool:
        found = await pod(cluster, name)
        is_going = found["metadata"].get("deletionTimestamp")
        return not is_going and found["status"].get("phase") == "Running"

    await until(runs, within=SOON_SECONDS, what=name)
    return await pod(cluster, name)


async def named(cluster: RunningCluster) -> list[str]:
    """Name all objects of the cluster that have our name, but for the events of its end."""
    run = cluster.administrator.run
    inside = "all,configmaps,secrets,leases,endpointslices,roles,rolebindings,serviceaccounts"
    listed = [
        await run("kubectl", "get", CLUSTER_WIDE, "-o", "name"),
        await run("kubectl", "get", inside, "--all-namespaces", "-o", "name"),
    ]
    return [each for text in listed for each in text.split() if NAME in each]


async def test_first_day_from_install_to_uninstall(cluster):
    run = cluster.administrator.run
    before = await named(cluster)
    for command in commands_of(INSTALL):
        if not command.text.startswith(NOT_HERE):
            await run("bash", "-euc", command.text.replace("REPOSITORY", "registry.example"))

    await run("kubectl", "apply", "--filename", "examples/burst.yaml")
    await expect_pods_with_room(cluster)

    # One pod more than there is room for: the event says why, and `filter` with which figures.
    await run("kubectl", "scale", "statefulset/burst", "--replicas=17")
    events = await refusals(cluster, "burst-16")
    assert "no disk of the Longhorn node has room for a volume of 10 GiB" in events[-1]
    status, printed, _ = await ours(cluster, "filter", "burst-16")
    assert status == 1
    assert "->" in printed
    status, printed, _ = await ours(cluster, "status")
    assert "burst-16" in printed
    await run("kubectl", "scale", "statefulset/burst", "--replicas=16")

    # The leader is killed. Another one leads, and a pod that is made again returns to its data.
    first = await holder(cluster)
    cluster.signal(await leader(cluster), "SIGKILL")
    await until(lambda: replaced(cluster, first), within=REPLACED_SECONDS)
    home = (await pod(cluster, "burst-3"))["spec"]["nodeName"]
    await run("kubectl", "delete", "pod", "burst-3", "--wait")
    again = await until_runs(cluster, "burst-3")
    assert again["spec"]["nodeName"] == home
    assert again["spec"]["schedulerName"] == "longhorn-scheduler"

    await upgrade(cluster, "logLevel=debug")
    await run("kubectl", "delete", "pod", "burst-5", "--wait")
    await until_runs(cluster, "burst-5")

    # The end: what was injected runs on, and is made again without it.
    await run("helm", "uninstall", NAME, "--namespace", NAMESPACE, "--wait")
    assert await named(cluster) == before
    await run("kubectl", "delete", "namespace", NAMESPACE)
    await run("kubectl", "delete", "pod", "burst-7", "--wait")
    last = await until_runs(cluster, "burst-7")
    assert last["spec"]["schedulerName"] == "default-scheduler"
    assert RESOURCE not in str(last["spec"]["containers"])
    assert {(await pod(cluster, f"burst-{n}"))["status"]["phase"] for n in range(16)} == {"Running"}
    await end_burst(cluster)


async def refusals(cluster: RunningCluster, name: str) -> list[str]:
    """Wait until Kubernetes says of a pod why it has no node; return the texts."""
    found: list[str] = []

    async def are_there() -> bool:
        events = await cluster.get(
            "events", "--field-selector", f"reason=FailedScheduling,involvedObject.name={name}"
        )
        found[:] = [each["message"] for each in events["items"]]
        return bool(found)

    await until(are_there, within=SOON_SECONDS, what=name)
    return found


async def replaced(cluster: RunningCluster, first: str) -> bool:
    now = await holder(cluster)
    return bool(now) and now != first


async def test_trial_says_what_the_cluster_lacks(cluster):
    """Before anything of ours is installed: the way is left out, and the other one is tried."""
    status, printed, said = await ours(cluster, "trial", "--case", "1b", *TRIAL, "-o", "json")
    report = json.loads(printed)

    assert status == 1, said
    assert [*report["unasked"]] == ["ours"]
    assert {each["way"] for each in report["cases"]} == {"none"}
    assert await nothing_is_left(cluster) == []


async def test_trial_shows_that_the_extender_helps(cluster, tmp_path):
    run = cluster.administrator.run
    for command in commands_of(INSTALL):
        if not command.text.startswith(NOT_HERE):
            await run("bash", "-euc", command.text.replace("REPOSITORY", "registry.example"))
    page = tmp_path / "trial.html"
    began = datetime.now().astimezone()
    status, printed, said = await ours(cluster, "trial", *TRIAL, "-o", "json", "--html", str(page))
    seconds = (datetime.now().astimezone() - began).total_seconds()
    report = json.loads(printed)
    sys.stderr.write(f"{seconds:.0f} s\n{json.dumps(report['cases'], indent=1)}\n")

    assert status == 0, said
    right = {each["case"]: each["runs"][0] for each in report["cases"] if each["way"] == "ours"}
    assert [*right] == ["1b", "2", "3a", "3b", "burst 1"]
    assert [*right["1b"]["by_node"].values()] == [*EXPECTED.values()]
    for each in right.values():
        assert (each["running"], each["without_room"], each["moved"]) == (each["pods"], 0, 0)
        assert each["calls"]
    wrong = {each["case"]: each["runs"][0] for each in report["cases"] if each["way"] == "none"}
    assert wrong["1b"]["without_room"]
    assert "<svg" in page.read_text()
    assert await nothing_is_left(cluster) == []


async def test_trial_that_is_killed_is_cleared_away(cluster):
    """As the machine of whoever ran it was switched off."""
    process = await begin(cluster, "trial", "--case", "1b", *TRIAL)
    await asyncio.sleep(15)
    assert process.returncode is None
    process.kill()
    await process.communicate()
    status, printed, said = await ours(cluster, "trial", "clean")

    assert (status, printed) == (0, "all of it is removed\n"), said
    assert await nothing_is_left(cluster) == []


async def nothing_is_left(cluster: RunningCluster) -> list[str]:
    """Name what is left of trials."""
    await no_volumes_are_left(cluster)
    listed = await cluster.administrator.run(
        "kubectl", "get", "namespaces,storageclasses,persistentvolumes", "-o", "name"
    )
    return [each for each in listed.split() if "trial" in each or "pvc-" in each]
