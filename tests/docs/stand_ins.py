"""Programs that the documentation calls and that need a cluster, a node or a registry.

A script of its own, run in place of the program named first: it checks what can be checked without,
and prints what a later command of the same page goes on with. Trouble is told on stderr and in a
file, since a pipe hides the status.
"""

import base64
import json
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

_APPLIED = "applied.yaml"
_NOBODY = "http://127.0.0.1:1"
_REFUSED = ("connection refused", "was refused")
_FILES_ON_NODES = frozenset({"--merge", "--check", "--remove"})
_KEEPING = "--reset-then-reuse-values"
_OF_UPGRADES = frozenset({"--install", "--reuse-values", _KEEPING})
_CLUSTER = ("cluster.yaml", "pods.yaml")
_KINDS = {
    "nodes": ("v1", "Node"),
    "pods": ("v1", "Pod"),
    "pv": ("v1", "PersistentVolume"),
    "pvc": ("v1", "PersistentVolumeClaim"),
    "storageclasses": ("storage.k8s.io/v1", "StorageClass"),
    "nodes.longhorn.io": ("longhorn.io/v1beta2", "Node"),
    "volumes.longhorn.io": ("longhorn.io/v1beta2", "Volume"),
    "replicas.longhorn.io": ("longhorn.io/v1beta2", "Replica"),
    "settings.longhorn.io": ("longhorn.io/v1beta2", "Setting"),
    "backingimages.longhorn.io": ("longhorn.io/v1beta2", "BackingImage"),
}


class TroubleError(Exception):
    """The command would not work with a cluster either."""


