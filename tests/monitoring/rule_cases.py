"""What Prometheus sees over time in normal and in bad times, and which alerts must fire then.

A case changes some series of a quiet cluster with two instances, of which `a` leads, and two of the
controller of DiskSchedules, of which `d` leads. Values are in the notation of promtool, a sample
every 30 s: `0x3 1x5` is four times 0 and six times 1, `0+2x9` rises by 2 nine times, `_` is no
sample and `stale` the end of a series. The whole set of alerts that fire at a time is stated, so
that a case also says which ones must not.
"""

from collections.abc import Iterable

import msgspec
from prometheus_client import CollectorRegistry

from app.disk_schedule.metrics import ControllerMetrics, DiskFigures
from app.instance.room import Room, show_room
from app.kube.reflector import CAUSES
from app.metrics import ProcessMetrics
from app.serving.metrics import Metrics
from extender.holds import State
from monitoring.series import CONTROLLER_JOB, JOB, LONGHORN_DISKS, PREFIX

NAMESPACE = "longhorn-scheduler"
SAMPLES = 240
"""Two hours."""
KINDS = ("nodes.longhorn.io", "pods")


class Case(msgspec.Struct, frozen=True):
    """What happens, and what fires at some minutes."""

    title: str
    changes: dict[str, str]
    """Values by series, which are named without the common prefix and namespace."""
    firing: dict[int, tuple[str, ...]]
    """Names of alerts by minute."""


def quiet_cluster() -> dict[str, str]:
    """Return every series of instances that get no requests."""
    series = {}
    for pod, job in (("a", JOB), ("b", JOB), ("d", CONTROLLER_JOB), ("e", CONTROLLER_JOB)):
        of_job = _of_the_service if job == JOB else _of_the_controller
        for name, labels, value in _samples(of_job(leads=pod in "ad")):
            series[_key(name, {**labels, "pod": pod})] = f"{value:g}x{SAMPLES}"
        series[_key("up", {"job": job, "pod": pod})] = f"1x{SAMPLES}"
        started = _key("process_start_time_seconds", {"job": job, "pod": pod})
        series[started] = f"1000x{SAMPLES}"
    used, size = (_key(each, {"node": "node-1", "disk": "d"}) for each in LONGHORN_DISKS)
    return {**series, used: f"900x{SAMPLES}", size: f"1000x{SAMPLES}"}


def series_of(case: Case) -> dict[str, str]:
    """Return all series of a case; what it changes must exist, but for new pods."""
    changes = {_named(key): values for key, values in case.changes.items()}
    known = quiet_cluster()
    unknown = [key for key in changes if key not in known and 'pod="c"' not in key]
    assert not unknown, unknown
    return {**known, **changes}


def without(pod: str, *, after: int) -> dict[str, str]:
    """Have a pod gone: its series end."""
    gone = {
        key: f"{values.split('x')[0]}x{after} stale"
        for key, values in quiet_cluster().items()
        if f'pod="{pod}"' in key
    }
    return {_unnamed(key): values for key, values in gone.items()}


def another(pod: str, *, leads: str, begins: int) -> dict[str, str]:
    """Have a new pod, like `b`; *leads* is its heartbeat."""
    new = {
        _unnamed(key).replace('pod="b"', f'pod="{pod}"'): f"_x{begins} {values}"
        for key, values in quiet_cluster().items()
        if 'pod="b"' in key
    }
    return {**new, f'heartbeat{{node="n",pod="{pod}"}}': f"_x{begins} {leads}"}


def _firing(text: str) -> dict[int, tuple[str, ...]]:
    """Read which alerts fire at some minutes."""
    parts = (each.partition(":") for each in text.split())
    return {int(minute): tuple(filter(None, names.split(","))) for minute, _, names in parts}


def _both(series: str, values: str) -> dict[str, str]:
    """Change a series of either pod."""
    return {f"{series}pod={pod}}}": values for pod in "ab"}


def _of_the_service(*, leads: bool) -> ProcessMetrics:
    metrics = Metrics(CollectorRegistry(), version="1")
    metrics.heartbeat.labels("n").set(leads)
    for state in State:
        metrics.holds.labels(state)
    if leads:
        room = Room(limit_bytes=100 * 2**30, free_bytes=60 * 2**30, after_loss_bytes=10 * 2**30)
        show_room(metrics.registry, lambda: {"filesystem": room, "block": room})
    return metrics


