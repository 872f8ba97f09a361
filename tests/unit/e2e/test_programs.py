"""Where the programs of the control plane come from; a shell script stands in for Go."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.e2e.controlplane import programs
from tests.e2e.controlplane.programs import MODULE, PROGRAMS, MissingError

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
MEETING_GO = """\
#!/bin/sh
while [ "$1" != -o ]; do shift; done
echo begun > "$2"
echo > "$MEETING/$$"
while [ "$(ls "$MEETING" | wc -l)" -lt 2 ] && [ "${tries:=0}" -lt 2000 ]; do
    tries=$((tries + 1)); sleep 0.01
done
echo "$3" > "$2"
"""


def put(folder: Path, *names: str) -> Path:
    """Put programs into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_text("")
    return folder


def put_go(folder: Path, script: str) -> Path:
    """Put a stand-in for Go into a folder, for a PATH."""
    go = put(folder, "go") / "go"
    go.write_text(script)
    go.chmod(0o755)
    return folder


def search_path(*folders: Path) -> str:
    return os.pathsep.join([*map(str, folders), "/usr/bin", "/bin"])


def start(module: Path, path: str, cache: Path, **environ: str) -> subprocess.Popen[str]:
    """Run what `make e2e` runs, for the module in a folder."""
    return subprocess.Popen(
        [sys.executable, str(module / "programs.py")],
        env={"PATH": path, "XDG_CACHE_HOME": str(cache), **environ},
        cwd=cache.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Return exit status, stdout and stderr."""
    with process:
        try:
            output, errors = process.communicate(timeout=PATIENCE_SECONDS)
        finally:
            process.kill()
    return process.returncode, output, errors


def folder_of(cache: Path) -> Path:
    return programs.cache_folder({"XDG_CACHE_HOME": str(cache)})


class TestFind:
    def test_nothing_is_there(self, tmp_path: Path) -> None:
        assert programs.find({}, tmp_path) == dict.fromkeys(NAMES)

    def test_what_was_built_before_is_found(self, tmp_path: Path) -> None:
        put(tmp_path, "etcd")

        assert programs.find({}, tmp_path) == {**dict.fromkeys(NAMES), "etcd": tmp_path / "etcd"}

    def test_a_folder_that_is_named_comes_before_the_cache(self, tmp_path: Path) -> None:
        cache = put(tmp_path / "cache", *NAMES)
        assets = put(tmp_path / "assets", "etcd", "kube-apiserver", "kubectl")

        found = programs.find({"KUBEBUILDER_ASSETS": str(assets)}, cache)

        assert found == {
            "etcd": assets / "etcd",
            "kube-apiserver": assets / "kube-apiserver",
            "kube-controller-manager": cache / "kube-controller-manager",
            "kube-scheduler": cache / "kube-scheduler",
        }

    def test_what_a_named_folder_lacks_is_to_be_built(self, tmp_path: Path) -> None:
        assets = put(tmp_path / "assets", "etcd", "kube-apiserver")

        found = programs.find({"KUBEBUILDER_ASSETS": str(assets)}, tmp_path / "cache")

        assert [name for name, path in found.items() if path is None] == [
            "kube-controller-manager",
            "kube-scheduler",
        ]

    @pytest.mark.parametrize("program", PROGRAMS, ids=NAMES)
    def test_a_file_that_is_named_comes_first(
        self, tmp_path: Path, program: programs.Program
    ) -> None:
        cache = put(tmp_path / "cache", *NAMES)
        assets = put(tmp_path / "assets", *NAMES)
        own = put(tmp_path, "own") / "own"

        found = programs.find(
            {"KUBEBUILDER_ASSETS": str(assets), program.variable: str(own)}, cache
        )

        assert found == {**{name: assets / name for name in NAMES}, program.name: own}

    @pytest.mark.parametrize("program", PROGRAMS, ids=NAMES)
    def test_a_file_that_is_named_must_be_there(
        self, tmp_path: Path, program: programs.Program
    ) -> None:
        cache = put(tmp_path, *NAMES)

        with pytest.raises(MissingError, match=rf"^{program.variable} names /no/such, which"):
            programs.find({program.variable: "/no/such"}, cache)

    def test_a_folder_that_is_named_must_be_there(self, tmp_path: Path) -> None:
        with pytest.raises(MissingError, match=r"^KUBEBUILDER_ASSETS names /no/such, which"):
            programs.find({"KUBEBUILDER_ASSETS": "/no/such"}, put(tmp_path, *NAMES))

    def test_variables_that_are_empty_name_nothing(self, tmp_path: Path) -> None:
        environ = {"KUBEBUILDER_ASSETS": "", **{each.variable: "" for each in PROGRAMS}}

        assert programs.find(environ, tmp_path) == dict.fromkeys(NAMES)


class TestCacheFolder:
    @pytest.mark.parametrize(
        ("environ", "root"),
        [
            pytest.param({"XDG_CACHE_HOME": "/caches"}, Path("/caches"), id="set"),
            pytest.param({"XDG_CACHE_HOME": ""}, Path.home() / ".cache", id="empty"),
            pytest.param({}, Path.home() / ".cache", id="unset"),
            # Go is run in another folder than this.
            pytest.param({"XDG_CACHE_HOME": "caches"}, Path.cwd() / "caches", id="relative"),
        ],
    )
    def test_it_is_where_caches_are(self, environ: Mapping[str, str], root: Path) -> None:
        folder = programs.cache_folder(environ)

        assert folder.parent == root / "longhorn-scheduler-extender"

    def test_it_stays_the_same(self) -> None:
        assert programs.cache_folder({}) == programs.cache_folder({})

    @pytest.mark.parametrize("changed", ["go.mod", "go.sum"])
    def test_another_module_gets_another(self, tmp_path: Path, changed: str) -> None:
        """What was built from one is not taken for what another asks for."""
        module = shutil.copytree(MODULE, tmp_path / "module")
        with (module / changed).open("a") as file:
            file.write("\n")
        cache = tmp_path / "cache"
        put(folder_of(cache), *NAMES)

        with_ours = finish(start(MODULE, str(tmp_path), cache))
        with_the_other = finish(start(module, str(tmp_path), cache))

        assert (with_ours[0], with_the_other[0]) == (0, 2)


class TestBuild:
    def test_without_go_it_says_what_to_do_and_leaves_nothing(self, tmp_path: Path) -> None:
        cache = put(tmp_path / "cache")
        no_programs = put(tmp_path / "bin")

        status, output, errors = finish(start(MODULE, str(no_programs), cache))

        assert (status, output) == (2, "")
        assert errors.startswith(
            f"The end-to-end tests need {', '.join(NAMES)}, and there is no Go"
        )
        assert "https://go.dev/dl/" in errors
        assert all(name in errors for name in ("KUBEBUILDER_ASSETS", "TEST_ASSET_KUBE_SCHEDULER"))
        assert "Traceback" not in errors
        assert list(cache.iterdir()) == []

    def test_a_wrong_variable_is_said_before_anything_is_built(self, tmp_path: Path) -> None:
        cache = put(tmp_path / "cache")
        path = search_path(put_go(tmp_path / "bin", WORKING_GO))

        result = finish(start(MODULE, path, cache, TEST_ASSET_ETCD="/no/such"))

        assert result == (2, "", "TEST_ASSET_ETCD names /no/such, which is not a file\n")
        assert list(cache.iterdir()) == []

    def test_what_is_missing_is_built_and_the_time_is_said(self, tmp_path: Path) -> None:
        cache = put(tmp_path / "cache")
        assets = put(tmp_path / "assets", "etcd", "kube-apiserver")
        path = search_path(put_go(tmp_path / "bin", WORKING_GO))

        status, output, errors = finish(start(MODULE, path, cache, KUBEBUILDER_ASSETS=str(assets)))

        assert (status, errors) == (0, "")
        folder = folder_of(cache)
        lines = output.splitlines()
        version = programs.kubernetes_version()
        assert lines[0] == (
            f"building kube-controller-manager, kube-scheduler {version} into {folder}, once;"
        )
        assert [line.rpartition(" in ")[0] for line in lines[2:4]] == [
            "built kube-controller-manager",
            "built kube-scheduler",
        ]
        assert lines[4:] == [
            f"etcd: {assets / 'etcd'}",
            f"kube-apiserver: {assets / 'kube-apiserver'}",
            f"kube-controller-manager: {folder / 'kube-controller-manager'}",
            f"kube-scheduler: {folder / 'kube-scheduler'}",
        ]
        assert {path.name: path.read_text() for path in folder.iterdir()} == {
            "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager 0",
            "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler 0",
        }

    def test_what_was_built_is_not_built_again(self, tmp_path: Path) -> None:
        cache = put(tmp_path / "cache")
        path = search_path(put_go(tmp_path / "bin", WORKING_GO))
        finish(start(MODULE, path, cache))

        status, output, _ = finish(start(MODULE, "", cache))

        assert status == 0
        assert output.splitlines() == [f"{name}: {folder_of(cache) / name}" for name in NAMES]

    def test_a_build_that_fails_shows_the_compilers_last_words(self, tmp_path: Path) -> None:
        cache = put(tmp_path / "cache")
        path = search_path(put_go(tmp_path / "bin", FAILING_GO))

        status, _, errors = finish(start(MODULE, path, cache))

        assert status == 2
        assert errors.splitlines() == [
            "etcd could not be built:",
            *(f"error {number}" for number in range(3, 13)),
        ]
        assert list(folder_of(cache).iterdir()) == []

    def test_two_builds_at_once_do_not_harm_each_other(self, tmp_path: Path) -> None:
        cache, meeting = put(tmp_path / "cache"), put(tmp_path / "meeting")
        assets = put(tmp_path / "assets", *NAMES[1:])
        path = search_path(put_go(tmp_path / "bin", MEETING_GO))
        environ = {"KUBEBUILDER_ASSETS": str(assets), "MEETING": str(meeting)}

        both = [start(MODULE, path, cache, **environ) for _ in range(2)]
        results = [finish(process) for process in both]

        assert [(status, errors) for status, _, errors in results] == [(0, "")] * 2
        assert [each.name for each in folder_of(cache).iterdir()] == ["etcd"]
        assert (folder_of(cache) / "etcd").read_text() == "go.etcd.io/etcd/server/v3\n"


def test_the_version_is_the_one_that_all_of_kubernetes_has() -> None:
    major, minor, patch = programs.kubernetes_version().removeprefix("v").split(".")

    assert major == "1"
    assert f"k8s.io/api => k8s.io/api v0.{minor}.{patch}\n" in (MODULE / "go.mod").read_text()
