"""One instance and its lease, with the time and the faults in the test's hands."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from leader import Collection, Election, Leadership
from tests.unit.leader.leases import NAME, lease, lease_settings
from tests.unit.leader.store import InstantStore, Object, Objects, Verb

_START = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Bench:
    """One instance named "us", the lease, and the time."""

    def __init__(
        self,
        *,
        annotate: Callable[[Mapping[str, str]], Mapping[str, str]] = lambda _: {},
        **settings: Any,
    ) -> None:
        self.objects = Objects()
        self.now = 1000.0
        self.store = InstantStore(self.objects)
        self.may_lead = True
        self.reported: list[bool] = []
        self.leadership = Leadership()
        self.election = Election(
            self.store,
            lease_settings(**settings),
            leadership=self.leadership,
            clock=lambda: self.now,
            wall_clock=lambda: _START + timedelta(seconds=self.now),
            random=Random(1),
            may_lead=lambda: self.may_lead,
            on_change=self.reported.append,
            annotate=annotate,
        )

    @property
    def is_leading(self) -> bool:
        return self.leadership.is_held(self.now)

    @property
    def lease(self) -> Object:
        found = self.objects.get(Collection.LEASES, NAME)
        assert found is not None
        return found

    def pass_time(self, seconds: float) -> None:
        self.now += seconds

    def write(self, body: Object) -> None:
        """Write the lease as somebody else."""
        self.objects.put(Collection.LEASES, body)

    def edit(self, **spec: Any) -> None:
        """Change the lease as somebody else."""
        self.objects.edit(Collection.LEASES, NAME, lambda body: body["spec"].update(spec))

    def delete(self) -> None:
        self.objects.remove(Collection.LEASES, NAME)

    async def step(self, *, after: float = 0.0) -> list[Verb]:
        """Let time pass, then take a step; return what it asked for."""
        self.pass_time(after)
        self.store.asked.clear()
        await self.election.step()
        return self.store.verbs

    async def release(self) -> list[Verb]:
        """Give the lease back; return what that asked for."""
        self.store.asked.clear()
        await self.election.release()
        return self.store.verbs


async def leading(**settings: Any) -> Bench:
    """Return an instance that has just begun to lead."""
    bench = Bench(**settings)
    await bench.step()
    assert bench.is_leading
    return bench


async def following(**settings: Any) -> Bench:
    """Return an instance that has just seen another one hold the lease."""
    bench = Bench(**settings)
    bench.write(lease())
    await bench.step()
    assert not bench.is_leading
    return bench
