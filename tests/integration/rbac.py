"""The shipped rules of access, applied as the API server's RBAC authorizer does.

Follows kubernetes `plugin/pkg/auth/authorizer/rbac/rbac.go` (`RuleAllows`), without wildcards and
the rules for paths, none of which the manifests use. A subresource is a resource of its own.
"""

from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests.fakes import Call

MANIFESTS = Path(__file__).parents[2] / "manifests"
SERVICE = "base"
NAMESPACE = "longhorn-scheduler"
"""Of what does not name another one."""
STARTUP_TAINT = "components/startup-taint"
CONTROLLER, OF_OBJECTS = "components/disk-schedule-controller", "components/disk-schedule-objects"


class Grant(NamedTuple):
    """One verb on one resource, of the objects of one name if that is set."""

    group: str
    resource: str
    verb: str
    name: str
    namespace: str
    """Empty: in every namespace, and what is in none."""

    def allows(self, call: Call) -> bool:
        return (
            (self.group, self.resource, self.verb) == (call.group, call.resource, call.verb)
            and self.name in ("", call.name)
            and self.namespace in ("", call.namespace)
        )


class Rules:
    """What is granted, and how often each grant was used."""

    def __init__(self, grants: list[Grant]) -> None:
        self.used = Counter(dict.fromkeys(grants, 0))

    def allow(self, call: Call) -> bool:
        granted = [grant for grant in self.used if grant.allows(call)]
        self.used.update(granted)
        return bool(granted)


def shipped(*components: str) -> Rules:
    """Read the rules of the service, with some components."""
    return _rules(SERVICE, *components)


def of_the_controller(*, manage_objects: bool) -> Rules:
    """Read the rules of the controller of DiskSchedules."""
    return _rules(CONTROLLER, *([OF_OBJECTS] if manage_objects else []))


def _rules(*folders: str) -> Rules:
    return rules_of(role for folder in folders for role in _roles(folder))


def rules_of(roles: Iterable[dict[str, Any]]) -> Rules:
    """Read the rules of Roles and ClusterRoles."""
    return Rules(
        [
            grant
            for role in roles
            for rule in role["rules"]
            for grant in _grants(rule, _namespace(role))
        ]
    )


@cache
def _roles(folder: str) -> list[dict[str, Any]]:
    return [
        each
        for path in sorted((MANIFESTS / folder).glob("*rbac.yaml"))
        for each in yaml.safe_load_all(path.read_text())
        if each["kind"] in ("Role", "ClusterRole")
    ]


def _namespace(role: dict[str, Any]) -> str:
    """Return where a role is bound; a ClusterRole is everywhere."""
    if role["kind"] == "ClusterRole":
        return ""
    namespace: str = role["metadata"].get("namespace", NAMESPACE)
    return namespace


def _grants(rule: dict[str, Any], namespace: str) -> list[Grant]:
    unknown = rule.keys() - {"apiGroups", "resources", "resourceNames", "verbs"}
    assert not unknown, f"rules have {unknown}, which is not understood here"
    return [
        Grant(group, resource, verb, name, namespace)
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", [""])
    ]
