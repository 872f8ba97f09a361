"""What `doctor` looks at; docs/doctor.md names the problems of each check."""

from enum import StrEnum


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
