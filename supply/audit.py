"""Ask pip-audit for known vulnerabilities, and never report "could not ask" as "none".

`python -m supply.audit [--require] LOCK...`. Where the service cannot be reached, pip-audit ends
with a traceback; where it knows none of the packages, with "No known vulnerabilities found". Here
either is one line that says so. It fails only with --require, since whoever works without a
network must be able to run the other checks.
"""

import argparse
import subprocess
import sys
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

SOCKET_TIMEOUT_SECONDS = 15
TIMEOUT_SECONDS = 180
ACCEPTED: dict[str, str] = {}
"""Vulnerabilities that the service is not exposed to: id or alias -> why not."""

_UNREACHED = ("requests.exceptions.", "ServiceError", "your network may be blocking this service")
"""What pip-audit's last words contain when the service did not answer, or not as it should."""


class Vulnerability(msgspec.Struct, frozen=True, kw_only=True):
    """What is known against a release, as pip-audit prints it."""

    id: str
    fix_versions: tuple[str, ...]
    aliases: tuple[str, ...] = ()


class Dependency(msgspec.Struct, frozen=True, kw_only=True):
    """A requirement: looked up, or skipped for a reason."""

    name: str
    version: str = ""
    vulns: tuple[Vulnerability, ...] = ()
    skip_reason: str = ""


class Report(msgspec.Struct, frozen=True):
    """What pip-audit prints with `--format json`."""

    dependencies: tuple[Dependency, ...]


class Verdict(NamedTuple):
    """What to print, and whether that is a failure: always, or if an audit is required."""

    lines: tuple[str, ...]
    is_failure: bool = False
    is_incomplete: bool = False


def judge(output: str, trouble: str, accepted: Mapping[str, str]) -> Verdict:
    """Judge a run of pip-audit by its standard output and its standard error."""
    if output:
        return _judge_report(msgspec.json.decode(output, type=Report), accepted)
    last = trouble.strip().rpartition("\n")[2]
    if any(sign in last for sign in _UNREACHED):
        return Verdict(
            (f"NOTHING AUDITED, the service was not reached: {last}",), is_incomplete=True
        )
    return Verdict((f"pip-audit failed: {last}",), is_failure=True)


def _judge_report(report: Report, accepted: Mapping[str, str]) -> Verdict:
    found = [
        _line(dependency, vulnerability)
        for dependency in report.dependencies
        for vulnerability in dependency.vulns
        if accepted.keys().isdisjoint((vulnerability.id, *vulnerability.aliases))
    ]
    skipped = [dependency for dependency in report.dependencies if dependency.skip_reason]
    return Verdict(
        (*found, _summary(len(report.dependencies), len(found), skipped)),
        is_failure=bool(found),
        is_incomplete=bool(skipped) or not report.dependencies,
    )


def _line(dependency: Dependency, vulnerability: Vulnerability) -> str:
    names = ", ".join(sorted((vulnerability.id, *vulnerability.aliases)))
    fixed = ", ".join(vulnerability.fix_versions) or "no release"
    return f"{dependency.name} {dependency.version}: {names}; fixed in {fixed}"


def _summary(count: int, found: int, skipped: list[Dependency]) -> str:
    if len(skipped) == count:
        why = skipped[0].skip_reason if skipped else "there are no packages"
        return f"NOTHING AUDITED, the service knows none of {count} packages: {why}"
    known = f"known vulnerabilities in {count - len(skipped)} packages: {found or 'none'}"
    if not skipped:
        return known
    names = ", ".join(dependency.name for dependency in skipped)
    return f"{known}; NOT AUDITED, as the service does not know them: {names}"


def run_pip_audit(locks: list[str]) -> tuple[str, str]:
    """Return what pip-audit writes to its standard output and to its standard error."""
    command = [sys.executable, "-m", "pip_audit", "--format", "json", "--progress-spinner", "off"]
    command += ["--disable-pip", "--require-hashes", "--timeout", str(SOCKET_TIMEOUT_SECONDS)]
    for lock in locks:
        command += ["--requirement", lock]
    try:
        done = subprocess.run(  # noqa: S603 (a fixed command)
            command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return "", f"ServiceError: no end after {TIMEOUT_SECONDS} s"
    return done.stdout, done.stderr


def main() -> int:
    """Audit the lock files named on the command line; 1 if that is a failure."""
    parser = argparse.ArgumentParser(prog="python -m supply.audit")
    parser.add_argument("locks", nargs="+", help="requirements with hashes")
    parser.add_argument("--require", action="store_true", help="fail if anything is not audited")
    arguments = parser.parse_args()
    verdict = judge(*run_pip_audit(arguments.locks), ACCEPTED)
    for line in verdict.lines:
        sys.stdout.write(f"audit: {line}\n")
    return int(verdict.is_failure or (arguments.require and verdict.is_incomplete))


if __name__ == "__main__":
    sys.exit(main())
