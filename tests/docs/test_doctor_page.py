"""The page about `doctor` names every check and problem, and shows a part of a run."""

import asyncio
import re
from collections.abc import Callable

from cli.catalogue import PROBLEMS, Severity
from cli.doctor.findings import findings
from cli.doctor.problems import Check
from cli.doctor.report import make_report, table_lines
from tests.docs.consoles import agrees
from tests.docs.pages import DOCS, blocks, code_in, tables
from tests.fakes import Call, FaultKind
from tests.fakes.installed import NAMESPACE
from tests.integration.instances import VIRTUAL_TIME
from tests.integration.test_doctor import OWN_REVIEWS, Cluster, answer

PAGE = DOCS / "doctor.md"
WIDTH = 98
STORAGE_CLASS = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "longhorn"},
    "provisioner": "driver.longhorn.io",
    "parameters": {"numberOfReplicas": "3"},
    "volumeBindingMode": "Immediate",
}
"""As Longhorn's chart makes it by default."""


def test_every_check_has_a_row_with_its_problems():
    [rows] = tables(PAGE, "problems")

    assert {code_in(check)[0]: code_in(problems) for check, _, problems in rows} == {
        check: [name for name, each in PROBLEMS.items() if each.check == check] for check in Check
    }


def test_errors_are_in_bold_type():
    [rows] = tables(PAGE, "problems")
    told = {name for row in rows for name in re.findall(r"\*\*`([^`]+)`\*\*", row[2])}

    assert told == {name for name, each in PROBLEMS.items() if each.severity is Severity.ERROR}


@VIRTUAL_TIME
async def test_the_example_is_a_part_of_what_is_printed():
    [example] = [
        block.text
        for block in blocks(PAGE)
        if (block.section, block.language) == ("running-it", "text")
    ]
    async with Cluster() as cluster:
        await cluster.start_all(2)
        await asyncio.sleep(2)
        cluster.server.interfere = without_patch_of_pods(cluster)
        cluster.server.put(STORAGE_CLASS)
        unready(cluster, "extender-1")

        facts = await cluster.inspect()

    found = findings(facts)
    printed = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(table_lines(make_report(found), WIDTH)))
    assert agrees(example, printed), printed


def without_patch_of_pods(cluster: Cluster) -> Callable[[Call], FaultKind | None]:
    """Have the API server say that the service may not patch pods."""
    others = cluster.server.interfere
    assert others is not None

    def review(call: Call) -> FaultKind | None:
        if call.resource == OWN_REVIEWS:
            asked = call.body["spec"]["resourceAttributes"]
            if (asked["verb"], asked["resource"]) == ("patch", "pods"):
                return answer({"allowed": False})
        return others(call)

    return review


def unready(cluster: Cluster, name: str) -> None:
    """Have a pod say that it is not ready."""
    pod = cluster.server.get("pods", name, NAMESPACE)
    assert pod is not None
    ready = [{"type": "Ready", "status": "False"}]
    cluster.server.put({**pod, "status": {**pod["status"], "conditions": ready}})
