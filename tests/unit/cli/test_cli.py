"""The command line: exit statuses, both forms of output, and errors of one line."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from tests.builders import GIB, core_document, node_document, runner_documents, setting_documents
from tests.fakes import Object
from tests.unit.cli.plans import EXAMPLES, ROOT, Run, error, questions, write
from tests.unit.cli.situations import bound_claim, pod, volume

SCRIPT = Path(sys.executable).with_name("longhorn-scheduler-extender")
QUAD = ("filter", "--cluster-file", "examples/goal2", "--pod", "default/quad")
ROOMY, FULL = "node-1", "node-2"
DOES_NOT_FIT = "no disk of the Longhorn node has room for a volume of 10 GiB"


CLUSTER: list[Object] = [
    node_document(ROOMY),
    node_document(FULL, disk_status={"storageMaximum": GIB}),
    core_document("Node", ROOMY),
    core_document("Node", FULL),
    *setting_documents(),
    *runner_documents(ROOMY, FULL),
    *(*bound_claim("small"), volume("small", gib=10)),
    *(*bound_claim("large"), volume("large", gib=1024)),
    pod("fits", claims=["small"], asks=False),
    pod("lost", claims=["gone"], asks=False),
]


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Write the cluster into the folder in which commands are run."""
    monkeypatch.chdir(tmp_path)
    return write(Path("cluster.json"), *CLUSTER)


@pytest.fixture
def asked(called: Run) -> Run:
    """Ask about a pod of a cluster."""
    return lambda cluster, pod, *more: called(
        "filter", "--cluster-file", cluster, "--pod", pod, *more
    )


def test_json_has_the_verdicts_and_the_numbers_behind_them(cluster, asked, golden):
    _, out, _ = asked(cluster, "default/fits", "-o", "json")

    report = json.loads(out)
    assert (report["accepted"], report["rejected"]) == ([ROOMY], {FULL: DOES_NOT_FIT})
    assert report["nodes"][FULL]["disks"][0]["physical_headroom_bytes"] == 100 * GIB - 2**28 - 1
    assert report["nodes"][ROOMY]["assignment"] == {"vol-small": "disk-1"}
    golden("filter/json", out)


def test_an_unknown_claim_is_named_with_what_to_do(cluster, asked):
    text = (
        f"PersistentVolumeClaim default/gone is not in {cluster}; create it, or if the cluster has "
        f"it: kubectl get --all-namespaces -o json persistentvolumeclaims > more.json, then add "
        f"--also more.json"
    )

    _, table, err = asked(cluster, "default/lost")
    _, out, also = asked(cluster, "default/lost", "-o", "json")

    report = json.loads(out)
    assert err == also == f"error: {text}\n"
    assert text in " ".join(table.split())
    assert "-> Create it." in table
    assert (report["error"], report["error_code"]) == (text, "object_not_found")
    assert (report["accepted"], report["rejected"], report["nodes"]) == ([], {}, {})


