"""What a plan leads to: as JSON, and as all other forms show it."""

import msgspec

from planner.picture import Picture, StepReport


class Runs(msgspec.Struct, frozen=True, kw_only=True):
    """Several plans of the same steps, which differ by chance alone."""

    count: int
    works: int
    """In so many of them all of it works; says nothing where how many pods fit is the question."""
    least_placed: int
    """Pods that got a node in the plan with the fewest."""
    most_placed: int


class PlanReport(msgspec.Struct, frozen=True, kw_only=True):
    """A whole plan."""

    origin: str
    """The files, or the address of the cluster."""
    policy: str
    seed: int
    works: bool | None = None
    """Whether every pod has a node at the end and can start there, but those that waited before, no
    volume ends degraded, and nothing is lost or refused. None where how many pods fit is the
    question."""
    summary: str = ""
    """The answer in one line."""
    notes: tuple[str, ...] = ()
    """What is not known, or passed over."""
    unplanned: tuple[str, ...] = ()
    """What pods ask for and no plan goes by, and what else the answer hangs on and is not known:
    the plan works, or does not, only as far as it can be planned."""
    runs: Runs | None = None
    """Of how many plans this one is the worst; None if it is the only one."""
    steps: tuple[StepReport, ...]
    """The first one is the cluster as it is now."""
    placed: int
    """Pods that got a node."""
    pending: int
    """Pods that got none, those that are not created included."""
    waited: int = 0
    """Of these, the ones that had none before the plan either."""
    degraded: int = 0
    """Volumes that end with fewer replicas than they want, or unreadable, and did not begin so."""

    def picture(self) -> Picture:
        """Return what the page draws of it."""
        return Picture(
            is_plan=True,
            origin=f"{self.origin}; policy {self.policy}, seed {self.seed}",
            works=self.works,
            summary=self.summary,
            notes=(*self.unplanned, *self.notes),
            steps=self.steps,
        )
