"""Runs commands as a whole: on files, and on a live cluster, which is the API server in memory."""

import os
import random
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from cli.running import run_command
from tests.fakes import FakeApiServer, in_a_thread
from tests.unit.cli.given_files import Write
from tests.unit.cli.live import KINDS, kubeconfig
from tests.unit.cli.plans import BUNDLE, EXAMPLES, Complaints, Golden, Run, Shown
from tests.unit.cli.plans import write as write_documents
from tests.unit.cli.situations import Ask


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run without the settings of whoever runs the tests."""
    for name in [name for name in os.environ if name.startswith("EXTENDER_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def called(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command; return the status, the output and what is on stderr."""

    def ran(*arguments: str) -> tuple[int, str, str]:
        status = run_command(arguments)
        return status, *capsys.readouterr()

    return ran


@pytest.fixture
def golden() -> Golden:
    """Compare a whole text with a golden file, which REWRITE_GOLDEN=1 writes, but not in CI."""
    is_rewritten = os.environ.get("REWRITE_GOLDEN") == "1" and not os.environ.get("CI")

    def same(name: str, text: str) -> None:
        file = Path(__file__).parent / "golden" / f"{name}.txt"
        if is_rewritten:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        assert text == (file.read_text(encoding="utf-8") if file.exists() else ""), (
            f"not what tests/unit/cli/golden/{name}.txt has; if it is right now, run the test with "
            "REWRITE_GOLDEN=1 in the environment, and read what changed in the file"
        )

    return same


@pytest.fixture
def complaints(called: Run, golden: Golden, monkeypatch: pytest.MonkeyPatch) -> Complaints:
    """Give commands what they cannot use, and compare all that they say with a golden file.

    It must be one line, with status 2, and nothing else. A row is as typed, in `examples/`.
    """
    monkeypatch.chdir(EXAMPLES)

    def told(name: str, rows: Iterable[str]) -> str:
        text = ""
        for row in rows:
            status, out, err = called(*shlex.split(row))
            assert (status, out, err[:7], err.count("\n")) == (2, "", "error: ", 1), row
            text += f"$ {row}\n{err}"
        golden(f"complaints/{name}", text)
        return text

    return told


@pytest.fixture
def shown(called: Run, golden: Golden, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shown:
    """Ask about a cluster; compare all that is printed; return the status and it on one line."""
    monkeypatch.chdir(tmp_path)  # so that the output names the file alone

    def asked(name: str, documents: Iterable[object], *words: str) -> tuple[int, str]:
        file = write_documents(Path("cluster.json"), *documents)
        status, out, _ = called(*words, "--cluster-file", file)
        golden(name, out)
        return status, " ".join(out.split())

    return asked


@pytest.fixture
def ask(called: Run, tmp_path: Path) -> Ask:
    """Ask about pod `web` of a cluster; return the status, and the output as one line."""

    def asked(*documents: object, options: tuple[str, ...] = ()) -> tuple[int, str]:
        file = write_documents(tmp_path / "cluster.json", *documents)
        status, out, _ = called("filter", "pod/web", "--cluster-file", file, *options)
        return status, " ".join(out.split())

    return asked


@pytest.fixture
def run(called: Run) -> Run:
    """Plan; return the status, the output and what is on stderr."""

    def ran(*arguments: str, files: str = BUNDLE) -> tuple[int, str, str]:
        return called("plan", *arguments, "--cluster-file", files)

    return ran


@pytest.fixture
def server() -> FakeApiServer:
    """The API server of the live cluster, with nothing in it."""
    return FakeApiServer(random.Random(0), resources=KINDS)


@pytest.fixture
def config(server: FakeApiServer, tmp_path: Path) -> Iterator[str]:
    """A kubeconfig that leads to it while the test runs."""
    with in_a_thread(server) as served:
        yield kubeconfig(tmp_path, served.port)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(content: str | bytes, name: str = "cluster.yaml") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write
