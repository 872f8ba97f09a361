"""Where kubectl's configuration is, found without what can read it."""

import os
from collections.abc import Mapping
from pathlib import Path

from app.errors import InputError

_DEFAULT = "~/.kube/config"


def kubeconfig_files(given: Path | None, environ: Mapping[str, str]) -> str:
    """Return the files that kubectl would merge, joined as in $KUBECONFIG; some may be absent.

    Args:
        given: The one that is asked for, if there is one.
        environ: The variables of the process.

    Raises:
        InputError: None of them is there.
    """
    files = str(given) if given is not None else environ.get("KUBECONFIG") or _DEFAULT
    if not any(_is_there(each) for each in files.split(os.pathsep) if each):
        raise InputError(
            f"there is no kubeconfig {files}; give one with --kubeconfig or in KUBECONFIG, run the "
            f"command in a pod of the service (kubectl exec), or give the cluster as files to a "
            f"command that has --cluster-file"
        )
    return files


def _is_there(file: str) -> bool:
    try:
        return Path(file).expanduser().exists()
    except (OSError, RuntimeError):  # it may not be looked for; nobody knows the home
        return False
