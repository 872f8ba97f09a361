"""Which programs make the control plane; a shell script stands in for Go."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.controlplane import programs
from tests.e2e.controlplane.programs import MODULE, PROGRAMS

NAMES = [program.name for program in PROGRAMS]
PATIENCE_SECONDS = 30.0
WORKING_GO = """\
#!/bin/sh
while [ "$1" != -o ]; do shift; done
printf '%s %s' "$3" "$CGO_ENABLED" > "$2"
"""
FAILING_GO = """\
#!/bin/sh
while [ "$1" != -o ]; do shift; done
echo half > "$2"
for line in 1 2 3 4 5 6 7 8 9 10 11 12; do echo "error $line" >&2; done
exit 1
"""


def put(folder: Path, *names: str, content: str = "") -> Path:
    """Put programs into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_text(content)
        (folder / name).chmod(0o755)
    return folder


def build(module: Path, folder: Path, go: str, **environ: str) -> tuple[int, str]:
    """Run what `make e2e` runs, for the module in a folder; return the status and stderr."""
    bin_ = put(folder / "bin", "go", content=go)
    done = subprocess.run(
        [sys.executable, str(module / "programs.py")],
        env={
            "PATH": os.pathsep.join([str(bin_), "/usr/bin", "/bin"]),
            "XDG_CACHE_HOME": str(folder / "cache"),
            **environ,
        },
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    return done.returncode, done.stderr


def built(folder: Path) -> dict[str, str]:
    """Return what was built in a folder, and from what."""
    cache = programs.cache_folder({"XDG_CACHE_HOME": str(folder / "cache")})
    return {path.name: path.read_text() for path in cache.iterdir()}


def test_a_file_comes_before_a_folder_and_a_folder_before_the_cache(tmp_path: Path) -> None:
    cache = put(tmp_path / "cache", "etcd", "kube-apiserver", "kube-scheduler")
    assets = put(tmp_path / "assets", "etcd", "kube-apiserver")
    own = put(tmp_path, "own") / "own"
    environ = {"KUBEBUILDER_ASSETS": str(assets), "TEST_ASSET_ETCD": str(own)}

    assert programs.find(environ, cache) == {
        "etcd": own,
        "kube-apiserver": assets / "kube-apiserver",
        "kube-controller-manager": None,
        "kube-scheduler": cache / "kube-scheduler",
    }


def test_only_what_is_missing_is_built(tmp_path: Path) -> None:
    assets = put(tmp_path / "assets", "etcd", "kube-apiserver")

    result = build(MODULE, tmp_path, WORKING_GO, KUBEBUILDER_ASSETS=str(assets))

    assert result == (0, "")
    assert built(tmp_path) == {
        "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager 0",
        "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler 0",
    }


@pytest.mark.parametrize("changed", ["go.mod", "go.sum", "main.go"])
def test_what_was_built_of_one_module_is_not_taken_for_another(
    tmp_path: Path, changed: str
) -> None:
    module = shutil.copytree(MODULE, tmp_path / "module")
    with (module / changed).open("a") as file:
        file.write("\n")
    build(MODULE, tmp_path, WORKING_GO)

    results = [build(each, tmp_path, FAILING_GO)[0] for each in (MODULE, module)]

    assert results == [0, 2]


def test_a_build_that_fails_leaves_nothing_but_the_compilers_last_words(tmp_path: Path) -> None:
    status, errors = build(MODULE, tmp_path, FAILING_GO)

    assert (status, built(tmp_path)) == (2, {})
    assert errors.splitlines() == [
        "etcd could not be built:",
        *(f"error {number}" for number in range(3, 13)),
    ]
