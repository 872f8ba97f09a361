"""Turns what was read into findings; pure."""

from cli.catalogue import Severity
from cli.doctor import (
    access,
    autoscaler,
    endpoints,
    injecting,
    installation,
    leading,
    own_extender,
    second_scheduler,
    settings,
    storage,
)
from cli.doctor.facts import Facts, Unread
from cli.doctor.problems import Check
from cli.doctor.seen import fine, unread
from cli.findings import Finding

_CHECKS = {
    Check.INSTALLATION: installation.installation,
    Check.LONGHORN: storage.longhorn,
    Check.RIGHTS: leading.rights,
    Check.SETTINGS: settings.settings,
    Check.OWN_EXTENDER: own_extender.beside,
    Check.INSTANCES: leading.instances,
    Check.LEASE: leading.lease,
    Check.SERVICE: endpoints.address,
    Check.ENDPOINTS: endpoints.endpoints,
    Check.ACCESS: access.access,
    Check.INJECTION: injecting.injection,
    Check.SCHEDULER: second_scheduler.second_scheduler,
    Check.REQUESTS: leading.requests,
    Check.CANDIDATES: leading.candidates,
    Check.STORAGE_CLASSES: storage.classes,
    Check.AUTOSCALER: autoscaler.autoscaler,
}


def findings(facts: Facts) -> list[Finding]:
    """Return at least one finding for each check, in the order of the checks.

    Where nothing is installed, that says it all.
    """
    found = [_api_server(facts)]
    if facts.left_over is not None:
        return [*found, *installation.absence(facts, facts.left_over)]
    for check, look in _CHECKS.items():
        found += _complete(check, [*look(facts)])
    return found


def _api_server(facts: Facts) -> Finding:
    if isinstance(facts.version, Unread):
        return unread(Check.API_SERVER, facts.version)
    return fine(Check.API_SERVER, f"Kubernetes {facts.version} answers")


def _complete(check: Check, found: list[Finding]) -> list[Finding]:
    """Leave out what is fine where something is not."""
    wrong = [finding for finding in found if finding.severity is not Severity.OK]
    assert found, f"{check} says nothing"
    return wrong or found
