"""Plays the same seeds in two checkouts, and says where their answers differ."""

import argparse
import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tests.comparing.differences import Compared, Difference, History, Seed, general
from tests.comparing.worker import ANOTHER_LEADER, END, Choices, Task

HERE = Path(__file__).parents[2]
EVENTS = 150
PATIENCE = 5
"""So many events are played before both begin anew again."""
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

    def play(self, task: Task) -> bytes:
        """Have an event played, and return what comes of it."""
        self._input.write(msgspec.json.encode(task) + b"\n")
        self._input.flush()
        line = self._output.readline()
        if not line:
            raise SystemExit("one of the checkouts has failed; see above")
        return line

    def end(self) -> None:
        """Let it end."""
        self._input.close()
        self._output.close()
        self._process.wait()


class Comparison:
    """What was compared so far.

    Attributes:
        counts: What was compared, by its kind.
        found: The differences, by their cause.
    """

    def __init__(self, old: Path) -> None:
        self.counts: Counter[str] = Counter()
        self.found: dict[str, list[Found]] = defaultdict(list)
        # Sets are not in the same order, so that an answer that depends on that differs.
        self._begun = 0
        self._old, self._new = Checkout(old, 1), Checkout(HERE, 2)

    def compare(self, number: int, events: Sequence[int]) -> list[Compared]:
        """Play events of a seed in both; where what they know differs, both begin anew."""
        seed, compared, wait = Seed(), [], 0
        self._begun += 1
        for event in [*events, END]:
            compared += self._compare(seed, number, event)
            wait -= 1
            if event != END and wait < 0 and seed.history != History.SAME:
                compared += self._compare(seed, number, ANOTHER_LEADER)
                wait = PATIENCE
        return compared

    def _compare(self, seed: Seed, number: int, event: int) -> list[Compared]:
        """Have the new one follow what the old one chose, and compare both."""
        old = msgspec.json.decode(self._old.play(Task(self._begun, number, event)))
        choices = msgspec.convert(old["choices"], Choices)
        new = msgspec.json.decode(self._new.play(Task(self._begun, number, event, choices)))
        self._count(new)
        return [*seed.compare(old, new)]

    def note(self, number: int, events: Sequence[int], compared: Sequence[Compared]) -> None:
        """Keep what differs."""
        for each in compared:
            what = "answer" if each.is_answer else "state"
            outcome = "differs" if each.differences else "is the same"
            if each.differences and each.differences[0].path.startswith("score"):
                outcome = "differs in scores alone"
            self.counts[f"compared: {what} {outcome}, history: {each.history.name}"] += 1
            for cause in {difference.cause: difference for difference in each.differences}.values():
                self.found[cause.cause].append(_until(number, events, cause))

    def end(self) -> None:
        for checkout in (self._old, self._new):
            checkout.end()

    def shrink(self, found: Found) -> Found:
        """Leave out events that are not needed to show a difference of the same cause."""
        size, left = len(found.events) // 2, SHRINKING
        while size and left:
            start = 0
            while start < len(found.events) and left:
                fewer = [*found.events[:start], *found.events[start + size :]]
                shown, left = self._show(found, fewer), left - 1
                found, start = (shown, start) if shown else (found, start + size)
            size //= 2
        return found

    def _show(self, found: Found, events: Sequence[int]) -> Found | None:
        counts, sought = self.counts.copy(), found.difference
        compared = self.compare(found.seed, events)
        self.counts = counts
        for difference in (each for of in compared for each in of.differences):
            if (difference.cause, difference.history) == (sought.cause, sought.history):
                return _until(found.seed, events, difference)
        return None

    def _count(self, shown: Mapping[str, Any]) -> None:
        """Count what a line shows."""
        counts = self.counts
        counts["events"] += bool(shown["what"])
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


def _until(seed: int, events: Sequence[int], difference: Difference) -> Found:
    """Return a difference with the events up to it; at the end of a seed all are needed."""
    until = events if difference.step < 0 else events[: events.index(difference.step) + 1]
    return Found(seed, until, difference)


def main() -> int:
    """Compare, and print what differs and what was compared."""
    parser = argparse.ArgumentParser(prog="python -m tests.comparing", description=__doc__)
    parser.add_argument("--old", type=Path, required=True, help="the checkout to compare with")
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--seed", type=int, help="show one, with all that differs in it")
    which.add_argument("--seeds", type=int, help="go through as many, from the first one")
    parser.add_argument("--first", type=int, default=0, help="the first one of many")
    parser.add_argument("--events", help="play only these of each seed, as in 0,3,17")
    parser.add_argument("--shrink", action="store_true", help="look for the fewest events for each")
    arguments = parser.parse_args()
    comparison = Comparison(arguments.old.resolve())
    given = arguments.events
    events = [int(each) for each in given.split(",")] if given else [*range(EVENTS)]
    if arguments.seed is None:
        seeds = range(arguments.first, arguments.first + arguments.seeds)
        _go_through(comparison, seeds, events)
        differs = _report(comparison, arguments.old, is_shrunk=arguments.shrink)
    else:
        differs = _show(comparison, arguments.seed, events)
    comparison.end()
    return 1 if differs else 0


def _show(comparison: Comparison, seed: int, events: Sequence[int]) -> bool:
    """Print what differs in a seed, and say whether anything does."""
    compared = comparison.compare(seed, events)
    differences = [difference for each in compared for difference in each.differences]
    for each in differences:
        print(f"{each.step:4} {each.history.name} {each.path}")
        print(f"     old: {each.old}\n     new: {each.new}")
    return bool(differences)


def _go_through(comparison: Comparison, seeds: range, events: Sequence[int]) -> None:
    """Compare all seeds."""
    for count, seed in enumerate(seeds):
        if count and count % 20 == 0:
            print(f"{count} seeds", file=sys.stderr, flush=True)
        comparison.note(seed, events, comparison.compare(seed, events))


def _report(comparison: Comparison, old: Path, *, is_shrunk: bool) -> bool:
    """Print what was compared and what differs, and say whether anything does."""
    for what, count in sorted(comparison.counts.items()):
        print(f"{count:8} {what}")
    for cause, found in sorted(comparison.found.items(), key=lambda cause: -len(cause[1])):
        histories = Counter(each.difference.history for each in found)
        least = min(found, key=lambda each: (each.difference.history, len(each.events)))
        if is_shrunk and least.difference.history == History.SAME:
            least = comparison.shrink(least)
        counted = ", ".join(f"{histories[each]} {each.name}" for each in sorted(histories))
        print(f"\n{len(found)} times ({counted}): {cause}")
        numbers = ",".join(map(str, least.events))
        print(f"  python -m tests.comparing --old {old} --seed {least.seed} --events {numbers}")
        print(f"  {least.difference.step} {least.difference.path}")
        print(f"  old: {least.difference.old}\n  new: {least.difference.new}", flush=True)
    print(f"\n{len(comparison.found)} kinds of difference")
    return bool(comparison.found)


if __name__ == "__main__":
    sys.exit(main())
