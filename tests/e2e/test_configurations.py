"""kube-scheduler takes what `scheduler-config` prints, but for the kubeconfig of another machine.

What is shipped is what is printed; that is a unit test.
"""

import re
from pathlib import Path
from typing import NamedTuple

import pytest
import trustme
import yaml

from cli.running import run_command
from cli.scheduler_config import Distribution, make_wanted
from tests.e2e.control_plane import ControlPlane
from tests.e2e.users import SCHEDULER
from tests.scheduler_configurations import FOUND, OF_LONGHORN, REPLACED

PLAIN, HTTPS = "http://10.96.0.95:9504", "https://10.96.0.95:9504"
PRINTED = [
    *(pytest.param(each, (), id=each) for each in list(Distribution)[1:]),
    pytest.param(Distribution.KUBEADM, (), id="kubeadm", marks=pytest.mark.gate),
    pytest.param(Distribution.TALOS, ("--talos-document",), id="talos-document"),
    pytest.param(
        Distribution.KUBEADM,
        ("--no-capacity-score",),
        id="no-capacity-score",
        marks=pytest.mark.gate,
    ),
]


class Output(NamedTuple):
    """Runs `scheduler-config`, and gives what it prints."""

    capture: pytest.CaptureFixture[bytes]

    def of(self, distribution: Distribution, *arguments: str) -> str:
        assert run_command(["scheduler-config", "--distribution", distribution, *arguments]) == 0
        return self.capture.readouterr().out.decode()


@pytest.fixture
def output(capfdbinary: pytest.CaptureFixture[bytes]) -> Output:
    return Output(capfdbinary)


@pytest.fixture
def tls(tmp_path: Path) -> list[str]:
    """Write kube-scheduler's certificate, and name the files as the command takes them."""
    ca = trustme.CA()
    issued = ca.issue_cert("kube-scheduler")
    pem = {"ca": ca.cert_pem, "cert": issued.cert_chain_pems[0], "key": issued.private_key_pem}
    for name, content in pem.items():
        content.write_to_path(tmp_path / name)
    return [text for name in pem for text in (f"--tls-{name}", str(tmp_path / name))]


@pytest.mark.parametrize(("distribution", "options"), PRINTED)
async def test_it_starts_with_what_is_printed(control_plane, output, distribution, options):
    text = output.of(distribution, "--url", PLAIN, *options)

    assert await urls_when_started(control_plane, text) == [PLAIN]


@pytest.mark.parametrize("distribution", Distribution)
async def test_it_starts_with_certificates(control_plane, output, tls, distribution):
    text = output.of(distribution, "--url", HTTPS, *tls)

    assert await urls_when_started(control_plane, text) == [HTTPS]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.gate] if name == "another-extender" else [])
        for name in FOUND
    ],
)
async def test_it_starts_with_what_is_merged_into_a_configuration_that_is_there(
    control_plane, tmp_path, output, name
):
    distribution, found = FOUND[name]
    replaced = REPLACED.get(name)
    replace = () if replaced is None else ("--replace", replaced)
    file = tmp_path / "found.yaml"
    file.write_bytes(found.encode())

    once = output.of(distribution, "--url", PLAIN, "--merge", str(file), *replace)
    file.write_bytes(once.encode())
    twice = output.of(distribution, "--url", PLAIN, "--merge", str(file))
    removed = output.of(distribution, "--url", PLAIN, "--remove", str(file))

    assert twice == once
    assert (removed == found) is (replaced is None)
    others = [url for url in urls_of(found) if url.rstrip("/") != replaced]
    assert urls_of(removed) == others
    started = await urls_when_started(control_plane, once)
    assert sorted(started) == sorted([*others, PLAIN])


@pytest.mark.gate
async def test_it_starts_with_longhorns_entry_where_ours_is_taken_out(
    control_plane, tmp_path, output
):
    ours = yaml.safe_dump(make_wanted(Distribution.KUBEADM, PLAIN).entry, sort_keys=False)
    both = f"{OF_LONGHORN}  - {ours.replace(chr(10), chr(10) + '    ').rstrip()}\n"
    file = tmp_path / "both.yaml"
    file.write_bytes(both.encode())

    removed = output.of(Distribution.KUBEADM, "--url", PLAIN, "--remove", str(file))

    assert removed == OF_LONGHORN
    with pytest.raises(AssertionError, match="duplicate extender managed resource name"):
        await urls_when_started(control_plane, both)
    assert await urls_when_started(control_plane, removed) == urls_of(OF_LONGHORN)


async def test_it_would_refuse_a_misspelt_field(control_plane, output):
    text = output.of(Distribution.KUBEADM, "--url", PLAIN)

    with pytest.raises(AssertionError, match=r"unknown field .*nodeCacheable"):
        await urls_when_started(control_plane, text.replace("nodeCacheCapable", "nodeCacheable"))


def urls_of(text: str) -> list[str]:
    return [each["urlPrefix"] for each in yaml.safe_load(text).get("extenders", [])]


async def urls_when_started(control_plane: ControlPlane, text: str) -> list[str]:
    """Start kube-scheduler with a configuration; return which extenders it says to have."""
    try:
        await control_plane.start_scheduler_with(on_this_machine(control_plane, text))
        loaded = await control_plane.scheduler_configuration()
    finally:
        await control_plane.stop_scheduler()
    return [each["urlPrefix"] for each in loaded["extenders"]]


def on_this_machine(control_plane: ControlPlane, text: str) -> str:
    """Name this machine's kubeconfig, and add what Talos or a service account would."""
    kubeconfig = control_plane.users.kubeconfig(SCHEDULER)
    written = yaml.safe_load(text)
    of_talos = written.get("cluster", {}).get("scheduler", written).get("config")
    if of_talos is not None:
        kind = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
        }
        text = yaml.safe_dump({**kind, **of_talos})
    if "kubeconfig:" not in text:
        return f"clientConnection: {{kubeconfig: {kubeconfig}}}\n{text}"
    changed, count = re.subn(r"(?m)(kubeconfig: +)[^\s}]+", rf"\g<1>{kubeconfig}", text)
    assert count == 1
    return changed
