"""Every problem that `doctor` can find, with its remedy; docs/doctor.md names each."""

from enum import Enum, StrEnum

import msgspec


class Severity(StrEnum):
    """How bad a finding is."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"
    UNKNOWN = "unknown"


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


_APPLY = "apply the manifests again (docs/install.md#the-command)"

ASK_FOR_SCORES = (
    "set prioritizeVerb: prioritize and a weight in the extender's entry of kube-scheduler's "
    "configuration, and restart it (docs/kube-scheduler.md)"
)
SEND_ALL_NODES = (
    "set percentageOfNodesToScore: 100 in kube-scheduler's configuration (docs/kube-scheduler.md)"
)
"""Remedies that `scheduler-config --check` gives, too."""


class Problem(Enum):
    """A problem: where it shows, how bad it is, and what to do."""

    NOT_INSTALLED = (
        Check.INSTALLATION,
        Severity.ERROR,
        "install it (docs/install.md), or set EXTENDER_NAMESPACE to the namespace where it is",
    )
    KIND_NOT_SERVED = (
        Check.LONGHORN,
        Severity.ERROR,
        "install Longhorn, or upgrade it: its API longhorn.io/v1beta2 is needed",
    )
    NO_LONGHORN_NODE = (
        Check.LONGHORN,
        Severity.ERROR,
        "set EXTENDER_LONGHORN_NAMESPACE to the namespace of Longhorn, or see why longhorn-manager "
        "does not run",
    )
    OBJECT_UNREADABLE = (
        Check.LONGHORN,
        Severity.WARNING,
        "correct the object: until then no pod gets a node for which it is needed",
    )
    NODE_UNUSABLE = (
        Check.LONGHORN,
        Severity.WARNING,
        "see the node in Longhorn's UI, if it should hold volumes",
    )
    DISK_SCHEDULE_NOT_READY = (
        Check.LONGHORN,
        Severity.WARNING,
        "see why the controller that decides it does not run: until it is Ready the disk counts by "
        "its Node and the Replicas",
    )
    DISK_WITHOUT_SCHEDULE = (
        Check.LONGHORN,
        Severity.WARNING,
        "see why Longhorn made none: until there is one the disk counts by its Node and the "
        "Replicas, and Longhorn may place nothing there",
    )
    FEATURE_NOT_JUDGED = (
        Check.LONGHORN,
        Severity.WARNING,
        "see whether a newer version of the extender judges it; until then keep such pods to nodes "
        "of your choice (nodeSelector), or do without (docs/nodes.md#what-is-not-known)",
    )
    RIGHT_MISSING = (
        Check.RIGHTS,
        Severity.ERROR,
        f"{_APPLY}: manifests/base grants it. Without patch of pods the service runs if "
        "EXTENDER_WAKE_UP is false",
    )
    VARIABLE_UNUSABLE = (
        Check.SETTINGS,
        Severity.ERROR,
        "correct the variable in the Deployment (docs/settings.md lists them)",
    )
    LIVE_SETTING_UNUSABLE = (
        Check.SETTINGS,
        Severity.WARNING,
        "correct the value in the ConfigMap; until then the last good one is in force",
    )
    DISABLED = (
        Check.SETTINGS,
        Severity.ERROR,
        "set scheduler-extender-enabled to true, or turn the extender off as "
        "docs/install.md#turning-it-off says: until then pods that ask for it stay pending",
    )
    LONGHORN_SETTING_UNUSABLE = (
        Check.SETTINGS,
        Severity.ERROR,
        "correct the Setting: Longhorn cannot read it either",
    )
    ANSWERS_LATE = (
        Check.SETTINGS,
        Severity.WARNING,
        "make sure that httpTimeout of the extender in kube-scheduler's configuration is longer, "
        "and ignore this if it is",
    )
    NAMESPACE_SHARED = (
        Check.OWN_EXTENDER,
        Severity.WARNING,
        "move the service to a namespace of its own (docs/upgrade.md#to-a-namespace-of-its-own): "
        "Longhorn 1.13 has a Service, a Lease and EndpointSlices of the same names",
    )
    NAMESPACE_CONTESTED = (
        Check.OWN_EXTENDER,
        Severity.ERROR,
        "set Longhorn's setting scheduler-extender-enabled to false, or move the service to a "
        "namespace of its own (docs/upgrade.md#to-a-namespace-of-its-own): until then each leader "
        "takes the Service away from the other",
    )
    PACK_OUTWEIGHED = (
        Check.SETTINGS,
        Severity.WARNING,
        "write kube-scheduler's configuration with `scheduler-config --no-capacity-score` "
        "(docs/kube-scheduler.md#packing), and ignore this if it is",
    )
    NO_INSTANCE = (
        Check.INSTANCES,
        Severity.ERROR,
        f"{_APPLY}, or set EXTENDER_NAMESPACE to the namespace of the service",
    )
    NO_INSTANCE_READY = (
        Check.INSTANCES,
        Severity.ERROR,
        "see `kubectl describe` of the pods, and their logs: /readyz says what they wait for",
    )
    NO_STANDBY = (
        Check.INSTANCES,
        Severity.WARNING,
        "run two instances: until then pods that ask for the extender wait whenever this one is "
        "replaced",
    )
    INSTANCE_NOT_READY = (
        Check.INSTANCES,
        Severity.WARNING,
        "see `kubectl describe` of the pod, and its log: /readyz says what it waits for",
    )
    LEASE_ABSENT = (
        Check.LEASE,
        Severity.ERROR,
        "see why no instance leads: their logs, and the other findings of this run",
    )
    LEASE_FREE = (
        Check.LEASE,
        Severity.ERROR,
        "see why no instance wants to lead: their /readyz, and the other findings of this run",
    )
    LEASE_STALE = (
        Check.LEASE,
        Severity.ERROR,
        "see why no other instance takes over: their /readyz, and the other findings of this run",
    )
    HOLDER_GONE = (
        Check.LEASE,
        Severity.ERROR,
        "end the process that holds the lease, or set EXTENDER_POD_NAME to the name of its pod",
    )
    SERVICE_ABSENT = (
        Check.SERVICE,
        Severity.ERROR,
        f"{_APPLY}: without the Service kube-scheduler has no address to call",
    )
    SERVICE_SELECTS = (
        Check.SERVICE,
        Severity.ERROR,
        "remove spec.selector: with it instances that do not lead are published, too, and the "
        "leader publishes no address",
    )
    SERVICE_WITHOUT_PORT = (
        Check.SERVICE,
        Severity.ERROR,
        f"{_APPLY}: the Service needs a TCP port",
    )
    SERVICE_WITHOUT_ADDRESS = (
        Check.SERVICE,
        Severity.ERROR,
        "delete the Service and create it with type ClusterIP and an address "
        "(docs/kube-scheduler.md#an-address)",
    )
    ENDPOINTS_ABSENT = (
        Check.ENDPOINTS,
        Severity.ERROR,
        "see why no instance leads, or why the leader does not publish itself: its log says "
        "endpointslice.unpublished",
    )
    ENDPOINTS_FOREIGN = (
        Check.ENDPOINTS,
        Severity.ERROR,
        "find who writes it, and delete it; the leader empties it within 10 s, again and again",
    )
    ENDPOINTS_LEFT_OVER = (
        Check.ENDPOINTS,
        Severity.WARNING,
        "find who wrote it, and delete it; the leader has emptied it, so that it does no harm",
    )
    ENDPOINTS_WRONG = (
        Check.ENDPOINTS,
        Severity.ERROR,
        "run this again in 10 s; if it stays, see endpointslice.unpublished in the leader's log",
    )
    FAMILY_UNSERVED = (
        Check.ENDPOINTS,
        Severity.WARNING,
        "take the family off the Service (spec.ipFamilies), or give pods addresses of it",
    )
    PORT_OPEN = (
        Check.ACCESS,
        Severity.WARNING,
        "let only kube-scheduler in, by its certificate (docs/tls.md) or by its addresses "
        "(docs/security.md#the-network): whoever asks can make pods wait",
    )
    NOT_INJECTED = (
        Check.INJECTION,
        Severity.ERROR,
        "set injection.mode of the chart to auto, and upgrade the release (docs/injection.md); "
        "with none, pods name the resource themselves",
    )
    INJECTION_WAITS = (
        Check.INJECTION,
        Severity.ERROR,
        "configure kube-scheduler on every control-plane node, and run `helm test`: its first pod "
        "runs only if kube-scheduler asks; then set kubeSchedulerConfigured of the chart to true, "
        "and upgrade the release (docs/kube-scheduler.md#if-the-service-came-first)",
    )
    INJECTION_WITHOUT_EFFECT = (
        Check.INJECTION,
        Severity.ERROR,
        "upgrade the release, which writes it again (docs/injection.md#when-it-does-not-work)",
    )
    SCHEDULER_NOT_READY = (
        Check.SCHEDULER,
        Severity.ERROR,
        "see `kubectl describe` of the pods, and their logs: until one is ready, nobody schedules "
        "pods that name it",
    )
    SCHEDULER_NOT_CONFIGURED = (
        Check.SCHEDULER,
        Severity.ERROR,
        f"{_APPLY}: without the entry pods that ask for the extender get no node",
    )
    EMERGENCY_ON = (
        Check.SCHEDULER,
        Severity.ERROR,
        "have it ask again (docs/troubleshooting.md#emergency-schedule-without-the-extender): "
        "until then pods get nodes where their volumes may not fit",
    )
    SCHEDULER_CALLS_WRONG = (
        Check.SCHEDULER,
        Severity.ERROR,
        f"{_APPLY}, and restart the second scheduler",
    )
    SCHEDULER_NOT_RESTARTED = (
        Check.SCHEDULER,
        Severity.ERROR,
        "restart it: kube-scheduler reads its configuration once",
    )
    INJECTION_OFF = (
        Check.INJECTION,
        Severity.ERROR,
        "see why no pod gets a node through the extender (docs/install.md#if-it-fails), then "
        "upgrade the release, which begins injection; if somebody has turned it off, set "
        "scheduler-extender-inject to true (docs/injection.md)",
    )
    SCHEDULER_OF_OTHER_VERSION = (
        Check.SCHEDULER,
        Severity.WARNING,
        "upgrade the release with --reset-then-reuse-values: it takes the version of the cluster, "
        "unless secondaryScheduler.image.tag names another one (docs/upgrade.md#how)",
    )
    NEVER_CALLED = (
        Check.REQUESTS,
        Severity.WARNING,
        "start a pod that asks for longhorn.io/scheduler-extender; if this stays, check urlPrefix, "
        "filterVerb and managedResources in kube-scheduler's configuration, and that it was "
        "restarted with it (docs/kube-scheduler.md)",
    )
    NEVER_PRIORITIZED = (
        Check.REQUESTS,
        Severity.WARNING,
        f"{ASK_FOR_SCORES}. Ignore this if scores are not wanted, or if no pod has had a choice "
        "yet: kube-scheduler asks only if two or more nodes are left",
    )
    NODES_NOT_SENT = (
        Check.CANDIDATES,
        Severity.WARNING,
        f"{SEND_ALL_NODES}, and ignore this if it is set: the next pod that may go anywhere will "
        "show it",
    )
    NO_CLASS = (
        Check.STORAGE_CLASSES,
        Severity.WARNING,
        "create a StorageClass of Longhorn's with volumeBindingMode WaitForFirstConsumer and "
        "dataLocality best-effort or strict-local",
    )
    CLASS_NOT_LOCAL = (
        Check.STORAGE_CLASSES,
        Severity.WARNING,
        "use a class with dataLocality best-effort or strict-local for pods that ask for the "
        "extender; classes cannot be changed, only deleted and created again",
    )
    CLASS_IMMEDIATE = (
        Check.STORAGE_CLASSES,
        Severity.WARNING,
        "use a class with volumeBindingMode WaitForFirstConsumer for pods that ask for the "
        "extender; classes cannot be changed, only deleted and created again",
    )
    COMPUTE_NODES_LEFT_OUT = (
        Check.STORAGE_CLASSES,
        Severity.WARNING,
        "set storageCapacityMode: zone in the class (delete it and create it again), or Longhorn's "
        "setting csi-storage-capacity-tracking to false; ignore this if such pods are not to run "
        "there",
    )
    CLASS_UNUSABLE = (
        Check.STORAGE_CLASSES,
        Severity.ERROR,
        "delete the class and create it again; until then Longhorn refuses its volumes, and the "
        "extender the pods",
    )

    AUTOSCALER_NOT_TOLD = (
        Check.AUTOSCALER,
        Severity.WARNING,
        "give it what `scheduler-config --for cluster-autoscaler` prints "
        "(docs/cluster-autoscaler.md)",
    )
    AUTOSCALER_SEES_NO_ROOM = (
        Check.AUTOSCALER,
        Severity.WARNING,
        "set it to true, after the capacity of new nodes is there (docs/cluster-autoscaler.md); "
        "ignore this if no node is to be added for room on disks",
    )

    def __init__(self, check: Check, severity: Severity, remedy: str) -> None:
        self.check = check
        self.severity = severity
        self.remedy = remedy

    @property
    def title(self) -> str:
        """Its name as people read it."""
        return self.name.lower().replace("_", "-")

    def found(self, text: str, remedy: str = "") -> Finding:
        """Report the problem; *text* names the object, *remedy* says what to do about this one."""
        return Finding(
            check=self.check,
            severity=self.severity,
            problem=self.title,
            text=text,
            remedy=remedy or self.remedy,
        )
