"""One candidate on a lease of its own, with the time and the faults in the test's hands."""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from leader import Collection, Election, Failed
from tests.unit.leader.leases import NAME, Clock, lease, lease_settings
from tests.unit.leader.store import Fault, InstantStore, Object, Objects, Verb


class Bench:
    """One candidate named "us", the lease, and the time."""

    def __init__(
        self,
        *,
        objects: Objects | None = None,
        clock: Clock | None = None,
        seed: int = 1,
        annotate: Callable[[Mapping[str, str]], Mapping[str, str]] = lambda _: {},
        **settings: Any,
    ) -> None:
        self.objects = objects or Objects()
        self.clock = clock or Clock()
        self.store = InstantStore(self.objects)
        self.may_lead = True
        self.told: list[bool] = []
        self.election = Election(
            self.store,
            lease_settings(**settings),
            clock=self.clock,
            wall_clock=self.clock.wall,
            random=Random(seed),
            may_lead=lambda: self.may_lead,
            on_change=self.told.append,
            annotate=annotate,
        )

    @property
    def is_leading(self) -> bool:
        return self.election.is_leading(self.clock())

    @property
    def lease(self) -> Object:
        found = self.objects.get(Collection.LEASES, NAME)
        assert found is not None
        return found

    def write(self, body: Object) -> None:
        """Write the lease as somebody else."""
        self.objects.put(Collection.LEASES, body)

    def edit(self, **spec: Any) -> None:
        """Change the lease as somebody else."""
        self.objects.edit(Collection.LEASES, NAME, lambda body: body["spec"].update(spec))

    def delete(self) -> None:
        self.objects.remove(Collection.LEASES, NAME)

    def fault(self, verb: Verb, **what: Any) -> None:
        self.store.faults.append(Fault(verb=verb, **what))

    def lose(self, verb: Verb, *, times: int = 1, applied: bool = False) -> None:
        """Let requests go unanswered."""
        for _ in range(times):
            self.fault(verb, applied=applied, answer=Failed(why="no answer"))

    async def step(self, *, after: float = 0.0) -> list[Verb]:
        """Let time pass, then take a step; return what it asked for."""
        self.clock.advance(after)
        self.store.asked.clear()
        await self.election.step()
        return self.store.verbs

    async def release(self, *, after: float = 0.0) -> list[Verb]:
        self.clock.advance(after)
        self.store.asked.clear()
        await self.election.release()
        return self.store.verbs


async def leading(**settings: Any) -> Bench:
    """Return a candidate that has just begun to lead."""
    bench = Bench(**settings)
    await bench.step()
    assert bench.is_leading
    return bench


async def following(holder: str = "them", **settings: Any) -> Bench:
    """Return a candidate that has just seen the lease of another one."""
    bench = Bench(**settings)
    bench.write(lease(holder))
    await bench.step()
    assert not bench.is_leading
    return bench
