"""Findings on the settings: of the processes, the live ones, and Longhorn's.

Each says where its value comes from, and by which command it is changed: with Helm, if the object
is Helm's.
"""

import json
import re
from collections.abc import Iterator

from app.config import NAME
from app.errors import InputError
from app.instance.live_settings import (
    ENABLED,
    NODE_RESERVATION_TIMEOUT,
    POD_SCHEDULING_TIMEOUT,
    LiveSettings,
    read_live_settings,
)
from app.settings import Settings, load
from cli.doctor.facts import ConfigMapSeen, Facts, Unread
from cli.doctor.problems import Check
from cli.doctor.releases import Release, release_of
from cli.doctor.seen import fine, unread, wrong
from cli.findings import Finding
from cli.kube.versions import SCORES_CAPACITY, minor_version
from extender import Balance, Mode
from longhorn import CAPACITY_TRACKING, Setting, read_settings

_HTTP_TIMEOUT_SECONDS = 5.0
"""Of the shipped configurations, and kube-scheduler's default."""
_VALUES = {
    ENABLED: "liveSettings.enabled",
    POD_SCHEDULING_TIMEOUT: "liveSettings.podSchedulingTimeoutSeconds",
    NODE_RESERVATION_TIMEOUT: "liveSettings.nodeReservationTimeoutSeconds",
}
"""The chart's value of each live setting."""
_VARIABLE = re.compile(r"EXTENDER_\w+")


def settings_in_force(facts: Facts) -> Settings:
    """Return the settings of the instances where they can be read, else those of this process."""
    for instance in () if isinstance(facts.instances, Unread) else facts.instances:
        try:
            return load(instance.variables)
        except InputError:
            continue
    return facts.settings


def longhorn_values(facts: Facts) -> dict[str, str]:
    """Return the values of Longhorn's Settings by name; none if they are not known."""
    known = facts.longhorn_settings
    if isinstance(known, Unread):
        return {}
    return {each.name: each.value for each in known if isinstance(each, Setting)}


def release_here(facts: Facts) -> Release | None:
    """Return Helm's release that the service belongs to, as its Service says."""
    if facts.service is None or isinstance(facts.service, Unread):
        return None
    return release_of(facts.service["metadata"].get("annotations"))


def _deployment(facts: Facts) -> str:
    return f"Deployment {NAME} in {facts.settings.namespace}"


def settings(facts: Facts) -> Iterator[Finding]:
    """Judge all of them."""
    yield from _variables(facts)
    yield from _live(facts)
    yield from _longhorn(facts)
    yield from _answer_time(facts)
    yield from _packing(facts)


def _variables(facts: Facts) -> Iterator[Finding]:
    for instance in () if isinstance(facts.instances, Unread) else facts.instances:
        try:
            load(instance.variables)
        except InputError as error:
            yield wrong(
                "variable-unusable",
                f"pod {instance.name}, whose variables are those of {_deployment(facts)}: {error}",
                _corrected(str(error), facts),
            )


def _corrected(error: str, facts: Facts) -> str:
    """Say how to correct a variable: take it out if there is none such, else give it a value."""
    found = _VARIABLE.search(error)
    if found is None:
        return ""
    name, is_unknown = found[0], error.startswith("there is no setting")
    release = release_here(facts)
    if release is not None:
        value = "null" if is_unknown else "VALUE"
        command = release.upgrade(f"extraEnv.{name}={value}")
        return f"{command} (docs/settings.md lists the variables; some have values of the chart)"
    change = f"{name}-" if is_unknown else f"{name}=VALUE"
    return (
        f"kubectl --namespace {facts.settings.namespace} set env deployment/{NAME} {change} "
        "(docs/settings.md lists the variables)"
    )