def _of_the_controller(*, leads: bool) -> ProcessMetrics:
    metrics = ControllerMetrics(CollectorRegistry(), version="1")
    metrics.heartbeat.labels("n").set(leads)
    metrics.show_disks(lambda: [DiskFigures("node-1", "u1", 2**30, 2**40, 0)])
    return metrics


def _samples(metrics: ProcessMetrics) -> Iterable[tuple[str, dict[str, str], float]]:
    for kind in KINDS:
        metrics.objects.labels(kind).set(3)
        metrics.unreadable_objects.labels(kind)
        metrics.view_age_seconds.labels(kind).set(40)
        for cause in CAUSES:
            metrics.watch_restarts_total.labels(kind, cause)
    for family in metrics.registry.collect():
        for sample in family.samples:
            if not sample.name.endswith("_created"):
                yield sample.name, dict(sample.labels), sample.value


def _key(name: str, labels: dict[str, str]) -> str:
    pairs = sorted({**labels, "namespace": NAMESPACE}.items())
    return name + "{" + ",".join(f'{label}="{value}"' for label, value in pairs) + "}"


def _named(key: str) -> str:
    name, _, rest = key.rstrip("}").partition("{")
    labels = dict(part.split("=", 1) for part in rest.split(","))
    full = name if name in ("up", "process_start_time_seconds", *LONGHORN_DISKS) else PREFIX + name
    job = {"job": JOB} if full == name and name not in LONGHORN_DISKS else {}
    return _key(full, job | {label: value.strip('"') for label, value in labels.items()})


def _unnamed(key: str) -> str:
    name, _, rest = key.rstrip("}").partition("{")
    dropped = ("namespace=", "job=")
    labels = ",".join(part for part in rest.split(",") if not part.startswith(dropped))
    return name.removeprefix(PREFIX) + "{" + labels + "}"


_DS = "disk_schedule_"
_BUSY = {
    "decisions_total{outcome=fits,pod=a}": "0+30x240",
    "rejections_total{reason=insufficient_storage,pod=a}": "0+60x240",
    "holds_ended_total{cause=confirmed,pod=a}": "0+29x240",
    "holds_ended_total{cause=pod_gone,pod=a}": "0+1x240",
    "filter_wait_duration_seconds_count{outcome=resolved,pod=a}": "0+5x240",
    "filter_wait_duration_seconds_count{outcome=timeout,pod=a}": "0+1x240",
    "wake_ups_total{outcome=woken,pod=a}": "0+2x240",
    "filter_duration_seconds_bucket{le=1.0,pod=a}": "0+30x240",
    "filter_duration_seconds_bucket{le=2.5,pod=a}": "0+30x240",
    "filter_duration_seconds_bucket{le=5.0,pod=a}": "0+30x240",
    "filter_duration_seconds_bucket{le=10.0,pod=a}": "0+30x240",
    "filter_duration_seconds_bucket{le=+Inf,pod=a}": "0+30x240",
}
"""A request a second, of which a fifth waits for up to a second."""

