"""`scheduler-config` on the command line: what it prints, where, and its exit statuses."""

import base64
import io
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


def test_merging_and_removing_gives_back_the_bytes_and_changes_no_file(tmp_path, capfdbinary):
    def run(*arguments):
        assert run_command(["scheduler-config", "--distribution", "kubeadm", *arguments]) == 0
        return capfdbinary.readouterr()

    file, both = tmp_path / "scheduler.yaml", tmp_path / "both.yaml"
    file.write_bytes(OTHER.encode())
    output, errors = run("--url", URL, "--merge", str(file))
    both.write_bytes(output)

    assert run("--remove", str(both), "--url", URL)[0] == OTHER.encode()
    assert file.read_bytes() == OTHER.encode()
    assert both.read_bytes() == output
    assert errors.startswith(b"warning: percentageOfNodesToScore is 50")  # it is not ours to set


@pytest.mark.parametrize(
    ("text", "status", "said"),
    [
        (OTHER.encode(), 1, "the input: 2 found\n"),
        # No more is read than of a file.
        (b"#" * 2**20, 2, "error: the input is larger than 262144 B\n"),
    ],
    ids=["file", "large"],
)
def test_a_file_can_come_in_on_stdin(called, monkeypatch, text, status, said):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))

    found, out, err = called("scheduler-config", "--distribution", "kubeadm", "--check", "-")

    assert (found, (out + err)[: len(said)]) == (status, said)


FILES = f"--url {HTTPS} --tls-ca /a --tls-cert /b --tls-key /c --tls-server-name n"
OWN_KEPT = f"extenders[0] ({LONGHORNS_URL}) leads to Longhorn's own extender: "
UNKNOWN = f"extenders[0] ({URL}) manages longhorn.io/scheduler-extender, and it is not known"
ELSEWHERE = "http://10.96.0.7:9504"
PRINTED = {
    "plain.yaml": f"kubeadm --url {URL}",
    # By a service that still stands in Longhorn's namespace.
    "before.yaml": f"secondary --url {LONGHORNS_URL}",
}
"""Files that the command has printed before."""
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
    # Longhorn's entry goes only if that is asked for.
    "longhorns-checked": (1, "kubeadm --check theirs.yaml -o json", '"owner": "longhorns"', ""),
    "longhorns-kept": (0, "kubeadm --remove theirs.yaml", OF_LONGHORN, f"warning: {OWN_KEPT}"),
    "longhorns-refused": (2, f"kubeadm --url {URL} --merge theirs.yaml", "",
        f"give --replace {LONGHORNS_URL} to put ours there"),
    "longhorns-replaced": (0, f"kubeadm --url {URL} --merge theirs.yaml --replace {LONGHORNS_URL}",
        f"urlPrefix: {URL}", f"note: {URL} is plain HTTP"),
    # What is removed need not be reachable.
    "longhorns-removed": (0, f"kubeadm --url {LONGHORNS_URL} --remove theirs.yaml",
        f"!{LONGHORNS_URL}", ""),
    # An address that may be anybody's is judged as ours until the URL says more.
    "address-checked": (0, "kubeadm --check plain.yaml",
        f"plain.yaml: nothing is missing or wrong\n{UNKNOWN}", ""),
    "address-elsewhere-checked": (1, f"kubeadm --check plain.yaml --url {ELSEWHERE}", UNKNOWN, ""),
    "address-kept": (2, "kubeadm --remove plain.yaml", "",
        f"If it leads to this service, give --url {URL}\n"),
    "address-refused": (2, f"kubeadm --merge plain.yaml --url {ELSEWHERE}", "",
        f": give --replace {URL} to put ours there\n"),
    "installed-before-and-removed": (0, f"secondary --url {LONGHORNS_URL} --remove before.yaml",
        "!extenders", ""),
}  # fmt: skip
"""The exit status, the distribution and options, what is printed or not (`!`), and what is said."""


@pytest.mark.parametrize("name", ROWS)
def test_a_configuration_or_its_flaws_are_printed(called, golden, tmp_path, monkeypatch, name):
    status, words, fact, note = ROWS[name]
    monkeypatch.chdir(tmp_path)
    Path("ca.crt").write_text(PEM)
    Path("it.yaml").write_bytes(OTHER.encode())
    Path("theirs.yaml").write_text(OF_LONGHORN)
    Path("k3s.yaml").write_text((ROOT / "manifests" / "scheduler" / "k3s.yaml").read_text())
    for file, printed in PRINTED.items():
        Path(file).write_text(called("scheduler-config", "--distribution", *printed.split())[1])

    found, out, err = called("scheduler-config", "--distribution", *words.split())

    assert (found, note in err) == (status, True), err
    assert (fact.removeprefix("!") in out) is not fact.startswith("!"), out
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


def test_an_install_that_still_stands_in_longhorns_namespace_is_named_by_its_url(called, write):
    words = f"scheduler-config --distribution secondary --url {LONGHORNS_URL}".split()
    _, before, _ = called(*words)

    status, out, _ = called(*words, "--merge", str(write(before)))

    assert (status, out) == (0, before)


def test_a_certificate_has_the_name_of_the_service_in_its_namespace(called, monkeypatch):
    monkeypatch.setenv("EXTENDER_NAMESPACE", "extenders")

    _, out, _ = called(
        *f"scheduler-config --distribution secondary --url {HTTPS} --tls-ca /a".split()
    )

    config = yaml.safe_load(out)
    [entry] = config["extenders"]
    assert entry["tlsConfig"]["serverName"] == "longhorn-scheduler-extender.extenders.svc"
    assert config["leaderElection"]["resourceNamespace"] == "extenders"