def _live(facts: Facts) -> Iterator[Finding]:
    config_map, namespace = facts.config_map, facts.settings.namespace
    if isinstance(config_map, Unread):
        yield unread(Check.SETTINGS, config_map)
        config_map = None
    seen = config_map or ConfigMapSeen(name=NAME)
    where = f"ConfigMap {seen.name} in {namespace}"
    values, problems = read_live_settings(seen.data, LiveSettings())
    for problem in problems:
        setting = problem.partition(" ")[0]
        if setting in _VALUES:
            remedy = f"{_changed(setting, 'VALUE', seen, namespace)}; until then the last good "
            remedy += "value is in force"
        else:
            remedy = "take it out: it has no effect"
        yield wrong("live-setting-unusable", f"{where}: {problem}", remedy)
    if not values.enabled:
        yield wrong(
            "disabled",
            f"{ENABLED} is false in {where}: no instance leads, and the events of pods that ask "
            "end in `connection refused`",
            f"{_changed(ENABLED, 'true', seen, namespace)}; or turn the extender off as "
            "docs/install.md#turning-it-off says: until then such pods stay pending",
        )
    yield fine(
        Check.SETTINGS,
        f"a hold lasts {values.pod_scheduling_timeout_seconds} s until a node is chosen, and "
        f"{values.node_reservation_timeout_seconds} s after that",
    )


def _changed(setting: str, value: str, seen: ConfigMapSeen, namespace: str) -> str:
    """Return the command that gives a live setting a value: by the way that it was given one.

    Helm writes those that its values have, and people change all others with kubectl.
    """
    if seen.release is not None and setting not in seen.by_people:
        return seen.release.upgrade(f"{_VALUES[setting]}={value}")
    patch = json.dumps({"data": {setting: value}}, separators=(",", ":"))
    return f"kubectl --namespace {namespace} patch configmap {seen.name} --type merge -p '{patch}'"


def _longhorn(facts: Facts) -> Iterator[Finding]:
    if isinstance(facts.longhorn_settings, Unread):
        yield unread(Check.SETTINGS, facts.longhorn_settings)
        return
    values = longhorn_values(facts)
    name = read_settings(values).unreadable
    if name is not None:
        yield wrong(
            "longhorn-setting-unusable",
            f"Longhorn Setting {name} in {facts.settings.longhorn_namespace} is "
            f"{values[name][:60]!r}, so that no replica is placed anywhere",
            f"kubectl --namespace {facts.settings.longhorn_namespace} patch settings.longhorn.io "
            f'{name} --type merge -p \'{{"value":"VALUE"}}\': Longhorn cannot read it either',
        )


def _answer_time(facts: Facts) -> Iterator[Finding]:
    in_force = settings_in_force(facts)
    if in_force.reservation_mode is Mode.NODE:
        yield wrong(
            "answers-late",
            f"EXTENDER_RESERVATION_MODE is node ({_deployment(facts)}): an answer may wait until "
            f"the pod before it is bound, and httpTimeout is {_HTTP_TIMEOUT_SECONDS:g} s unless it "
            "is set",
        )
    elif in_force.filter_wait_seconds >= _HTTP_TIMEOUT_SECONDS:
        yield wrong(
            "answers-late",
            f"EXTENDER_FILTER_WAIT_SECONDS is {in_force.filter_wait_seconds:g} "
            f"({_deployment(facts)}), and httpTimeout is {_HTTP_TIMEOUT_SECONDS:g} s unless it is "
            "set",
        )


def _packing(facts: Facts) -> Iterator[Finding]:
    """Say where kube-scheduler's points for free storage outweigh ours for full disks: beside data.

    A second scheduler gives none, as it is shipped.
    """
    version = None if isinstance(facts.version, Unread) else minor_version(facts.version)
    is_tracked = longhorn_values(facts).get(CAPACITY_TRACKING) == "true"
    is_scored = version is not None and version >= SCORES_CAPACITY and is_tracked
    packs = settings_in_force(facts).balance is Balance.PACK
    if packs and is_scored and facts.second_scheduler is None:
        yield wrong(
            "pack-outweighed",
            f"EXTENDER_BALANCE is pack ({_deployment(facts)}), but kube-scheduler "
            f"{facts.version} gives points for free storage, as Longhorn's setting "
            f"{CAPACITY_TRACKING} is true: for pods that have data they outweigh those for packing",
        )
