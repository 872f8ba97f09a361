"""The command `plan` as a whole: what it prints, and with which status it ends."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders import core_document, node_document, setting_documents
from tests.unit.cli.plans import EXAMPLES, ROOT, WIKI, Run, write

GOAL = str(ROOT / "examples" / "goal2" / "cluster.yaml")
RUNNING = str(EXAMPLES / "plans" / "running.yaml")
HOSTILE = "a\x1b[31m\nb"


@pytest.mark.parametrize(
    ("arguments", "status", "first"),
    [
        (("place", WIKI), 0, "all of it works: 3 pods placed"),
        (("place", WIKI, "--replicas", "0"), 0, "all of it works: nothing moves"),
        (("place", WIKI, "--replicas", "7"), 1, "not all of it works: "),
        (("place", WIKI, "--until-full"), 0, "4 more pods fit; the next one does not"),
        (("capacity", WIKI, "--most", "2"), 0, "2 more pods fit; more were not tried (--most)"),
        (("drain", "node-2"), 1, "not all of it works: 2 refusals"),
        (("drain", "node-2", "--delete-emptydir-data"), 0, "all of it works: 3 pods moved"),
        (("drain", "node-4"), 1, "not all of it works: 1 refusal; 1 pod moved"),
        (("lose", "node-4"), 1, "not all of it works: 1 volume lost; "),
        (("remove-disk", "node-4/ssd"), 0, "all of it works: 2 replicas rebuilt, "),
        (("add-node", "node-7", "--like", "node-6"), 0, "all of it works: nothing moves"),
        (("add-disk", "node-1/ssd", "1Ti", "--tag", "ssd"), 0, "all of it works: nothing moves"),
        (("cordon", "node-1"), 0, "all of it works: nothing moves"),
        (("uncordon", "node-1"), 0, "all of it works: nothing moves"),
        (("resize", "data-db-0", "45Gi"), 0, "all of it works: 1 change made"),
        (("resize", "default/data-db-1", "80Gi"), 1, "not all of it works: 1 refusal"),
        (("set", "storage-over-provisioning-percentage=50"), 0, "all of it works: 5 new warnings"),
    ],
)
def test_the_first_line_is_the_answer_and_the_status_goes_with_it(
    run: Run, arguments: tuple[str, ...], status: int, first: str
) -> None:
    found, out, _ = run(*arguments)

    assert (found, out.splitlines()[0][: len(first)]) == (status, first)


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("db", "default/db"),
        ("default/db", "default/db"),
        ("sts/db", "StatefulSet default/db"),
        ("StatefulSets/default/db", "StatefulSet default/db"),
        ("default/statefulset/db", "StatefulSet default/db"),
    ],
)
def test_a_workload_to_scale_is_named_as_for_kubectl(run: Run, name: str, title: str) -> None:
    status, out, _ = run("scale", name, "4", "--also", RUNNING)

    assert (status, out.splitlines()[0]) == (0, "all of it works: 1 pod placed")
    assert f"1. scale {title} to 4" in out


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("scale", "db", "4"), "there is no StatefulSet or Deployment shop/db"),
        (("scale", "sts/db", "4"), "there is no StatefulSet shop/db"),
        (("scale", "default/db", "4"), "1. scale default/db to 4"),
        (("resize", "data-db-0", "45Gi"), "there is no PersistentVolumeClaim shop/data-db-0"),
        (("place", WIKI), "1. place StatefulSet shop/wiki"),
        (("capacity", WIKI), "shop/wiki"),
    ],
)
def test_the_namespace_is_that_of_what_is_given_without_one(
    run: Run, arguments: tuple[str, ...], text: str
) -> None:
    _, out, err = run(*arguments, "-n", "shop", "--also", RUNNING)

    assert text in out + err


def test_in_a_scenario_it_is_that_of_names_and_of_files(run: Run, tmp_path: Path) -> None:
    scenario = tmp_path / "s.yaml"
    scenario.write_text(f"steps: [{{place: {WIKI}}}, {{scale: {{workload: db, replicas: 2}}}}]")

    _, out, err = run("run", str(scenario), "--namespace", "shop", "--also", RUNNING)

    assert "shop/db" in err or "shop/db" in out
    assert "default/wiki" not in out + err


def test_a_scenario_scales(run: Run, tmp_path: Path) -> None:
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text("steps: [{scale: {workload: sts/queue, replicas: 2}}]")

    status, out, _ = run("run", str(scenario), "--also", RUNNING)

    assert status == 0
    assert "default/queue-2 is deleted from node-6; default/data-queue-2 is deleted with" in out


def test_a_pod_without_claims_is_placed_by_all_else(run: Run, tmp_path: Path) -> None:
    pod = core_document("Pod", "bare", spec={"containers": [{"name": "a"}]})

    status, out, _ = run("place", write(tmp_path / "pod.json", pod))

    assert status == 0
    assert "  placed   default/bare on node-" in out


def test_a_pod_that_a_later_step_places_is_not_pending(run: Run, tmp_path: Path) -> None:
    scenario = tmp_path / "more.yaml"
    scenario.write_text(
        f"steps: [{{place: {{file: {WIKI}, replicas: 5}}}}, "
        f"{{addDisk: {{node: node-3, disk: new, size: 1Ti}}}}]"
    )

    status, out, _ = run("run", str(scenario))

    assert status == 1
    assert out.startswith("not all of it works: 1 volume degraded; 5 pods placed")
    assert "  pending  default/wiki-4: 0 of 6 nodes\n" in out


@pytest.mark.parametrize("step", ["drain", "lose"])
def test_without_any_pod_it_is_not_known_who_is_on_a_node(
    run: Run, tmp_path: Path, step: str
) -> None:
    objects = [node_document("node-1"), core_document("Node", "node-1"), *setting_documents()]
    cluster = write(tmp_path / "cluster.json", *objects)

    status, out, err = run(step, "node-1", files=cluster)

    assert (status, out.splitlines()[0]) == (
        0,
        "it works as far as it can be planned: nothing moves",
    )
    assert "warning: not known: which pods are on the nodes, as no pod is known\n" in err
    assert "no pods, though every cluster has some" in err


def test_without_longhorns_nodes_it_is_not_known_what_fits(run: Run, tmp_path: Path) -> None:
    fast = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "longhorn-local"},
        "provisioner": "driver.longhorn.io",
    }
    cluster = write(tmp_path / "cluster.json", core_document("Node", "node-1"), fast)

    status, out, err = run("place", WIKI, "--replicas", "1", files=cluster)
    assert (status, out.splitlines()[0]) == (
        1,
        "not all of it works, as far as it can be planned: 1 pod pending",
    )
    assert "not planned: volumes of Longhorn (none of its Nodes is known" in err

    status, _, err = run("capacity", WIKI, files=cluster)
    assert (status, "none of Longhorn's Nodes is known, so it is not known what fits" in err) == (
        2,
        True,
    )


def test_reasons_about_claims_count_no_nodes(run: Run, tmp_path: Path) -> None:
    text = Path(WIKI).read_text().replace("longhorn-local", "gone")
    (tmp_path / "wiki.yaml").write_text(text)

    _, out, _ = run("place", str(tmp_path / "wiki.yaml"))

    assert "\n           StorageClass gone is not in the cluster; create it" in out
    assert " 6 StorageClass" not in out


def test_the_worst_of_several_plans_is_shown(run: Run) -> None:
    _, out, _ = run("capacity", WIKI, "--runs", "5")

    assert out.startswith("3 more pods fit, 3 to 4 in 5 runs; ")
    assert ", the worst of 5 plans" in out.splitlines()[1]


@pytest.mark.parametrize(
    ("arguments", "fit"),
    [
        (("--size", "100Gi", "--class", "longhorn-local"), "10 more pods fit"),
        (
            ("--size", "100Gi", "--class", "longhorn-local", "--volume-replicas", "2"),
            "5 more pods fit",
        ),
        (("--size", "1Pi", "--class", "longhorn-local"), "0 more pods fit"),
    ],
)
def test_a_size_and_a_class_are_enough_for_a_capacity(
    run: Run, arguments: tuple[str, ...], fit: str
) -> None:
    """Ten disks of 100 GiB, on four nodes: two replicas of a volume are on two of them."""
    status, out, _ = run("capacity", *arguments, files=GOAL)

    assert (status, out.splitlines()[0]) == (0, f"{fit}; the next one does not")


def test_a_class_that_is_not_longhorns_has_no_capacity(run: Run, tmp_path: Path) -> None:
    other = core_document("StorageClass", "fast", provisioner="disk.example")
    other["apiVersion"] = "storage.k8s.io/v1"
    more = write(tmp_path / "more.json", other)

    status, _, err = run("capacity", "--size", "1Gi", "--class", "fast", "--also", more)

    assert status == 2
    assert "error: StorageClass fast is of disk.example, and where that has room is not" in err


@pytest.mark.parametrize("output", ["table", "json"])
def test_names_in_objects_cannot_change_a_terminal(run: Run, tmp_path: Path, output: str) -> None:
    node: dict[str, Any] = node_document("node-1")
    node["status"]["zone"] = HOSTILE
    pod = core_document("Pod", HOSTILE, spec={"nodeName": "node-1", "containers": []})
    objects = [node, core_document("Node", "node-1"), pod, *setting_documents()]
    cluster = write(tmp_path / "cluster.json", *objects)

    _, out, err = run("drain", "node-1", "--output", output, files=cluster)

    assert not [c for c in out + err if not c.isprintable() and c != "\n"]


@pytest.mark.parametrize(
    ("words", "works", "summary"),
    [
        (("place", WIKI), True, "all of it works: 3 pods placed"),
        (("drain", "node-4"), False, "not all of it works: 1 refusal; 1 pod moved"),
        (("capacity", WIKI), None, "4 more pods fit; the next one does not"),
    ],
)
def test_programs_and_the_page_get_the_answer_and_the_caveats(
    run: Run, tmp_path: Path, words: tuple[str, ...], works: object, summary: str
) -> None:
    page = tmp_path / "plan.html"

    _, out, err = run(*words, "-o", "json", "--html", str(page))

    report = json.loads(out)
    embedded = json.loads(page.read_text().partition('id="report">')[2].partition("</script>")[0])
    assert (report["works"], report["summary"]) == (works, summary)
    assert err == "".join(f"warning: {each}\n" for each in report["notes"])
    assert "namespace" in err
    assert (embedded["works"], embedded["summary"]) == (works, summary)
    assert embedded["notes"] == [*report["unplanned"], *report["notes"]]
    assert embedded["steps"] == report["steps"]
