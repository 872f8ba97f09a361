"""Move a release of the chart to another namespace: `python -m supply.move --from … --to …`.

`make move` runs it. The new release is installed beside the old one, and is idle until the old
second scheduler has ended: two of one name would place each pod twice, each by what its own service
holds. Pods that are created meanwhile wait for the seconds between the two.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
CHART = ROOT / "charts" / "longhorn-scheduler-extender"
NAME, SCHEDULER = "longhorn-scheduler-extender", "longhorn-scheduler"
NAMESPACE = ROOT / "manifests" / "namespace.yaml"
OWN = "longhorn-scheduler"
LEASES = (NAME, SCHEDULER, "longhorn-disk-schedule-controller")
IDLE = (
    "--set=liveSettings.enabled=false",
    "--set=injection.mode=none",
    f"--set=secondaryScheduler.schedulerName={SCHEDULER}-idle",
)
"""Of the new release until the old scheduler has ended. All its pods run, so its images are there;
it leads when that is over, and looks then for what must be held."""
UNDECIDED = ("--set=diskScheduleController.enabled=false",)
"""Until the old release is gone: two of these controllers would decide on the same disks."""
BY_HAND = "docs/upgrade.md#to-a-namespace-of-its-own says how to move it by hand"

Values = Mapping[str, Any]
Run = Callable[..., str]
"""Runs a command with this on its stdin, and returns what it prints; a failure is a MoveError."""


class MoveError(Exception):
    """The release cannot be moved; the text says why, and what became of both."""


class Move(NamedTuple):
    """From which namespace to which one, and the name of the release in both."""

    source: str
    target: str
    release: str


def refusal(move: Move, values: Values) -> str | None:
    """Say why a release with these values cannot be moved by this; None if it can."""
    if not move.source:
        return "say from which namespace: make move FROM=longhorn-system"
    if move.source == move.target:
        return f"the release is in {move.target} already"
    addresses = (values.get("service") or {}).get("clusterIP") or {}
    if any(addresses.values()):
        return f"its Service has a fixed address, which two cannot have at once: {BY_HAND}"
    return None


def secrets_of(values: Values) -> list[str]:
    """Return the names of the Secrets that are the user's own, which must be in both namespaces."""
    pull = [*((values.get("image") or {}).get("pullSecrets") or ()), *_pull_secrets(values)]
    names = [each["name"] for each in pull]
    tls = values.get("tls") or {}
    if tls.get("mode") == "secret":
        names.append(tls.get("secretName") or f"{NAME}-tls")
        names.append(tls.get("clientSecretName") or f"{NAME}-client")
    return sorted({*names})


def _pull_secrets(values: Values) -> Sequence[Mapping[str, str]]:
    return values.get("imagePullSecrets") or ()


def move(run: Run, plan: Move, clock: Callable[[], float]) -> float:
    """Move the release; return the seconds in which no second scheduler was there.

    Raises:
        MoveError: It cannot be moved; then the old release works as before.
    """
    if (why := refusal(plan, {})) is not None:
        raise MoveError(why)
    given = run("helm", "get", "values", *_of(plan, plan.source), "--output=json")
    values = json.loads(given) or {}
    if (why := refusal(plan, values)) is not None:
        raise MoveError(why)
    releases = ("secrets", f"--selector=owner=helm,name={plan.release}")
    if run("kubectl", "get", *releases, f"--namespace={plan.target}", "--output=name"):
        raise MoveError(f"{plan.target} has a release {plan.release} already: it stays as it is")
    if plan.target == OWN:
        run("kubectl", "apply", f"--filename={NAMESPACE}")
    for secret in secrets_of(values):
        run("kubectl", "get", "secret", secret, f"--namespace={plan.target}", "--output=name")
    replicas = run("kubectl", "get", *_scheduler(plan), "--output=jsonpath={.spec.replicas}")
    # Without its Job, which would wait for pods that the other release places.
    uninstall = ("helm", "uninstall", "--no-hooks")
    install = ("helm", "install", plan.release, str(CHART), *_with(plan))
    try:
        run(*install, *IDLE, *UNDECIDED, stdin=json.dumps(values))
    except MoveError:
        run(*uninstall, *_of(plan, plan.target), "--ignore-not-found")
        raise
    began = clock()
    upgrade = ("helm", "upgrade", plan.release, str(CHART), *_with(plan))
    try:
        run("kubectl", "scale", *_scheduler(plan), "--replicas=0")
        gone = ("--for=delete", "pod", f"--selector=app={SCHEDULER}", "--timeout=60s")
        run("kubectl", "wait", *gone, f"--namespace={plan.source}")
        run(*upgrade, *UNDECIDED, stdin=json.dumps(values))
    except MoveError as error:
        run(*uninstall, *_of(plan, plan.target), "--wait")
        run("kubectl", "scale", *_scheduler(plan), f"--replicas={replicas}")
        raise MoveError(f"{error}\nThe old release in {plan.source} works as before.") from error
    seconds = clock() - began
    run(*uninstall, *_of(plan, plan.source), "--wait")
    if (values.get("diskScheduleController") or {}).get("enabled"):
        run(*upgrade, stdin=json.dumps(values))
    _delete_leases(run, plan.source)
    return seconds


def _of(plan: Move, namespace: str) -> tuple[str, str]:
    return plan.release, f"--namespace={namespace}"


def _with(plan: Move) -> tuple[str, ...]:
    return f"--namespace={plan.target}", "--values=-", "--wait"


def _scheduler(plan: Move) -> tuple[str, str]:
    """Return how kubectl names the old second scheduler."""
    return f"deployment/{SCHEDULER}", f"--namespace={plan.source}"


def _delete_leases(run: Run, namespace: str) -> None:
    """Delete those of the pods that are gone: Longhorn's own extender may hold one of these names.

    A holder is a pod by its name; one that lost its rights first could not give the Lease back.
    """
    where = f"--namespace={namespace}"
    holder = "--output=jsonpath={.metadata.name} {.spec.holderIdentity}"
    for lease in LEASES:
        found = run("kubectl", "get", "lease", lease, where, "--ignore-not-found", holder)
        _, _, holder_of = found.partition(" ")
        if found and (not holder_of or holder_of.startswith(f"{lease}-")):
            run("kubectl", "delete", "lease", lease, where)


def _run(*command: str, stdin: str = "") -> str:
    sys.stderr.write(f"+ {' '.join(command)}\n")
    try:
        done = subprocess.run(  # noqa: S603 (our own commands)
            command, input=stdin, capture_output=True, text=True, check=False
        )
    except FileNotFoundError as error:
        raise MoveError(f"{command[0]} is not on the PATH") from error
    if done.returncode:
        raise MoveError(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def main() -> int:
    """Do what the arguments say."""
    parser = argparse.ArgumentParser(prog="python -m supply.move", description=__doc__)
    parser.add_argument("--from", required=True, dest="source", metavar="NAMESPACE")
    parser.add_argument("--to", default=OWN, dest="target", metavar="NAMESPACE")
    parser.add_argument("--release", default=NAME)
    arguments = parser.parse_args()
    plan = Move(arguments.source, arguments.target, arguments.release)
    try:
        seconds = move(_run, plan, time.monotonic)
    except MoveError as error:
        sys.stderr.write(f"move: {error}\n")
        return 1
    sys.stdout.write(
        f"moved to {plan.target}; new pods with claims waited for {seconds:.0f} s at most\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
