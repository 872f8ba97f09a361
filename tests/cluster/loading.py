"""What containerd of each node begins with: a folder in which all images are unpacked already.

Unpacking takes longer than all else that a node does to start. So it is done once, and each node
gets the same files as links, but for containerd's two databases.
"""

import hashlib
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.cluster.images import Images, run

_DATABASES = "*/*.db"
_LOAD = """\
set -eu
mount -t tmpfs tmpfs /run
ctr="$0 --namespace k8s.io"
"$1" --root "$2" --state /run/containerd --log-level warn &
shift 2
for try in $(seq 100); do $ctr version >/dev/null 2>&1 && break; sleep 0.1; done
for archive in "$@"; do $ctr images import --all-platforms "$archive" >/dev/null; done
kill $!
wait
"""


def loaded(store: Images, programs: Mapping[str, Path], images: Mapping[str, str]) -> Path:
    """Return the folder for some images, making it if it is not there.

    Args:
        store: Where they are.
        programs: Among them containerd and ctr.
        images: Their names in the store by those that they have on nodes.
    """
    key = hashlib.sha256(repr((sorted(images.items()), str(programs["ctr"]))).encode())
    folder = store.folder / f"loaded-{key.hexdigest()[:12]}"
    if not folder.exists():
        for old in store.folder.glob("loaded-*"):
            shutil.rmtree(old)  # nodes have links of their own
        with tempfile.TemporaryDirectory(dir=store.folder) as made:
            root = Path(made) / "root"
            archives = [Path(made) / f"{number}.tar" for number in range(len(images))]
            for (name, image), file in zip(images.items(), archives, strict=True):
                store.save(image, name, file)
            arguments = [programs["ctr"], programs["containerd"], root, *archives]
            run(
                *("unshare", "--mount", "--pid", "--kill-child", "sh", "-c", _LOAD),
                *map(str, arguments),
            )
            root.rename(folder)
    return folder


def link(folder: Path, target: Path) -> None:
    """Give a node what was loaded; both must be on one file system."""
    run("cp", "--archive", "--link", str(folder), str(target))
    for database in folder.glob(_DATABASES):
        own = target / database.relative_to(folder)
        own.unlink()
        shutil.copy2(database, own)
