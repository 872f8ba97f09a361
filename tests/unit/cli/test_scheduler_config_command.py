"""`scheduler-config` on the command line: what it prints, where, and its exit statuses."""

import base64
import io
from pathlib import Path

import pytest
import yaml

from cli.commands import run_command

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
    assert errors == b""


def test_merging_and_removing_gives_back_the_bytes_and_changes_no_file(
    file: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert run("--url", URL, "--merge", str(file)) == 0
    output, errors = capfdbinary.readouterr()
    both = tmp_path / "both.yaml"
    both.write_bytes(output)

    assert run("--remove", str(both)) == 0

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
    assert run("--check", "manifests/scheduler/k3s.yaml", "--url", URL, distribution="k3s") == 0

    assert capsys.readouterr().out == "manifests/scheduler/k3s.yaml: nothing is missing or wrong\n"


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


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([], "--url is missing"),
        (["--merge", "FILE"], "--url is missing"),
        (["--merge", "FILE", "--remove", "FILE", "--url", URL], "exclude each other"),
        (["--check", "FILE", "--remove", "FILE"], "exclude each other"),
        (["--check", "FILE", "--tls-ca", "a"], "of no use with --check"),
        (["--check", "absent.yaml"], "absent.yaml cannot be read: No such file or directory"),
        (["--check", "."], ". cannot be read: Is a directory"),
        (["--url", "no"], "is no address"),
        (["--url", "http://extender.longhorn-system.svc:9504"], "names a Service"),
        (["--url", "http://10.96.0.95"], "has no port"),
        (["--check", "FILE", "--url", "http://10.96.0.95"], "has no port"),
        (["--url", HTTPS], "needs --tls-ca"),
        (["--url", HTTPS, "--tls-cert", "c", "--tls-key", "k"], "--tls-cert needs --tls-ca"),
        (["--url", HTTPS, "--tls-ca", "a", "--tls-key", "k"], "go together"),
        (["--url", HTTPS, "--distribution", "talos", "--tls-ca", "FILE"], "is not PEM"),
        (["--url", URL, "--talos-document"], "of no use with --distribution kubeadm"),
        (
            ["--url", URL, "--distribution", "talos", "--talos-document", "--merge", "FILE"],
            "the file shows it",
        ),
        (["--url", URL, "--distribution", "eks"], "'eks' is not one of"),
    ],
)
def test_options_that_cannot_be_used_are_said_in_a_line(
    arguments: list[str], why: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [str(file) if each == "FILE" else each for each in arguments]

    assert run(*given) == 2

    output, error = capsys.readouterr()
    assert output == ""
    assert why in error
    assert error.count("\n") == 1