def kubectl(arguments: list[str]) -> int:
    """Have the real one read flags and files, as far as it comes without a cluster."""
    if arguments[0] == "longhorn-scheduler":
        return extender(arguments[1:])
    real = os.environ["REAL_KUBECTL"]
    if arguments[0] == "apply" and "-" in arguments:
        Path(_APPLIED).write_text(sys.stdin.read(), encoding="utf-8")
        arguments = [_APPLIED if each == "-" else each for each in arguments]
    if real and _is_offline(arguments):
        return subprocess.run([real, *arguments], check=False).returncode
    if real:
        command = [real, f"--server={_NOBODY}", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if not any(sign in done.stderr for sign in _REFUSED):
            raise TroubleError(f"it did not come to ask a cluster: {done.stderr}{done.stdout}")
    else:
        _check_files(_following(arguments, "-k", "-f"))
    if "get" in arguments and "json" in arguments:
        sys.stdout.write(json.dumps(_listed(arguments[arguments.index("get") + 1 :])))
    if "configmap" in arguments and "yaml" in arguments:
        sys.stdout.write(_second_schedulers_configuration())
    if "secret" in arguments and "get" in arguments:
        sys.stdout.write(_file_of_secret(arguments))
    return 0


def extender(arguments: list[str]) -> int:
    """Run our own command if what it reads is here; `test_own_commands.py` has the rest."""
    if arguments[0] == "propose-address":
        sys.stdout.write("10.96.0.95\n")
        return 0
    reads_a_node = any(
        flag in _FILES_ON_NODES and path.startswith("/") for flag, path in pairwise(arguments)
    )
    if "--cluster-file" not in arguments and ("scheduler-config" not in arguments or reads_a_node):
        return 0
    command = [sys.executable, "-m", "cli", *arguments]
    return subprocess.run(command, check=False).returncode


def helm(arguments: list[str]) -> int:
    """Have the real one render the chart with these values, and leave out what needs a release."""
    command, *rest = arguments
    if command not in {"install", "upgrade"}:
        return 0
    if not (real := os.environ["REAL_HELM"]):
        _check_files(each for each in rest if each.startswith("charts/"))
        return 0
    # The chart refuses capital letters in a repository, so a reader cannot forget to replace these.
    filled_in = [each.replace("REPOSITORY", "registry.example") for each in rest]
    options = [each for each in filled_in if each not in _OF_UPGRADES]
    # Of the values that are used again, the chart cannot do without this one.
    kept = ["--set=image.repository=kept"] if _KEEPING in rest else []
    dry_run = [real, "install", *options, *kept, "--dry-run=client"]
    done = subprocess.run(dry_run, capture_output=True, text=True, check=False)
    if done.returncode:
        raise TroubleError(done.stderr)
    return 0


def make(arguments: list[str]) -> int:
    """Have the real one find the target."""
    command = [os.environ["REAL_MAKE"], "--dry-run", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise TroubleError(done.stderr)
    return 0


def cp(arguments: list[str]) -> int:
    """Check that the sources are there; the target is on a node."""
    _check_files(arguments[:-1])
    return 0


def docker(arguments: list[str]) -> int:
    """Check that there is something to build."""
    if arguments[0] == "build":
        _check_files([f"{arguments[-1]}/Dockerfile"])
    return 0


def curl(arguments: list[str]) -> int:
    """Send requests for the service to the one that runs for the test."""
    if any("/debug/state" in argument for argument in arguments):
        return 0  # a cluster from a file has none
    port = os.environ["SERVICE_PORT"]
    for host in ("127.0.0.1:9504", "10.43.0.95:9504", "10.96.0.95:9504"):
        arguments = ["--connect-to", f"{host}:127.0.0.1:{port}", *arguments]
    command = [os.environ["REAL_CURL"], "--fail", "--silent", "--show-error", *arguments]
    return subprocess.run(command, check=False).returncode


STAND_INS = {
    "cp": cp,
    "curl": curl,
    "docker": docker,
    "helm": helm,
    "kubectl": kubectl,
    "longhorn-scheduler-extender": extender,
    "make": make,
}


def _is_offline(arguments: list[str]) -> bool:
    return arguments[0] == "kustomize" or "--dry-run=client" in arguments


def _listed(arguments: list[str]) -> dict[str, object]:
    """Return the objects of the example that `kubectl get` would print."""
    import yaml  # noqa: PLC0415 (slow, and seldom needed)

    kinds = {_KINDS[name] for names in arguments for name in names.split(",") if name in _KINDS}
    documents: list[dict[str, object]] = []
    for name in _CLUSTER:
        text = Path(os.environ["EXAMPLE"], name).read_text(encoding="utf-8")
        documents += filter(None, yaml.load_all(text, yaml.CSafeLoader))
    items = [each for each in documents if (each["apiVersion"], each["kind"]) in kinds]
    return {"apiVersion": "v1", "kind": "List", "items": items}


def _second_schedulers_configuration() -> str:
    """Return its ConfigMap as `kubectl get --output yaml` prints it."""
    shipped = Path("manifests/secondary-scheduler/config.yaml").read_text(encoding="utf-8")
    return (
        "apiVersion: v1\ndata:\n  config.yaml: |\n"
        + textwrap.indent(shipped, "    ")
        + "kind: ConfigMap\nmetadata:\n  name: longhorn-scheduler-config\n"
        + '  namespace: longhorn-system\n  resourceVersion: "1"\n'
    )


def applied_secrets(folder: Path) -> dict[str, dict[str, bytes]]:
    """Return the Secrets that were applied there, with the contents of their files."""
    import yaml  # noqa: PLC0415 (slow, and seldom needed)

    if not (applied := folder / _APPLIED).exists():
        return {}
    documents = yaml.safe_load_all(applied.read_text(encoding="utf-8"))
    return {
        each["metadata"]["name"]: {
            name: base64.b64decode(content) for name, content in each["data"].items()
        }
        for each in documents
        if each and each["kind"] == "Secret"
    }


def _file_of_secret(arguments: list[str]) -> str:
    """Return the file that a template asks for, of any certificate if none was applied."""
    names = re.findall(r'"((?:ca|tls)\.\w+)"', " ".join(arguments))
    files = applied_secrets(Path()).get(arguments[arguments.index("secret") + 1], {})
    if files and names:
        return files[names[0]].decode()
    return _certificate() if names else ""


def _certificate() -> str:
    import trustme  # noqa: PLC0415 (slow, and seldom needed)

    return trustme.CA().issue_cert("extender.example").cert_chain_pems[0].bytes().decode()


def _check_files(paths: Iterable[str]) -> None:
    lost = [path for path in paths if path != "-" and not Path(path).exists()]
    if lost:
        raise TroubleError(f"there is no {', '.join(lost)}")


def _following(arguments: list[str], *flags: str) -> list[str]:
    return [value for flag, value in pairwise(arguments) if flag in flags]


def main(program: str, arguments: list[str]) -> int:
    """Stand in for a program; return the exit status."""
    try:
        status = STAND_INS[program](arguments)
    except TroubleError as error:
        text = f"{program} {' '.join(arguments)}: {error}\n"
        Path(os.environ["TROUBLE_FILE"]).write_text(text, encoding="utf-8")
        sys.stderr.write(text)
        return 1
    if "-" in arguments:  # else what writes into the pipe would fail
        sys.stdin.read()
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
