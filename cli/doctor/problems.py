"""What `doctor` finds; docs/doctor.md names each problem."""

from enum import StrEnum

import msgspec

from cli.catalogue import Severity


class Check(StrEnum):
    """What is checked, in the order of the report."""

    API_SERVER = "api-server"
    INSTALLATION = "installation"
    LONGHORN = "longhorn"
    RIGHTS = "rights"
    SETTINGS = "settings"
    OWN_EXTENDER = "own-extender"
    INSTANCES = "instances"
    LEASE = "lease"
    SERVICE = "service"
    ENDPOINTS = "endpoints"
    ACCESS = "access"
    INJECTION = "injection"
    SCHEDULER = "scheduler"
    REQUESTS = "requests"
    CANDIDATES = "candidates"
    STORAGE_CLASSES = "storage-classes"
    AUTOSCALER = "autoscaler"


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the report."""

    check: Check
    severity: Severity
    problem: str = ""
    """Its name in docs/doctor.md; empty if all is well, or it could not be seen."""
    text: str
    remedy: str = ""
