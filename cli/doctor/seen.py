"""Makes findings: what is wrong, what is fine, and what could not be seen."""

from cli.catalogue import PROBLEMS, Severity
from cli.doctor.facts import Unread
from cli.doctor.problems import Check
from cli.findings import Finding


def wrong(problem: str, text: str, remedy: str = "") -> Finding:
    """Report a problem; *text* names the object, *remedy* says what to do about this one."""
    entry = PROBLEMS[problem]
    return Finding(
        check=entry.check,
        severity=entry.severity,
        code=problem,
        text=text,
        remedies=(remedy or entry.action,),
    )


def fine(check: Check, text: str) -> Finding:
    """Report that nothing is wrong."""
    return Finding(check=check, severity=Severity.OK, text=text)


def unread(check: Check, fact: Unread) -> Finding:
    """Report that something could not be read, and with which right it could."""
    if not fact.is_forbidden:
        return unknown(check, f"cannot {fact.what}: {fact.why}", "run this again")
    return unknown(
        check,
        f"not allowed to {fact.what}",
        f"run this as a user who may {fact.what}, so that it can be checked",
    )


def unknown(check: Check, text: str, remedy: str = "") -> Finding:
    """Report that something cannot be judged."""
    return Finding(
        check=check, severity=Severity.UNKNOWN, text=text, remedies=(remedy,) if remedy else ()
    )
