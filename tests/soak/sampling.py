"""What each process of the service takes, as time goes by."""

from collections.abc import Sequence
from pathlib import Path
from statistics import median

import msgspec

from tests.e2e.extender import InstanceProcess
from tests.e2e.histograms import PREFIX, Histogram, read_histogram

MOST_GROWTH = 1.3
"""From the second quarter of the time to the last."""
SLACK = {"memory_mib": 15.0, "files": 10.0, "threads": 3.0, "series": 60.0, "answer_ms": 10.0}
"""Growth of so much is none, however little there was."""
_PAGE_BYTES = 4096


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One process at one moment."""

    instance: str
    memory_mib: float
    files: float
    threads: float
    series: float
    """Of metrics."""
    answer_ms: float
    """What 99 of 100 answers of /prioritize kept to since the last sample, which do not wait for
    anything as those of /filter may; 0 if there were none."""


class Sampler:
    """Takes samples of instances."""

    def __init__(self) -> None:
        self.samples: list[Sample] = []
        self._before: dict[int, Histogram] = {}

    async def take(self, instance: InstanceProcess) -> None:
        """Take a sample of a process that runs and answers."""
        pid = instance.process.pid
        metrics = await instance.get("/metrics")
        status = (Path("/proc") / str(pid) / "status").read_text()
        pages = int((Path("/proc") / str(pid) / "statm").read_text().split()[1])
        answers = read_histogram(metrics, "prioritize_duration_seconds")
        since, self._before[pid] = self._before.get(pid), answers
        self.samples.append(
            Sample(
                instance=instance.pod,
                memory_mib=pages * _PAGE_BYTES / 2**20,
                files=len([*(Path("/proc") / str(pid) / "fd").iterdir()]),
                threads=int(status.partition("Threads:")[2].split()[0]),
                series=sum(line.startswith(PREFIX) for line in metrics.splitlines()),
                answer_ms=_p99_ms(since, answers),
            )
        )


def growths(samples: Sequence[Sample]) -> list[str]:
    """Describe what has grown from the second quarter of the time to the last."""
    quarter = len(samples) // 4
    if not quarter:
        return []
    found = []
    for field, slack in SLACK.items():
        early = _median(samples[quarter : 2 * quarter], field)
        late = _median(samples[-quarter:], field)
        if late > MOST_GROWTH * early and late > early + slack:
            found.append(f"{field} has grown from {early:g} to {late:g}")
    return found


def described(samples: Sequence[Sample]) -> list[str]:
    """Write the median and the most of each figure."""
    return [
        f"{field}: median {_median(samples, field):.1f}, at most {max(figures):.1f}"
        for field in SLACK
        for figures in ([getattr(each, field) for each in samples],)
        if figures
    ]


def _median(samples: Sequence[Sample], field: str) -> float:
    """Return the median of a figure, without the zeros of those that answer nobody."""
    figures: list[float] = [getattr(each, field) for each in samples]
    return median([each for each in figures if each] or [0.0])


def _p99_ms(before: Histogram | None, now: Histogram) -> float:
    """Return the bound that 99 of 100 durations since then keep to."""
    counts = dict(before.counts) if before else {}
    new = Histogram(tuple((bound, count - counts.get(bound, 0)) for bound, count in now.counts))
    return 1000 * new.bound(0.99) if new.count > 0 else 0.0
