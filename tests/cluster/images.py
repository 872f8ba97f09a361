"""Build images without Docker: with buildah, and Debian's packages for the base.

They are in a store of their own below the cache of the end-to-end tests, tagged by a hash of what
went into them; one that is there is not built again. What this machine needs to reach an index of
packages is mounted while an image is built, and is in none of them.
"""

import hashlib
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from app.config import NAME
from tests.e2e.controlplane import programs

ROOT = Path(__file__).parents[2]
SUITE = "trixie"
"""Of Debian; it has the Python of the Dockerfile's base."""
PACKAGES = "python3,python3-venv,ca-certificates"
TOOLS = {"buildah": "buildah", "debootstrap": "debootstrap", "unshare": "util-linux"}
"""Programs, and the packages of Debian that have them."""
_BASE = Path(__file__).parent / "base" / "Containerfile"
_CERTIFICATES = "/etc/ssl/certs"
_OF_MACHINE = f"--volume={_CERTIFICATES}:{_CERTIFICATES}:ro"
_OF_THE_MACHINE = ("./dev/*", "./etc/hostname", "./etc/resolv.conf", "./var/cache/apt/*")
"""What debootstrap leaves behind, besides lists of packages."""
PAUSE_IMAGE = "registry.k8s.io/pause:3.10"
"""What the examples' pods run, and what holds the namespaces of every pod."""
_OF_PROGRAM = """\
FROM scratch
COPY {0} /usr/local/bin/
ENV PATH=/usr/local/bin
ENTRYPOINT ["{0}"]
"""
_KEPT = 3
"""Images of one name: clones may be tested side by side."""


class ImageError(Exception):
    """An image could not be built; the text is the end of what the program said."""


class Images:
    """The store.

    Attributes:
        folder: Of the store; made if it is not there.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._buildah = (
            "buildah",
            f"--root={folder / 'store'}",
            f"--runroot={folder / 'run'}",
            "--storage-driver=overlay",
        )

    def base(self) -> str:
        """Build what stands for the base of the Dockerfile; return its name."""
        name = _tagged("python", [SUITE.encode(), PACKAGES.encode(), _BASE.read_bytes()])
        if not self._has(name):
            with tempfile.TemporaryDirectory(dir=self._made()) as folder:
                context = Path(folder)
                _bootstrap(context / "rootfs", context / "rootfs.tar")
                self._build(name, _BASE, context)
        return name

    def service(self) -> str:
        """Build the image of the service with `make image`; return its name."""
        base = self.base()
        name = _tagged(NAME, [base.encode(), *map(Path.read_bytes, _sources())])
        if not self._has(name):
            build = shlex.join([*self._alone("bud", "--isolation=chroot", _OF_MACHINE)])
            run("make", "image", f"IMAGE={name}", f"PYTHON_IMAGE={base}", f"BUILD={build}")
            self._forget_old(name)
        return name

    def service_of(self, commit: str) -> str:
        """Build the image of the service as it was at a commit; return its name."""
        base = self.base()
        name = _tagged(f"{NAME}-of-then", [base.encode(), commit.encode()])
        if not self._has(name):
            with tempfile.TemporaryDirectory(dir=self._made()) as folder:
                run("sh", "-euc", 'git archive "$0" | tar -xC "$1"', commit, folder)
                self._build(name, Path(folder) / "Dockerfile", Path(folder), base)
        return name

    def program(self, program: Path) -> str:
        """Build an image of a program that needs nothing besides; return its name."""
        name = _tagged(program.name, [str(program).encode(), _OF_PROGRAM.encode()])
        if not self._has(name):
            with tempfile.TemporaryDirectory(dir=self._made()) as folder:
                containerfile = Path(folder) / "Containerfile"
                containerfile.write_text(_OF_PROGRAM.format(program.name), encoding="utf-8")
                self._build(name, containerfile, program.parent)
        return name

    def unpack(self, image: str, folder: Path) -> None:
        """Copy the file system of an image into a folder that is not there yet."""
        container = self._ask("from", "--pull-never", image)
        try:
            mount = shlex.join([*self._buildah, "mount", container])
            run("unshare", "--mount", "sh", "-euc", f'cp -a "$({mount})" "$0"', str(folder))
        finally:
            self._ask("rm", container)

    def describe(self, image: str) -> str:
        """Return what the image says of itself, as JSON."""
        return self._ask("inspect", "--type=image", image)

    def save(self, image: str, name: str, file: Path) -> None:
        """Write an image to a file, under another name."""
        self._ask("push", "--quiet", image, f"docker-archive:{file}:{name}")

    def _build(self, name: str, containerfile: Path, context: Path, base: str = "") -> None:
        options = ["--isolation=chroot", f"--file={containerfile}", f"--tag={name}"]
        if base:
            options += [f"--build-arg=PYTHON_IMAGE={base}", _OF_MACHINE]
        self._ask("bud", *options, str(context))
        self._forget_old(name)

    def _has(self, name: str) -> bool:
        return self.folder.exists() and name in self._names()

    def _forget_old(self, name: str) -> None:
        """Remove all images of the same name but the newest."""
        repository = name.rpartition(":")[0]
        same = [each for each in self._names() if each.startswith(f"{repository}:")]
        for each in same[_KEPT:]:
            self._ask("rmi", each)

    def _names(self) -> list[str]:
        """Return the names of all images, the newest first."""
        return self._ask("images", "--format={{.Name}}:{{.Tag}}").splitlines()

    def _ask(self, *arguments: str) -> str:
        return run(*self._alone(*arguments))

    def _alone(self, *arguments: str) -> tuple[str, ...]:
        """Return a command of buildah whose mounts end with it."""
        return ("unshare", "--mount", *self._buildah, *arguments)

    def _made(self) -> Path:
        self.folder.mkdir(parents=True, exist_ok=True)
        return self.folder


def images() -> Images:
    """Return the store of this machine."""
    return Images(programs.cache_root(os.environ) / "images")


def main() -> int:
    """Build the image of the service, and print its name."""
    try:
        sys.stdout.write(f"{images().service()}\n")
    except ImageError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def _bootstrap(folder: Path, archive: Path) -> None:
    """Install Debian's packages into a folder, and pack it."""
    run("debootstrap", "--variant=minbase", f"--include={PACKAGES}", SUITE, str(folder))
    left_out = [f"--exclude={path}" for path in (*_OF_THE_MACHINE, "./var/lib/apt/lists/*")]
    run("tar", f"--directory={folder}", *left_out, "--create", f"--file={archive}", ".")


def _sources() -> list[Path]:
    """Return the files that the Dockerfile may copy, and itself."""
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    copied = [
        ROOT / name
        for name in sorted(listed.split("\0"))
        if not name.startswith(".") and name.partition("/")[0] not in ignored
    ]
    return [path for path in copied if path.is_file()] + [
        ROOT / "Dockerfile",
        ROOT / ".dockerignore",
    ]


def _tagged(name: str, parts: Iterable[bytes]) -> str:
    """Return the name of an image with what it is made of as its tag."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(hashlib.sha256(part).digest())
    return f"localhost/{name}:{digest.hexdigest()[:12]}"


def run(*command: str) -> str:
    """Run a command in the root of the repository; return what it prints.

    Raises:
        ImageError: It failed.
    """
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last_lines = "\n".join((done.stdout + done.stderr).splitlines()[-10:])
        raise ImageError(f"{shlex.join(command)} ended with {done.returncode}:\n{last_lines}")
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
