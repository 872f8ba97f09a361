"""Plays the same seeds in two checkouts, and says where their answers differ."""

import argparse
import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from tests.comparing.differences import Difference, difference, general

HERE = Path(__file__).parents[2]
EVENTS = 150
SHRINKING = 100
"""So many attempts are made to show a difference with fewer events."""
BEGIN = """
import importlib.util, sys
place = sys.argv[1] + "/tests"
spec = importlib.util.spec_from_file_location(
    "tests", place + "/__init__.py", submodule_search_locations=[place]
)
sys.modules["tests"] = importlib.util.module_from_spec(spec)
import app
assert app.__file__.startswith(sys.argv[2]), app.__file__
from tests.comparing.worker import run
run()
"""
"""The tests are ours, all else is that of the checkout in which it runs."""


class Found(msgspec.Struct, frozen=True):
    """A difference, and what shows it."""

    seed: int
    events: Sequence[int]
    difference: Difference


class Checkout:
    """A process that plays seeds in a checkout, which it is given in advance."""

    def __init__(self, place: Path, hash_seed: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", BEGIN, str(HERE), str(place)],
            cwd=place,
            env={**os.environ, "PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": str(place)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdin
        assert self._process.stdout
        self._input, self._output = self._process.stdin, self._process.stdout

    def ask(self, seed: int, events: Sequence[int]) -> None:
        """Have events of a seed played."""
        self._input.write(msgspec.json.encode({"seed": seed, "events": events}) + b"\n")
        self._input.flush()

    def end(self) -> None:
        """Let it end."""
        self._input.close()
        self._output.close()
        self._process.wait()

    def lines(self) -> Iterator[bytes]:
        """Read what comes of the next seed that was asked for, one line for an event."""
        while (line := self._output.readline()) != b"\n":
            if not line:
                raise SystemExit("one of the checkouts has failed; see above")
            yield line.rstrip(b"\n")


class Comparison:
    """What was compared so far.

    Attributes:
        counts: What was compared, by its kind.
        found: The differences, by their cause.
    """

    def __init__(self, old: Path, ignored: Sequence[str]) -> None:
        self._ignored = ignored
        self.counts: Counter[str] = Counter()
        self.found: dict[str, list[Found]] = defaultdict(list)
        # Sets are not in the same order, so that an answer that depends on that differs.
        self._checkouts = Checkout(old, 1), Checkout(HERE, 2)

    def ask(self, seed: int, events: Sequence[int]) -> None:
        """Have events of a seed played by both."""
        for checkout in self._checkouts:
            checkout.ask(seed, events)

    def compare(self, *, show: bool = False) -> list[Difference]:
        """Read what comes of the next seed: all differences up to the first that is told."""
        differences: list[Difference] = []
        old, new = (checkout.lines() for checkout in self._checkouts)
        for line in old:
            other = next(new, b"{}")
            if differences and not differences[-1].is_only_expected:
                continue
            if show:
                print(_title(line))
            found = difference(line, other, self._ignored)
            if found is None or found.is_only_expected:
                self._count(other)
            if found is not None and found.cause not in [each.cause for each in differences]:
                differences.append(found)
        for _ in new:
            pass
        return differences

    def end(self) -> None:
        for checkout in self._checkouts:
            checkout.end()

    def shrink(self, found: Found) -> Found:
        """Leave out events that are not needed to show a difference of the same cause."""
        size, left = len(found.events) // 2, SHRINKING
        while size and left:
            start = 0
            while start < len(found.events) and left:
                fewer = [*found.events[:start], *found.events[start + size :]]
                shown, left = self._show(found.seed, fewer, found.difference.cause), left - 1
                found, start = (shown, start) if shown else (found, start + size)
            size //= 2
        return found

    def _show(self, seed: int, events: Sequence[int], cause: str) -> Found | None:
        self.ask(seed, events)
        counts = self.counts.copy()
        shown = [each for each in self.compare() if each.cause == cause]
        self.counts = counts
        return _until(seed, events, shown[0]) if shown else None

    def _count(self, line: bytes) -> None:
        """Count what a line shows."""
        shown = msgspec.json.decode(line)
        counts = self.counts
        counts["events"] += 1
        counts.update(f"asked with {fact}" for facts in shown["facts"] for fact in facts)
        for answer in shown["answers"].values():
            counts["answers of /filter"] += 1
            counts["answers that waited"] += answer["waited"] > 0
            counts.update(f"node: {general(text)}" for text in answer["verdicts"].values())
            if answer["error"]:
                counts[f"error: {general(answer['error'])}"] += 1
            if answer["scores"] is not None:
                counts["answers of /prioritize"] += 1
                parts = answer["scores"]["parts"].values()
                counts.update(f"score {each['total']}" for each in parts)
                counts.update(
                    f"robustness: {each['robustness'] or 'nothing new'}" for each in parts
                )
        for hold in shown["holds"].values():
            counts["holds"] += 1
            counts[f"hold {hold['state']}, named by {hold['named_by'] or 'nothing'}"] += 1
        counts.update(
            f"replica upcoming, {text.split()[1]}"
            for of in shown["upcoming"].values()
            for text in of
        )
        counts["wake-ups"] += len(shown["woken"])
        for name, count in shown["counts"].items():
            counts[f"metric {name}"] += count


def _title(line: bytes) -> str:
    shown = msgspec.json.decode(line)
    return f"{shown['step']:4} {shown['what']}"


def _until(seed: int, events: Sequence[int], difference: Difference) -> Found:
    """Return a difference with the events up to it; at the end of a seed all are needed."""
    until = events if difference.step < 0 else events[: events.index(difference.step) + 1]
    return Found(seed, until, difference)


def main() -> int:
    """Compare, and print what differs and what was compared."""
    parser = argparse.ArgumentParser(prog="python -m tests.comparing", description=__doc__)
    parser.add_argument("--old", type=Path, required=True, help="the checkout to compare with")
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--seed", type=int, help="show one, up to the first difference")
    which.add_argument("--seeds", type=int, help="go through as many, from the first one")
    parser.add_argument("--first", type=int, default=0, help="the first one of many")
    parser.add_argument("--events", help="play only these of each seed, as in 0,3,17")
    parser.add_argument(
        "--ignore",
        nargs="*",
        default=[],
        help="go on after differences whose cause has such a text",
    )
    arguments = parser.parse_args()
    comparison = Comparison(arguments.old.resolve(), arguments.ignore)
    given = arguments.events
    events = [int(each) for each in given.split(",")] if given else [*range(EVENTS)]
    if arguments.seed is None:
        seeds = range(arguments.first, arguments.first + arguments.seeds)
        _go_through(comparison, seeds, events)
        differs = _report(comparison, arguments.old)
    else:
        differs = _show(comparison, arguments.seed, events)
    comparison.end()
    return 1 if differs else 0


def _show(comparison: Comparison, seed: int, events: Sequence[int]) -> bool:
    """Print what happens in a seed, and say whether an answer differs."""
    comparison.ask(seed, events)
    differences = comparison.compare(show=True)
    for each in differences:
        print(f"{each.step:4} {each.path}\n     old: {each.old}\n     new: {each.new}")
    return any(not each.is_only_expected for each in differences)


def _go_through(comparison: Comparison, seeds: range, events: Sequence[int]) -> None:
    """Compare all seeds; both checkouts know the next one in advance, so that none waits."""
    for seed in seeds[:2]:
        comparison.ask(seed, events)
    for count, seed in enumerate(seeds):
        if count and count % 100 == 0:
            print(f"{count} seeds", file=sys.stderr, flush=True)
        if seed + 2 in seeds:
            comparison.ask(seed + 2, events)
        for each in comparison.compare():
            if each.cause not in comparison.found:
                print(f"seed {seed}: {each.cause}", flush=True)
            comparison.found[each.cause].append(_until(seed, events, each))


def _report(comparison: Comparison, old: Path) -> bool:
    """Print what was compared and what differs, and say whether an answer does."""
    for what, count in sorted(comparison.counts.items()):
        print(f"{count:8} {what}")
    causes = sorted(comparison.found.items(), key=lambda cause: -len(cause[1]))
    for cause, found in causes:
        least = comparison.shrink(min(found, key=lambda each: len(each.events)))
        numbers = ",".join(map(str, least.events))
        print(f"\n{len(found)} seeds: {cause}")
        print(f"  python -m tests.comparing --old {old} --seed {least.seed} --events {numbers}")
        print(f"  {least.difference.path}")
        print(f"  old: {least.difference.old}\n  new: {least.difference.new}", flush=True)
    told = [found[0] for _, found in causes if not found[0].difference.is_only_expected]
    print(f"\n{len(told)} kinds of difference" if told else "\nno difference that anybody is told")
    return bool(told)


if __name__ == "__main__":
    sys.exit(main())
