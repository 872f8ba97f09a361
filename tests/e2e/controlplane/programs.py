"""Find the programs of the control plane, or build them from a `go.mod` once.

Each version of Kubernetes has a folder with a `go.mod` here; `E2E_KUBERNETES` chooses one, and the
newest is the default. The other variables are those of controller-runtime's envtest, with two more
for the programs that its archives do not hold. What they do not name is built into a cache outside
the tree; the folder is named after what goes into the build, so that another version never meets an
old program.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

_HERE = Path(__file__).parent
VERSION_VARIABLE = "E2E_KUBERNETES"
FOLDER_VARIABLE = "KUBEBUILDER_ASSETS"
_KUBERNETES = "k8s.io/kubernetes"
_FLAGS = ("-trimpath", "-buildvcs=false")


class Program(msgspec.Struct, frozen=True):
    """One program.

    Attributes:
        name: Of its file.
        variable: Names a file to use instead; empty if none can be named.
        package: Its Go package.
        module: The folder of the `go.mod` that it is built from; None: that of Kubernetes.
        tags: For the compiler.
    """

    name: str
    variable: str
    package: str
    module: Path | None = None
    tags: str = ""


PROGRAMS = (
    Program("etcd", "TEST_ASSET_ETCD", "go.etcd.io/etcd/server/v3"),
    Program("kube-apiserver", "TEST_ASSET_KUBE_APISERVER", f"{_KUBERNETES}/cmd/kube-apiserver"),
    Program(
        "kube-controller-manager",
        "TEST_ASSET_KUBE_CONTROLLER_MANAGER",
        f"{_KUBERNETES}/cmd/kube-controller-manager",
    ),
    Program("kube-scheduler", "TEST_ASSET_KUBE_SCHEDULER", f"{_KUBERNETES}/cmd/kube-scheduler"),
)


class MissingError(Exception):
    """A program is neither there nor can it be built."""


def minor_versions() -> tuple[str, ...]:
    """Return the versions of Kubernetes that can be built, oldest first: `1.34`, `1.35`."""
    folders = (file.parent.name for file in _HERE.glob("*/go.mod"))
    return tuple(sorted(folders, key=lambda name: int(name.removeprefix("1."))))


def module_of(environ: Mapping[str, str]) -> Path:
    """Return the folder of the `go.mod` of the Kubernetes that is asked for.

    Raises:
        MissingError: No version of that name is here.
    """
    versions = minor_versions()
    asked = environ.get(VERSION_VARIABLE) or versions[-1]
    if asked not in versions:
        raise MissingError(f"{VERSION_VARIABLE} is {asked}; name one of {', '.join(versions)}")
    return _HERE / asked


def find(
    environ: Mapping[str, str], cache: Path, wanted: Sequence[Program] = PROGRAMS
) -> dict[str, Path | None]:
    """Return each program's file by its name; None if it has to be built.

    Raises:
        MissingError: A variable names a file that is not there.
    """
    return {program.name: _given(program, environ) or _built(program, cache) for program in wanted}


def build(
    wanted: Sequence[Program], environ: Mapping[str, str], module: Path, say: Callable[[str], None]
) -> None:
    """Build programs of a module into its cache, saying how long it takes.

    Raises:
        MissingError: There is no Go, or it does not build them.
    """
    go = shutil.which("go")
    cache = cache_folder(environ, module)
    names = ", ".join(program.name for program in wanted)
    if go is None:
        raise MissingError(_HOW.format(names, FOLDER_VARIABLE))
    say(f"building {names} into {cache}, once;")
    say("with nothing in Go's own caches this takes five to ten minutes on two cores")
    link = f"-s -w -X k8s.io/component-base/version.gitVersion={kubernetes_version(environ)}"
    cache.mkdir(parents=True, exist_ok=True)
    for program in wanted:
        began = time.monotonic()
        _build([go, "build", *_FLAGS, "-ldflags", link], program, module, cache)
        say(f"built {program.name} in {time.monotonic() - began:.0f} s")


def cache_folder(environ: Mapping[str, str], module: Path) -> Path:
    """Return where programs built from a `go.mod` are kept."""
    files = (module / "go.mod", module / "go.sum", *sorted(module.rglob("*.go")))
    sources = b"".join(file.read_bytes() for file in files)
    return cache_root(environ) / hashlib.sha256(sources).hexdigest()[:12]


def cache_root(environ: Mapping[str, str]) -> Path:
    """Return where everything is kept that the end-to-end tests build once."""
    root = Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute()
    return root / "longhorn-scheduler-extender"


def kubernetes_version(environ: Mapping[str, str]) -> str:
    """Return the version of Kubernetes that is built: `v1.37.2`."""
    found = re.search(rf"{_KUBERNETES} (v\d\S+)", (module_of(environ) / "go.mod").read_text())
    assert found
    return found[1]


def locate(
    environ: Mapping[str, str],
    say: Callable[[str], None],
    wanted: Sequence[Program] = PROGRAMS,
) -> dict[str, Path]:
    """Return each program's file by its name, building what there is not.

    Raises:
        MissingError: A program is neither there nor can it be built.
    """
    found: dict[str, Path] = {}
    chosen = module_of(environ)
    for module in dict.fromkeys(program.module or chosen for program in wanted):
        of_module = [program for program in wanted if (program.module or chosen) == module]
        cache = cache_folder(environ, module)
        there = find(environ, cache, of_module)
        if missing := [program for program in of_module if there[program.name] is None]:
            build(missing, environ, module, say)
        there = find(environ, cache, of_module)
        found |= {name: path for name, path in there.items() if path is not None}
    return found


def _given(program: Program, environ: Mapping[str, str]) -> Path | None:
    if not program.variable:
        return None
    if named := environ.get(program.variable):
        if not Path(named).is_file():
            raise MissingError(f"{program.variable} names {named}, which is not a file")
        return Path(named)
    if folder := environ.get(FOLDER_VARIABLE):
        if not Path(folder).is_dir():
            raise MissingError(f"{FOLDER_VARIABLE} names {folder}, which is not a folder")
        path = Path(folder) / program.name
        return path if path.is_file() else None
    return None


def _built(program: Program, cache: Path) -> Path | None:
    path = cache / program.name
    return path if path.is_file() else None


def _build(command: Sequence[str], program: Program, module: Path, cache: Path) -> None:
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        result = Path(folder) / program.name
        tags = [f"-tags={program.tags}"] if program.tags else []
        done = subprocess.run(
            [*command, *tags, "-o", str(result), program.package],
            cwd=module,
            env={**os.environ, "CGO_ENABLED": "0"},
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            last_lines = "\n".join(done.stderr.splitlines()[-10:])
            raise MissingError(f"{program.name} could not be built:\n{last_lines}")
        result.replace(cache / program.name)  # whole, or not at all


_HOW = """\
The end-to-end tests need {0}, and there is no Go to build them with. Either
- install Go 1.26 or newer (https://go.dev/dl/) and run this again, which builds them once, or
- name a folder that holds them in {1}, or each file in TEST_ASSET_ETCD,
  TEST_ASSET_KUBE_APISERVER, TEST_ASSET_KUBE_CONTROLLER_MANAGER and TEST_ASSET_KUBE_SCHEDULER."""


def main() -> int:
    """Build what is missing and print where everything is."""
    try:
        found = locate(os.environ, print_at_once)
    except MissingError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    for name, path in found.items():
        print_at_once(f"{name}: {path}")
    return 0


def print_at_once(line: str) -> None:
    """Print a line that is seen while a build takes its time."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
