"""Which replicas stay on their disk, by its DiskSchedule: of 100 GiB, of which `x` has 60."""

import pytest

from tests.actors.api import Object
from tests.simulation.grants import is_granted, turned_away

GIB = 2**30
DISK = "uuid-disk-1"


def replica(gib: int, *, name: str = "r", has_data: bool = False) -> Object:
    healthy_at = "2026-01-01T00:00:00Z" if has_data else ""
    spec = {"diskID": DISK, "volumeSize": str(gib * GIB), "healthyAt": healthy_at}
    return {"metadata": {"name": name}, "spec": spec}


def schedule(asks: int, entry: str, *, ready: str = "True") -> Object:
    """Build the object, of which `r` asks *asks* GiB; *entry* is like `S30` or `R0`, or nothing."""
    states = {"S": "scheduled", "R": "rejected"}
    entries = {"x": {"state": "scheduled", "scheduledSize": 60 * GIB}}
    if entry:
        entries["r"] = {"state": states[entry[0]], "scheduledSize": int(entry[1:]) * GIB}
    asked = {"x": 60 * GIB, **({"r": asks * GIB} if asks else {})}
    condition = {"type": "Ready", "status": ready}
    return {
        "spec": {"replicas": asked},
        "status": {"replicas": entries, "conditions": [condition]},
    }


@pytest.mark.parametrize(
    ("found", "by", "expected"),
    [
        pytest.param(replica(30), schedule(30, "S30"), True, id="granted"),
        pytest.param(replica(30), schedule(0, ""), False, id="has-not-asked-yet"),
        pytest.param(replica(30), schedule(30, ""), False, id="not-decided-yet"),
        pytest.param(replica(30), schedule(30, "R0"), False, id="refused"),
        pytest.param(replica(30), schedule(0, "S30"), False, id="takes-it-back"),
        pytest.param(replica(30, has_data=True), schedule(30, "R0"), True, id="with-data"),
        pytest.param(replica(30), schedule(0, "", ready="Unknown"), True, id="nobody-decides-yet"),
    ],
)
def test_is_granted(found, by, expected):
    assert is_granted(found, {DISK: by}) is expected


def test_without_a_disk_schedule_what_is_placed_stays():
    assert is_granted(replica(30), {})
    assert turned_away([replica(30)], {}, {}) == set()


@pytest.mark.parametrize(
    ("found", "by", "expected"),
    [
        pytest.param(replica(50), schedule(50, "R0"), {"r"}, id="refused"),
        pytest.param(replica(40), schedule(40, "R0"), set(), id="would-fit-now"),
        pytest.param(replica(50), schedule(50, ""), set(), id="not-decided-yet"),
        pytest.param(replica(50), schedule(0, "R0"), set(), id="takes-it-back"),
        pytest.param(replica(50), schedule(50, "R20"), set(), id="refused-to-grow"),
        pytest.param(replica(50, has_data=True), schedule(50, "R0"), set(), id="with-data"),
        pytest.param(replica(50), schedule(50, "R0", ready="Unknown"), set(), id="not-ready"),
    ],
)
def test_turned_away(found, by, expected):
    assert turned_away([found], {DISK: by}, {DISK: 100 * GIB}) == expected


def test_what_has_not_asked_yet_takes_room_from_what_was_refused():
    both = [replica(30), replica(20, name="new")]

    assert turned_away(both, {DISK: schedule(30, "R0")}, {DISK: 100 * GIB}) == {"r"}