ROWS: dict[str, tuple[dict[str, str], str]] = {
    "quiet cluster": ({}, "0 5 60 119"),
    "quiet cluster, in which watches are silent for 90 s and start again as they should": (
        {"view_age_seconds{kind=pods,pod=a}": "0 30 60 90 " * 60,
        "watch_restarts_total{cause=idle,kind=pods,pod=a}": "0+1x240",
        "watch_restarts_total{cause=ended,kind=pods,pod=a}": "0+1x240"}, "20 60"),
    "busy cluster": (_BUSY, "10 30 60"),
    "busy cluster whose counters start again, as in a restart": (
        dict.fromkeys(_BUSY, "100+30x20 0+30x200")
        | {"process_start_time_seconds{pod=a}": "1000x20 1600x200"}, "11 15 40"),
    # Hand-overs
    "hand-over in good order, both of which Prometheus sees lead for a scrape": (
        {"heartbeat{node=n,pod=a}": "1x10 0x200", "heartbeat{node=n,pod=b}": "0x9 1x200",
        "leader_transitions_total{pod=a,role=standby}": "0x10 1x200",
        "leader_transitions_total{pod=b,role=leader}": "0x9 1x200",
        "decisions_total{outcome=unavailable,pod=a}": "0x10 3x200",
        "decisions_total{outcome=fits,pod=b}": "0x11 1x200",
        "holds_ended_total{cause=handed_over,pod=a}": "0x10 9x200"}, "5 6 7 10 20"),
    "hand-over after which there are no more requests": (
        {"heartbeat{node=n,pod=a}": "1x10 0x200", "heartbeat{node=n,pod=b}": "0x11 1x200",
        "decisions_total{outcome=unavailable,pod=a}": "0x10 3x200"}, "6 8 10 12 20"),
    "hand-over in which a target that is gone stands for two more minutes": (
        without("a", after=14) | {"heartbeat{node=n,pod=b}": "0x10 1x200"}
        | another("c", leads="0x200", begins=12), "6 7 8 20"),
    "leader killed: two scrapes without a leader": (
        {"heartbeat{node=n,pod=a}": "1x10 stale 0x200", "up{pod=a}": "1x10 0 1x200",
        "process_start_time_seconds{pod=a}": "1000x10 stale 1400x200",
        "heartbeat{node=n,pod=b}": "0x12 1x200"}, "5 6 7 10"),
    "roll-out: both pods are replaced, one after another": (
        without("a", after=20) | without("b", after=14)
        | {"heartbeat{node=n,pod=a}": "1x18 0x2 stale"}
        | another("c", leads="0x6 1x200", begins=13), "7 9 10 12 20 24"),
    # Who answers
    "nothing is scraped any more": (
        without("a", after=20) | without("b", after=20), "12 15 17:Absent"),
    "a standby does not answer": (
        {"up{pod=b}": "1x20 0x200"}, "12 17:TargetDown 27:NoStandby,TargetDown"),
    "one instance only": (without("b", after=20), "20 27:NoStandby"),
    "no instance leads": (
        {"heartbeat{node=n,pod=a}": "1x20 0x200"}, "11 12 13:NoLeader 60:NoLeader"),
    "two lead": ({"heartbeat{node=n,pod=b}": "0x20 1x200"}, "11 13 14:TwoLeaders"),
    "the lead goes to and fro": (
        {"leader_transitions_total{pod=a,role=leader}": "1x20 1+1x200",
        "leader_transitions_total{pod=b,role=leader}": "0x20 0+1x200"}, "11 13:LeaderChanges"),
    "an instance restarts over and over": (
        {"process_start_time_seconds{pod=b}": "1000x20 1600x4 1700x4 1800x4 1900x200"},
        "14 17:Restarts"),
    "an instance is held up twice a minute": (
        {"event_loop_lag_seconds_count{pod=a}": "0+600x20 12601+601x200"}
        | {"event_loop_lag_seconds_bucket{le=0.5,pod=a}": "0+600x240"}, "10 12 25:EventLoopLag"),
    "an instance is held up when it starts": (
        {"event_loop_lag_seconds_count{pod=b}": "0x20 603+600x200"}
        | {"event_loop_lag_seconds_bucket{le=0.5,pod=b}": "0x20 600+600x200"}, "12 16 20"),
    # What is answered
    "every request reaches an instance that may not answer": (
        {"decisions_total{outcome=unavailable,pod=b}": "0x20 0+2x200"},
        "14 16:Unavailable 60:Unavailable"),
    "an Emergency is forgotten, and now and then a pod starts": (
        {"unasked_pods_total{pod=a}": "0x20 1x60 2x159"},
        "9 12:NotAsked 60:NotAsked 95:NotAsked 119"),
    "another client asks a standby, while kube-scheduler asks the leader": (
        {"decisions_total{outcome=unavailable,pod=b}": "0x20 0+2x200",
        "decisions_total{outcome=nothing_local,pod=a}": "0 0 0 1 1 1 2 2 2 3 3 3 4 4 4 4+1x200"},
        "16 60"),
    "a pod with a claim that leads nowhere": (
        {"decisions_total{outcome=error,pod=a}": "0x20 0+1x200"}, "15 24 27:Errors"),
    "a claim that came a little late": (
        {"decisions_total{outcome=error,pod=a}": "0x20 3x200"}, "15 20 27"),
    "requests that are none": (
        {"decisions_total{outcome=bad_request,pod=a}": "0x20 0+1x200"}, "24 27:BadRequests"),
    "3 in 100 answers take more than 2.5 s": (
        _BUSY | {"filter_duration_seconds_bucket{le=1.0,pod=a}": "0+29x240",
        "filter_duration_seconds_bucket{le=2.5,pod=a}": "0+29x240"}, "5 12:FilterSlow"),
    "one slow answer": (
        {"filter_duration_seconds_bucket{le=5.0,pod=a}": "0x20 1x200",
        "filter_duration_seconds_bucket{le=10.0,pod=a}": "0x20 1x200",
        "filter_duration_seconds_bucket{le=+Inf,pod=a}": "0x20 1x200"}, "12 15 22"),
    "kube-scheduler does not wait": (
        {"filter_wait_duration_seconds_count{outcome=abandoned,pod=a}": "0x20 0+1x200"},
        "10 14:Abandoned"),
    # What is held
    "for half of the holds Longhorn places no replicas": (
        {"holds_ended_total{cause=not_placed,pod=a}": "0x20 0+1x200",
        "holds_ended_total{cause=confirmed,pod=a}": "0+1x220"}, "10 20:HoldsExpire"),
    "a few holds of many run out": (
        _BUSY | {"holds_ended_total{cause=not_chosen,pod=a}": "0+1x240"}, "20 60"),
    "three holds run out": ({"holds_ended_total{cause=not_bound,pod=a}": "0x20 3x200"}, "15 20"),
    "a pod is rejected for long": (
        {"longest_wait_seconds{pod=a}": "0x20 0+30x200", "waiting_pods{pod=a}": "0x20 1x200"},
        "40 44 47:PodsWaitLong"),
    "a pod gets a node after half an hour": (
        {"longest_wait_seconds{pod=a}": "0x20 0+30x62 0x130"}, "40 47"),
    "pods may not be patched": (
        {"wake_ups_total{outcome=failed,pod=a}": "0x20 0+3x200"}, "20 27:WakeUpsFail"),
    "a patch fails once": ({"wake_ups_total{outcome=failed,pod=a}": "0x20 1x200"}, "15 27"),
    "the search is cut short": (
        {"rejections_total{reason=packing_undecided,pod=a}": "0x20 2x200"},
        "10 11:PackingUndecided 60:PackingUndecided 80"),
    # Days to come
    "a node has more than the others take": (
        {"room_free_after_loss_bytes{disk_type=filesystem,pod=a}": "10x20 -1x220"},
        "60 80:NoRoomToRebuild"),
    "the others take just what a node has": (
        {"room_free_after_loss_bytes{disk_type=filesystem,pod=a}": "0x240"}, "110"),
    "what it was is still so for a new leader, whose figures come some minutes later": (
        {"room_free_after_loss_bytes{disk_type=block,pod=a}": "-5x80 stale",
        "room_free_after_loss_bytes{disk_type=block,pod=c}": "_x88 -5x100"},
        "50 61:NoRoomToRebuild 80:NoRoomToRebuild"),
    "a disk fills by a tenth an hour": (
        {"longhorn_disk_usage_bytes{disk=d,node=node-1}": "550+0.8x240"}, "90 110:DiskFullSoon"),
    "a disk that is nearly empty fills fast": (
        {"longhorn_disk_usage_bytes{disk=d,node=node-1}": "100+0.8x240"}, "110"),
    "a disk fills so slowly that it takes a week": (
        {"longhorn_disk_usage_bytes{disk=d,node=node-1}": "900+0.005x240"}, "110"),
    # What is known
    "a standby hears nothing of a kind": (
        {"view_age_seconds{kind=pods,pod=b}": "40x20 60+30x200"}, "12 13 15:ViewStale"),
    "a kind is listed late by an instance that starts": (
        {"view_age_seconds{kind=pods,pod=b}": "NaN NaN NaN NaN 20x200"}, "1 6"),
    "a kind can never be listed": (
        {"view_age_seconds{kind=pods,pod=b}": "NaN " * 60}, "4 6:ViewIncomplete"),
    "a watch breaks twice a minute": (
        {"watch_restarts_total{cause=connection,kind=pods,pod=a}": "0x20 0+1x200"},
        "14 25:WatchFlapping"),
    "every API server is restarted, one after another": (
        {f"watch_restarts_total{{cause={cause},kind={kind},pod={pod}}}": "0x20 1x4 2x4 3x200"
        for cause in ("connection", "status") for kind in KINDS for pod in ("a", "b")}, "14 20 30"),
    "an object cannot be read": (
        {"unreadable_objects{kind=nodes.longhorn.io,pod=a}": "0x20 1x200"},
        "15 22:UnreadableObjects"),
    "a setting is mistyped": (
        _both("settings_errors_total{", "0x20 1x200"), "10 11:SettingsErrors 80"),
    # Connections
    "too many connections": (
        {"connections_ended_total{cause=displaced,pod=a}": "0x20 0+5x200"},
        "12 17:ConnectionLimit"),
    "slow clients": (
        {"connections_ended_total{cause=headers_late,pod=a}": "0x20 0+1x200"}, "12 18:SlowClients"),
    "a client without the right certificate": (
        {"connections_ended_total{cause=handshake_failed,pod=a}": "0x20 1+1x200"},
        "12 24 27:HandshakesFail"),
    "a client whose name is not allowed": (
        {"connections_ended_total{cause=client_not_named,pod=a}": "0x20 1+1x200"},
        "12 24 27:HandshakesFail"),
    "a client that scans the port once": (
        {"connections_ended_total{cause=handshake_failed,pod=a}": "0x20 3x200"}, "12 27"),
    "a certificate that cannot be used": (
        {"tls_reloads_total{outcome=unusable,pod=a}": "0x20 6+6x100 606x200"},
        "10 11:CertificateUnusable 58:CertificateUnusable 90"),
    "a certificate that is replaced": (
        _both("tls_reloads_total{outcome=loaded,", "0x20 1x200"), "11 20"),
    # DiskSchedule
    "no controller of DiskSchedules leads": (
        {f"{_DS}heartbeat{{node=n,pod=d}}": "1x20 0x200"}, "11 12 13:DiskScheduleNoLeader"),
    "the controller of DiskSchedules hands over": (
        {f"{_DS}heartbeat{{node=n,pod=d}}": "1x20 0x200",
        f"{_DS}heartbeat{{node=n,pod=e}}": "0x22 1x200"}, "11 12 13 20"),
    "no pod of the controller of DiskSchedules answers": (
        {key: "1x20 0x200" if key.startswith("up") else "0x20 stale" for pod in "de"
        for key in
        (f"up{{job={CONTROLLER_JOB},pod={pod}}}", f"{_DS}heartbeat{{node=n,pod={pod}}}")}
        | {f"{_DS}heartbeat{{node=n,pod=d}}": "1x20 stale"}, "11 13:DiskScheduleNoLeader"),
    "Longhorn has a controller of DiskSchedules of its own": (
        {f"{_DS}rivals{{pod={pod}}}": "0x20 3x200" for pod in "de"}, "14 16:DiskScheduleRival"),
    "the controller of DiskSchedules may not write": (
        {f"{_DS}passes_total{{outcome=failed,pod=d}}": "0x20 0+4x200"},
        "24 27:DiskScheduleWritesFail"),
    "some writes of the controller of DiskSchedules fail while the API server restarts": (
        {f"{_DS}passes_total{{outcome=failed,pod=d}}": "0x20 0+4x3 12x200"}, "15 24 40"),
    "two controllers of DiskSchedules get into each other's way": (
        {f"{_DS}passes_total{{outcome=conflict,pod=d}}": "0x20 0+20x200",
        f"{_DS}passes_total{{outcome=written,pod=d}}": "0x20 0+5x200"},
        "12 20:DiskScheduleConflicts"),
    "many volumes are made at once, and every fifth write conflicts": (
        {f"{_DS}passes_total{{outcome=conflict,pod=d}}": "0+20x220",
        f"{_DS}passes_total{{outcome=written,pod=d}}": "0+80x220"}, "20 60"),
    "a replica waits on a full disk": (
        {f"{_DS}refused{{disk=u1,node=node-1,pod={pod}}}": "0x20 1x200" for pod in "de"},
        "39 42:DiskScheduleRefusals"),
    "a replica that is refused is withdrawn": (
        {f"{_DS}refused{{disk=u1,node=node-1,pod={pod}}}": "0x20 1x50 0x150" for pod in "de"},
        "30 42"),
    "a disk holds more than its limit": (
        {f"{_DS}held_bytes{{disk=u1,node=node-1,pod={pod}}}": "0x20 2000000000000x200"
        for pod in "de"}, "24 27:DiskScheduleOverLimit"),
    "a disk that is not ready has no limit": (
        {f"{_DS}limit_bytes{{disk=u1,node=node-1,pod={pod}}}": "0x220" for pod in "de"}, "27"),
}  # fmt: skip
"""What changes in a quiet cluster, and when which alerts fire: `11 13:NoLeader` is none after 11
minutes, and NoLeader after 13."""

CASES = tuple(Case(title, changes, _firing(at)) for title, (changes, at) in ROWS.items())
