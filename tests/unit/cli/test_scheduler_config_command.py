"""`scheduler-config` on the command line: what it prints, where, and its exit statuses."""

import base64
import io
import json
from pathlib import Path

import pytest
import yaml

from cli.running import run_command
from tests.scheduler_configurations import LONGHORNS_URL, OF_LONGHORN
from tests.unit.cli.plans import Complaints

URL = "http://10.96.0.95:9504"
HTTPS = "https://10.96.0.95:9504"
OTHER = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: /etc/kubernetes/scheduler.conf}
percentageOfNodesToScore: 50   # Grüße
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "scheduler.yaml"
    path.write_bytes(OTHER.encode())
    return path


def run(*arguments: str, distribution: str = "kubeadm") -> int:
    return run_command(["scheduler-config", "--distribution", distribution, *arguments])


def test_a_whole_configuration_is_printed(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run("--url", URL) == 0

    output, errors = capfdbinary.readouterr()
    assert yaml.safe_load(output)["extenders"][0]["urlPrefix"] == URL
    assert errors.startswith(b"note: http://10.96.0.95:9504 is plain HTTP: kube-scheduler believes")


def test_merging_and_removing_gives_back_the_bytes_and_changes_no_file(
    file: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert run("--url", URL, "--merge", str(file)) == 0
    output, errors = capfdbinary.readouterr()
    both = tmp_path / "both.yaml"
    both.write_bytes(output)

    assert run("--remove", str(both), "--url", URL) == 0

    assert capfdbinary.readouterr().out == OTHER.encode()
    assert file.read_bytes() == OTHER.encode()
    assert both.read_bytes() == output
    assert errors.startswith(b"warning: percentageOfNodesToScore is 50")  # it is not ours to set


def test_a_file_can_come_in_on_stdin(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(OTHER.encode())))

    assert run("--check", "-") == 1

    assert capsys.readouterr().out.startswith("the input: 2 found\n")


def test_of_stdin_no_more_is_read_than_of_a_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"#" * 2**20)))

    assert run("--check", "-") == 2

    assert capsys.readouterr().err == "error: the input is larger than 262144 B\n"


