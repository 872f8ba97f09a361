"""Findings on the settings: of the processes, the live ones, and Longhorn's."""

from collections.abc import Iterator

from app.errors import InputError
from app.instance.live_settings import ENABLED, LiveSettings, read_live_settings
from app.settings import Settings, load
from cli.doctor.facts import Facts, Unread
from cli.doctor.problems import Check, Finding, Problem
from cli.doctor.seen import fine, unread
from cli.kube.versions import SCORES_CAPACITY, minor_version
from extender import Balance, Mode
from longhorn import CAPACITY_TRACKING, Setting, read_settings

_HTTP_TIMEOUT_SECONDS = 5.0
"""Of the shipped configurations, and kube-scheduler's default."""


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
            yield Problem.VARIABLE_UNUSABLE.found(f"pod {instance.name}: {error}")


def _live(facts: Facts) -> Iterator[Finding]:
    config_map = facts.config_map
    if isinstance(config_map, Unread):
        yield unread(Check.SETTINGS, config_map)
        config_map = None
    values, problems = read_live_settings(config_map or {}, LiveSettings())
    for problem in problems:
        yield Problem.LIVE_SETTING_UNUSABLE.found(problem)
    if not values.enabled:
        yield Problem.DISABLED.found(f"{ENABLED} is false: no instance leads")
    yield fine(
        Check.SETTINGS,
        f"a hold lasts {values.pod_scheduling_timeout_seconds} s until a node is chosen, and "
        f"{values.node_reservation_timeout_seconds} s after that",
    )


def _longhorn(facts: Facts) -> Iterator[Finding]:
    if isinstance(facts.longhorn_settings, Unread):
        yield unread(Check.SETTINGS, facts.longhorn_settings)
        return
    values = longhorn_values(facts)
    name = read_settings(values).unreadable
    if name is not None:
        yield Problem.LONGHORN_SETTING_UNUSABLE.found(
            f"Longhorn Setting {name} is {values[name][:60]!r}, so that no "
            f"replica is placed anywhere"
        )


def _answer_time(facts: Facts) -> Iterator[Finding]:
    in_force = settings_in_force(facts)
    if in_force.reservation_mode is Mode.NODE:
        yield Problem.ANSWERS_LATE.found(
            "EXTENDER_RESERVATION_MODE is node: an answer may wait until the pod before it is "
            f"bound, and httpTimeout is {_HTTP_TIMEOUT_SECONDS:g} s unless it is set"
        )
    elif in_force.filter_wait_seconds >= _HTTP_TIMEOUT_SECONDS:
        yield Problem.ANSWERS_LATE.found(
            f"EXTENDER_FILTER_WAIT_SECONDS is {in_force.filter_wait_seconds:g}, and httpTimeout is "
            f"{_HTTP_TIMEOUT_SECONDS:g} s unless it is set"
        )


def _packing(facts: Facts) -> Iterator[Finding]:
    """Say where kube-scheduler's points for free storage outweigh ours for full disks.

    A second scheduler gives none, as it is shipped.
    """
    version = None if isinstance(facts.version, Unread) else minor_version(facts.version)
    is_tracked = longhorn_values(facts).get(CAPACITY_TRACKING) == "true"
    is_scored = version is not None and version >= SCORES_CAPACITY and is_tracked
    packs = settings_in_force(facts).balance is Balance.PACK
    if packs and is_scored and facts.second_scheduler is None:
        yield Problem.PACK_OUTWEIGHED.found(
            f"EXTENDER_BALANCE is pack, but kube-scheduler {facts.version} gives more points for "
            f"free storage, as Longhorn's setting {CAPACITY_TRACKING} is true: a volume that "
            "nearly fills a disk goes to a larger one"
        )
