"""`scheduler-config` on the command line: what it prints, where, and its exit statuses."""

import base64
import io
import json
from pathlib import Path

import pytest
import yaml

from cli.running import run_command
from tests.scheduler_configurations import LONGHORNS_URL, OF_LONGHORN
from tests.unit.cli.plans import ROOT

URL = "http://10.96.0.95:9504"
HTTPS = "https://10.96.0.95:9504"
PEM = "-----BEGIN CERTIFICATE-----\n"
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


def test_merging_and_removing_gives_back_the_bytes_and_changes_no_file(file, tmp_path, capfdbinary):
    assert run("--url", URL, "--merge", str(file)) == 0
    output, errors = capfdbinary.readouterr()
    both = tmp_path / "both.yaml"
    both.write_bytes(output)

    assert run("--remove", str(both), "--url", URL) == 0

    assert capfdbinary.readouterr().out == OTHER.encode()
    assert file.read_bytes() == OTHER.encode()
    assert both.read_bytes() == output
    assert errors.startswith(b"warning: percentageOfNodesToScore is 50")  # it is not ours to set


def test_a_file_can_come_in_on_stdin(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(OTHER.encode())))

    assert run("--check", "-") == 1

    assert capsys.readouterr().out.startswith("the input: 2 found\n")


def test_of_stdin_no_more_is_read_than_of_a_file(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"#" * 2**20)))

    assert run("--check", "-") == 2

    assert capsys.readouterr().err == "error: the input is larger than 262144 B\n"


FILES = f"--url {HTTPS} --tls-ca /a --tls-cert /b --tls-key /c --tls-server-name n"
ROWS: dict[str, tuple[int, str, str, str]] = {
    "plain": (0, f"kubeadm --url {URL}", f"urlPrefix: {URL}",
        f"note: {URL} is plain HTTP: kube-scheduler believes"),
    "certificates-named": (0, f"kubeadm {FILES}", "serverName: n", ""),
    # With the files as the docs name them.
    "https": (0, f"kubeadm --url {HTTPS}", "caFile: /etc/longhorn-scheduler-extender/ca.crt",
        "of the Secret longhorn-scheduler-extender-kube-scheduler, readable by root"),
    "https-of-a-second": (0, f"secondary --url {HTTPS}",
        "certFile: /etc/longhorn-scheduler-extender/tls.crt",
        "of the Secret longhorn-scheduler-extender-client"),
    "https-quiet": (0, f"kubeadm --url {HTTPS} --quiet", "keyFile: ", ""),
    "talos-files-read": (0, f"talos --url {HTTPS} --tls-ca ca.crt",
        f"caData: {base64.b64encode(PEM.encode()).decode()}", "note: "),
    "talos-document": (0, f"talos --url {URL} --talos-document", "kind: KubeSchedulerConfig", ""),
    "check": (1, "kubeadm --check it.yaml", "it.yaml: 2 found", ""),
    "check-of-what-is-shipped": (0, f"k3s --check k3s.yaml --url {HTTPS}",
        f"extenders[0] ({HTTPS}) leads to this service: it is at the address of --url", ""),
}  # fmt: skip
"""The exit status, the distribution and options, what is printed, and what is said beside it."""


@pytest.mark.parametrize("name", ROWS)
def test_a_configuration_or_its_flaws_are_printed(called, golden, tmp_path, monkeypatch, name):
    status, words, fact, note = ROWS[name]
    monkeypatch.chdir(tmp_path)
    Path("ca.crt").write_text(PEM)
    Path("it.yaml").write_bytes(OTHER.encode())
    Path("k3s.yaml").write_text((ROOT / "manifests" / "scheduler" / "k3s.yaml").read_text())

    found, out, err = called("scheduler-config", "--distribution", *words.split())

    assert (found, fact in out, note in err) == (status, True, True), (out, err)
    golden(f"scheduler-config/{name}", f"{out}\n# stderr\n{err}")


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


def test_options_that_cannot_be_used_are_said_in_a_line(complaints):
    rows = COMPLAINTS.replace("FILE", "../manifests/scheduler/kubeadm.yaml").split("\n")[1:-1]

    text = complaints(
        "scheduler-config", [f"scheduler-config --distribution kubeadm {row}" for row in rows]
    )

    assert "--merge, --check and --remove exclude each other" in text


def test_longhorns_entry_goes_only_if_that_is_asked_for(tmp_path, monkeypatch, capfd):
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


def test_an_address_that_may_be_anybodys_is_judged_as_ours_until_the_url_says_more(tmp_path, capfd):
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
    tmp_path, capfdbinary
):
    before = tmp_path / "before.yaml"
    assert run("--url", LONGHORNS_URL, distribution="secondary") == 0
    before.write_bytes(capfdbinary.readouterr().out)

    assert run("--url", LONGHORNS_URL, "--merge", str(before), distribution="secondary") == 0
    assert capfdbinary.readouterr().out == before.read_bytes()
    assert run("--url", LONGHORNS_URL, "--remove", str(before), distribution="secondary") == 0
    assert b"extenders" not in capfdbinary.readouterr().out


def test_what_is_removed_need_not_be_reachable(tmp_path, capfdbinary):
    by_name = tmp_path / "by-name.yaml"
    by_name.write_text(OF_LONGHORN)

    assert run("--url", LONGHORNS_URL, "--remove", str(by_name)) == 0

    [other] = yaml.safe_load(capfdbinary.readouterr().out)["extenders"]
    assert other["urlPrefix"] == "http://127.0.0.1:9251"


def test_a_certificate_has_the_name_of_the_service_in_its_namespace(monkeypatch, capfdbinary):
    monkeypatch.setenv("EXTENDER_NAMESPACE", "extenders")

    assert run("--url", HTTPS, "--tls-ca", "/a", distribution="secondary") == 0

    config = yaml.safe_load(capfdbinary.readouterr().out)
    [entry] = config["extenders"]
    assert entry["tlsConfig"]["serverName"] == "longhorn-scheduler-extender.extenders.svc"
    assert config["leaderElection"]["resourceNamespace"] == "extenders"