def test_check_says_what_is_wrong(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--check", str(file)) == 1

    assert capsys.readouterr().out.splitlines() == [
        f"{file}: 2 found",
        "no entry of extenders manages longhorn.io/scheduler-extender: "
        "no pod is sent to the extender",
        "  -> have it written with --merge",
        "percentageOfNodesToScore is 50: of more than 100 nodes only a sample is sent",
        "  -> set percentageOfNodesToScore: 100 in kube-scheduler's configuration "
        "(docs/kube-scheduler.md)",
    ]


def test_check_says_that_nothing_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--check", "manifests/scheduler/k3s.yaml", "--url", HTTPS, distribution="k3s") == 0

    assert capsys.readouterr().out.splitlines() == [
        "manifests/scheduler/k3s.yaml: nothing is missing or wrong",
        f"extenders[0] ({HTTPS}) leads to this service: it is at the address of --url",
    ]


def test_files_of_certificates_are_named(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    files = ("--tls-ca", "/a", "--tls-cert", "/b", "--tls-key", "/c", "--tls-server-name", "n")

    assert run("--url", HTTPS, *files) == 0

    [entry] = yaml.safe_load(capfdbinary.readouterr().out)["extenders"]
    assert entry["tlsConfig"] == {
        "serverName": "n",
        "caFile": "/a",
        "certFile": "/b",
        "keyFile": "/c",
    }


@pytest.mark.parametrize(
    ("distribution", "note"),
    [
        ("kubeadm", "of the Secret longhorn-scheduler-extender-kube-scheduler, readable by root"),
        ("secondary", "of the Secret longhorn-scheduler-extender-client"),
    ],
)
def test_https_comes_with_the_files_as_the_docs_name_them(
    distribution: str, note: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run("--url", HTTPS, distribution=distribution) == 0
    output, said = capfd.readouterr()
    assert run("--url", HTTPS, "--quiet", distribution=distribution) == 0

    folder = "/etc/longhorn-scheduler-extender"
    [entry] = yaml.safe_load(output)["extenders"]
    assert entry["tlsConfig"] == {
        "serverName": "longhorn-scheduler-extender.longhorn-scheduler.svc",
        "caFile": f"{folder}/ca.crt",
        "certFile": f"{folder}/tls.crt",
        "keyFile": f"{folder}/tls.key",
    }
    assert note in said
    assert capfd.readouterr() == (output, "")


def test_for_talos_the_files_are_read(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    pem = tmp_path / "ca.crt"
    pem.write_text("-----BEGIN CERTIFICATE-----\n")

    assert run("--url", HTTPS, "--tls-ca", str(pem), distribution="talos") == 0

    patch = yaml.safe_load(capfdbinary.readouterr().out)
    [entry] = patch["cluster"]["scheduler"]["config"]["extenders"]
    assert base64.b64decode(entry["tlsConfig"]["caData"]) == pem.read_bytes()


def test_for_talos_a_document_can_be_had(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run("--url", URL, "--talos-document", distribution="talos") == 0

    document = yaml.safe_load(capfdbinary.readouterr().out)
    assert document["kind"] == "KubeSchedulerConfig"
    assert document["config"]["extenders"][0]["urlPrefix"] == URL


COMPLAINTS = """

--merge FILE
--merge FILE --remove FILE --url http://10.96.0.95:9504
--check FILE --remove FILE
--check FILE --tls-ca a
--url http://10.96.0.95:9504 --replace http://10.96.0.95:9504
--check absent.yaml
--check .
--url no
--url http://extender.longhorn-system.svc:9504
--url http://10.96.0.95
--check FILE --url http://10.96.0.95
--url https://10.96.0.95:9504 --distribution talos
--url http://10.96.0.95:9504 --tls-cert c --tls-key k
--url https://10.96.0.95:9504 --tls-ca a --tls-key k
--url https://10.96.0.95:9504 --distribution talos --tls-ca FILE
--url http://10.96.0.95:9504 --talos-document
--url http://10.96.0.95:9504 --distribution talos --talos-document --merge FILE
--url http://10.96.0.95:9504 --distribution eks
"""


def test_options_that_cannot_be_used_are_said_in_a_line(complaints: Complaints) -> None:
    rows = COMPLAINTS.replace("FILE", "../manifests/scheduler/kubeadm.yaml").split("\n")[1:-1]

    text = complaints(
        "scheduler-config", [f"scheduler-config --distribution kubeadm {row}" for row in rows]
    )

    assert "--merge, --check and --remove exclude each other" in text


def test_longhorns_entry_goes_only_if_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("EXTENDER_NAMESPACE", "extenders")
    theirs = tmp_path / "theirs.yaml"
    theirs.write_text(OF_LONGHORN)

    assert run("--check", str(theirs), "-o", "json") == 1
    checked = json.loads(capfd.readouterr().out)
    assert run("--remove", str(theirs)) == 0
    left = capfd.readouterr()
    assert run("--url", URL, "--merge", str(theirs)) == 2
    refused = capfd.readouterr()
    assert run("--url", URL, "--merge", str(theirs), "--replace", LONGHORNS_URL) == 0
    replaced = capfd.readouterr()

    [entry] = checked["entries"]
    assert (entry["index"], entry["url"], entry["owner"]) == (0, LONGHORNS_URL, "longhorns")
    [_, flaw] = checked["flaws"]  # the first is of percentageOfNodesToScore
    assert flaw["text"].startswith(
        f"extenders[0] ({LONGHORNS_URL}) leads to Longhorn's own extender: "
    )
    assert flaw["remedy"].endswith(f" --merge with --replace {LONGHORNS_URL}")
    assert left.out == OF_LONGHORN
    assert left.err.startswith(f"warning: extenders[0] ({LONGHORNS_URL}) leads to Longhorn's own")
    assert refused.out == ""
    assert refused.err.startswith(f"error: {theirs}: extenders[0] ({LONGHORNS_URL}) leads to ")
    assert f"give --replace {LONGHORNS_URL} to put ours there" in refused.err
    urls = [each["urlPrefix"] for each in yaml.safe_load(replaced.out)["extenders"]]
    assert urls == [URL, "http://127.0.0.1:9251"]
    assert replaced.err.startswith(f"note: {URL} is plain HTTP")


def test_an_address_that_may_be_anybodys_is_judged_as_ours_until_the_url_says_more(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run("--url", URL) == 0
    plain = tmp_path / "plain.yaml"
    plain.write_text(capfd.readouterr().out)
    shipped = str(plain)
    elsewhere = "http://10.96.0.7:9504"
    owner = f"extenders[0] ({URL}) manages longhorn.io/scheduler-extender, and it is not known"

    assert run("--check", shipped) == 0
    checked = capfd.readouterr().out.splitlines()
    assert run("--check", shipped, "--url", elsewhere) == 1
    assert run("--remove", shipped) == 2
    kept = capfd.readouterr().err
    assert run("--merge", shipped, "--url", elsewhere) == 2
    refused = capfd.readouterr().err

    assert checked[0] == f"{shipped}: nothing is missing or wrong"
    assert checked[1].startswith(owner)
    assert kept.startswith(f"error: {shipped}: {owner}")
    assert kept.endswith(f"If it leads to this service, give --url {URL}\n")
    assert refused.startswith(f"error: {shipped}: {owner}")
    assert refused.endswith(f": give --replace {URL} to put ours there\n")


def test_an_install_that_still_stands_in_longhorns_namespace_is_named_by_its_url(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    before = tmp_path / "before.yaml"
    assert run("--url", LONGHORNS_URL, distribution="secondary") == 0
    before.write_bytes(capfdbinary.readouterr().out)

    assert run("--url", LONGHORNS_URL, "--merge", str(before), distribution="secondary") == 0
    assert capfdbinary.readouterr().out == before.read_bytes()
    assert run("--url", LONGHORNS_URL, "--remove", str(before), distribution="secondary") == 0
    assert b"extenders" not in capfdbinary.readouterr().out


def test_what_is_removed_need_not_be_reachable(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    by_name = tmp_path / "by-name.yaml"
    by_name.write_text(OF_LONGHORN)

    assert run("--url", LONGHORNS_URL, "--remove", str(by_name)) == 0

    [other] = yaml.safe_load(capfdbinary.readouterr().out)["extenders"]
    assert other["urlPrefix"] == "http://127.0.0.1:9251"


def test_a_certificate_has_the_name_of_the_service_in_its_namespace(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setenv("EXTENDER_NAMESPACE", "extenders")

    assert run("--url", HTTPS, "--tls-ca", "/a", distribution="secondary") == 0

    config = yaml.safe_load(capfdbinary.readouterr().out)
    [entry] = config["extenders"]
    assert entry["tlsConfig"]["serverName"] == "longhorn-scheduler-extender.extenders.svc"
    assert config["leaderElection"]["resourceNamespace"] == "extenders"
