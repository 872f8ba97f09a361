"""`make sbom`'s commands on this very environment: exact, with licences, valid, reproducible.

Its tool has an environment of its own, which `make install-dev` makes.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from supply.sbom import cut_down
from supply.version import version

ROOT = Path(__file__).parents[2]
PYTHON = Path(sys.prefix) / "sbom" / "bin" / "python"
LOCK = ROOT / "requirements" / "runtime.txt"


def list_environment(output: Path) -> None:
    command = [str(PYTHON), "-m", "cyclonedx_py", "environment", sys.executable]
    command += ["--pyproject", str(ROOT / "pyproject.toml"), "--output-reproducible"]
    command += ["--no-validate", "--output-file", str(output)]
    subprocess.run(command, capture_output=True, timeout=60, check=True)


def write(environment: Path, lock: Path, output: Path) -> subprocess.CompletedProcess[str]:
    command = [str(PYTHON), "-m", "supply.sbom", str(environment), str(lock), str(output)]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("sbom") / "environment.cdx.json"
    list_environment(output)
    return output


@pytest.fixture
def sbom(environment: Path) -> dict[str, Any]:
    found = json.loads(environment.read_text(encoding="utf-8"))
    return cut_down(found, LOCK.read_text(encoding="utf-8"))


def locked() -> dict[str, str]:
    """Names and versions of the lock file, but for what only Windows needs."""
    lines = re.findall(r"^([a-z][\w.-]*)==(\S+)(.*)", LOCK.read_text("utf-8"), flags=re.MULTILINE)
    return {name: version for name, version, rest in lines if "== 'win32'" not in rest}


def test_it_holds_exactly_what_the_lock_file_does(sbom):
    found = {
        re.sub(r"[-_.]+", "-", component["name"]).lower(): component["version"]
        for component in sbom["components"]
    }

    assert found == locked()
    assert len(sbom["components"]) == len(found) > 30


def test_each_has_a_licence_and_the_hashes_of_the_lock_file(sbom):
    text = LOCK.read_text(encoding="utf-8")

    for component in sbom["components"]:
        [files] = [ref for ref in component["externalReferences"] if "hashes" in ref]
        assert component["licenses"], component["name"]
        assert files["hashes"]
        assert all(f"sha256:{entry['content']}" in text for entry in files["hashes"])


def test_the_main_component_is_the_service(sbom):
    main_component = sbom["metadata"]["component"]
    [needs] = [
        entry["dependsOn"]
        for entry in sbom["dependencies"]
        if entry["ref"] == main_component["bom-ref"]
    ]

    assert main_component["name"] == "longhorn-scheduler-extender"
    assert main_component["version"] == version(ROOT)
    assert [entry["license"]["id"] for entry in main_component["licenses"]] == ["Apache-2.0"]
    assert any(ref.startswith("fastapi==") for ref in needs)


def test_nothing_of_this_machine_is_in_it(sbom):
    text = json.dumps(sbom)

    assert str(ROOT) not in text
    assert "file:" not in text
    assert not {"timestamp", "serialNumber"} & set(re.findall(r'"(\w+)":', text))


def test_the_same_environment_gives_the_same_bytes(environment, tmp_path):
    list_environment(tmp_path / "again.cdx.json")

    assert (tmp_path / "again.cdx.json").read_bytes() == environment.read_bytes()


def test_what_is_written_is_valid(environment, tmp_path):
    """With a package of two files: to validate thousands of hashes takes long (`make sbom`)."""
    lock, written = tmp_path / "lock.txt", tmp_path / "sbom.cdx.json"
    [h11] = re.findall(r"^h11==.*\n(?:    --hash.*\n)+", LOCK.read_text("utf-8"), re.MULTILINE)
    lock.write_text(h11, encoding="utf-8")

    done = write(environment, lock, written)

    assert done.returncode == 0, done.stderr  # else the schema refuses it
    found = json.loads(environment.read_text(encoding="utf-8"))
    assert json.loads(written.read_text(encoding="utf-8")) == cut_down(found, h11)


def test_nothing_is_written_that_is_not_true(environment, tmp_path):
    lock, written = tmp_path / "lock.txt", tmp_path / "sbom.cdx.json"
    lock.write_text("h11==0.0.1\n", encoding="utf-8")

    done = write(environment, lock, written)

    assert done.returncode == 1
    assert done.stderr.startswith("sbom: h11 0.0.1 is in the lock file; installed: ")
    assert not written.exists()