@pytest.mark.parametrize(
    ("name", "words", "fact"),
    [
        ("verdicts", f"cluster.json default/fits --nodes {ROOMY},,{FULL},,{ROOMY}",
            "9.0 GiB short on disk-1: 0.0 of 1.0 GiB are scheduled"),
        ("disks-that-decide-nothing", f"{EXAMPLES}/rich default/files --all",
            "as no volume has to be on the pod's node"),
        ("claims-below-their-disks", f"{EXAMPLES}/goal2 default/quad --nodes node-4",
            "disk-4 ++++++++++++++++ 100.0 of 100.0 GiB, headroom 0.0"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("cluster")
def test_a_table_in_full(asked, golden, name, words, fact):
    _, out, _ = asked(*words.split())

    golden(f"filter/{name}", out)
    assert fact in " ".join(out.split())


def test_what_the_files_of_a_cluster_lack_is_a_warning(tmp_path, asked):
    cluster = write(tmp_path / "cluster.json", core_document("Pod", "free"))

    _, out, err = asked(cluster, "default/free")

    assert out.startswith("pod default/free: not judged: no node is known\n")
    *lines, last = err.splitlines()
    assert [line.split(";")[0].removeprefix(f"warning: {cluster}: no ") for line in lines] == [
        "nodes.longhorn.io, though every cluster has some",
        "nodes, though every cluster has some",
        "engineimages.longhorn.io, instancemanagers.longhorn.io, csinodes.storage.k8s.io, though "
        "every cluster has some",
        "settings.longhorn.io",
    ]
    assert last.startswith("warning: to add what is missing: kubectl get ")


def test_what_is_missing_can_be_added(tmp_path, asked):
    """A pod of a namespace that a bundle lacks, and its claim, from two files."""
    web = pod("web-0", claims=["data"], asks=False)
    data = core_document("PersistentVolumeClaim", "data", spec={"volumeName": "pv-large"})
    for each in (web, data):
        each["metadata"]["namespace"] = "shop"
    bundle = tmp_path / "bundle" / "yamls" / "namespaced" / "default" / "all.yaml"
    bundle.parent.mkdir(parents=True)
    write(bundle, *CLUSTER)
    web_file, data_file = write(tmp_path / "pod.json", web), write(tmp_path / "claim.json", data)
    question = (str(tmp_path / "bundle"), "shop/web-0")

    alone, _, refused = asked(*question)
    status, out, err = asked(*question, "--also", web_file, "--also", data_file, "-o", "json")

    assert (alone, "--also" in refused) == (2, True)
    assert (status, err) == (1, "")
    assert json.loads(out)["rejected"].keys() == {ROOMY, FULL}


def test_the_version_is_that_of_the_distribution(called):
    assert called("--version") == (0, f"{version('longhorn-scheduler-extender')}\n", "")


ANY_SPEC = "{containers: [{name: main}]}"
POD_WITH_ITS_CLAIMS = """
apiVersion: v1
kind: Pod
metadata: {name: new}
spec:
  volumes:
    - {name: a, persistentVolumeClaim: {claimName: named}}
    - {name: scratch, ephemeral: {volumeClaimTemplate: {spec: SPEC}}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: named}, spec: SPEC}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: of-the-file}
provisioner: driver.longhorn.io
parameters: {numberOfReplicas: "1", dataLocality: best-effort}
""".replace(
    "SPEC",
    "{accessModes: [ReadWriteOnce], storageClassName: of-the-file, "
    "resources: {requests: {storage: 2Ti}}}",
)


@pytest.mark.parametrize(("options", "namespace"), [((), "default"), (("-n", "shop"), "shop")])
def test_the_claims_of_a_file_count_and_those_of_its_ephemeral_volumes(
    cluster, tmp_path, asked, options, namespace
):
    path = tmp_path / "pod.yaml"
    path.write_text(POD_WITH_ITS_CLAIMS)

    status, out, _ = asked(cluster, str(path), "-o", "json", *options)

    found = json.loads(out)
    shown = [(each["claim"], each["state"], each["size_bytes"]) for each in found["claims"]]
    assert shown == [(f"{namespace}/{name}", "new", 2**41) for name in ("named", "new-scratch")]
    assert (status, found["error"]) == (1, "")
    assert not any(each["refuses"] for each in found["notes"])


def test_a_problem_of_the_cluster_file_is_a_warning(tmp_path, asked):
    cluster = write(tmp_path / "cluster.json", *CLUSTER, {"kind": "Pod"})

    status, out, err = asked(cluster, "default/fits", "-o", "json")

    assert (status, json.loads(out)["accepted"]) == (0, [ROOMY])
    assert err == f"warning: {cluster}[0].items[{len(CLUSTER)}] has no apiVersion or no kind\n"


def test_wrong_usage_is_an_error_of_one_line(complaints):
    text = complaints("usage", questions("complaints/usage"))

    assert text.count("is default/quad meant?") == 3


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (f"filter --cluster-file examples/goal2 --pod {'x' * 300}", "xxx"),
        (f"doctor --kubeconfig {'x' * 300}", "there is no kubeconfig xxx"),
        ("serve --cluster-file examples/goal2 --host no-host.invalid", "no-host."),
    ],
)
def test_long_names_and_unknown_hosts_are_an_error_of_one_line(called, monkeypatch, words, text):
    monkeypatch.chdir(ROOT)

    assert text in error(called(*words.split()))


def test_a_setting_that_does_not_exist_is_an_error(cluster, asked, monkeypatch):
    monkeypatch.setenv("EXTENDER_PROT", "1")

    assert "EXTENDER_PROT" in error(asked(cluster, "default/fits"))


IT = "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\n"
POD_FILES = {
    "holds no pod and no workload (it has Service); give a Pod, ": IT.replace("Pod", "Service"),
    "second Pod named default/x; rename": "---\n".join([f"{IT}spec: {ANY_SPEC}\n"] * 2),
    "line 2": "a: [\n",
    "without a name": "apiVersion: v1\nkind: Pod\n",
    "spec.volumes": f"{IT}spec: {{volumes: 5}}\n",
}


@pytest.mark.parametrize(("text", "content"), POD_FILES.items())
def test_the_error_about_a_pod_file_names_the_file_and_the_cause(cluster, asked, text, content):
    Path("pod.yaml").write_text(content)

    shown = error(asked(cluster, "pod.yaml"))

    assert "pod.yaml" in shown
    assert text in shown


def test_the_console_script_is_the_program():
    command = [str(SCRIPT), *QUAD, "-o", "json"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)

    assert (json.loads(ended.stdout)["accepted"], ended.stderr) == (["node-4"], "")


def process(words: Sequence[str], **streams: Any) -> "subprocess.Popen[str]":
    return subprocess.Popen([sys.executable, "-m", "cli", *words], cwd=ROOT, text=True, **streams)


def test_output_that_cannot_be_written_is_no_success_and_no_traceback():
    with Path("/dev/full").open("w") as full:
        run = process(QUAD, stdout=full, stderr=subprocess.PIPE)
        _, errors = run.communicate()

    said = "error: the output cannot be written: No space left on device"
    assert (run.returncode, errors.splitlines()[-1]) == (2, said)


ENDS = {
    " ".join(QUAD): 0,
    f"{' '.join(QUAD)} -o json": 0,
    "survey --cluster-file examples/rich": 1,
    "filter --cluster-file absent": 2,
    "plan drain --help": 0,
    "--version": 0,
}


@pytest.mark.parametrize(("words", "status"), ENDS.items(), ids=ENDS)
@pytest.mark.parametrize("lines", [0, 1])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_has_enough_changes_no_status(words, status, lines, unbuffered):
    """It closes the pipe before anything is written, or after the first line."""
    reader, writer = os.pipe()
    environ = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with os.fdopen(reader) as head, os.fdopen(writer, "w") as out:
        if not lines:
            head.close()
        with process(words.split(), stdout=out, stderr=subprocess.PIPE, env=environ) as run:
            out.close()
            if lines:
                head.readline()
                head.close()
            _, errors = run.communicate()

    assert run.returncode == status
    assert [line for line in errors.splitlines() if not line.startswith("warning: ")] == (
        ["error: absent cannot be read: No such file or directory"] if status == 2 else []
    )


def test_a_reader_of_answer_and_warnings_that_has_enough_changes_no_status():
    reader, writer = os.pipe()
    os.close(reader)

    with os.fdopen(writer, "w") as both, process(QUAD, stdout=both, stderr=both) as run:
        run.wait()

    assert run.returncode == 0


@pytest.mark.parametrize(
    "given",
    ["pod/quad", "pods/quad", "po/quad", "quad", "default/quad", "pod/quad -n default",
     "--pod quad"],
)  # fmt: skip
def test_a_pod_is_named_as_for_kubectl(given, called, monkeypatch):
    monkeypatch.chdir(ROOT)

    status, out, _ = called(*QUAD[:3], *given.split())

    assert (status, out.startswith("pod default/quad: 1 of 4 nodes fit: node-4")) == (0, True)
