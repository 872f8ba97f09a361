"""Measures following a large cluster: listing it, listing it again, a setting, and single events.

Run as ``python -m benchmarks.bench_sync``. `api_stub.py` is the API server and `follower.py` the
service, processes of their own on loopback; everything between the socket and the view is real.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.objects import kinds

ROOT = Path(__file__).parents[1]
_LIMIT_SECONDS = 200
_SAMPLES = 50


def main() -> None:
    """Print the tables."""
    print(f"{'objects':24}{'of':16}{'count':>9}{'bytes each':>12}{'MB':>8}")
    for kind in kinds():
        if kind.total:
            numbers = range(0, kind.total, max(1, kind.total // _SAMPLES))
            size = sum(len(kind.make(n, 0)) for n in numbers) / len(numbers)
            group = kind.api_version.rpartition("/")[0]
            megabytes = size * kind.total / 1e6
            print(f"{kind.name:24}{group:16}{kind.total:9}{size:12.0f}{megabytes:8.1f}")
    results = {"pages": _measure(), "stream": _measure("--streaming")}
    print(
        f"\n{'lists':8}{'':10}{'seconds':>9}{'cpu':>7}{'peak MB':>9}"
        f"{'stall ms':>10}{'gc ms':>8}{'renewal ms':>12}"
    )
    for lists, result in results.items():
        for phase in ("first", "again", "setting"):
            row = result[phase]
            print(
                f"{lists:8}{phase:10}{row['seconds']:9.1f}{row['cpu_seconds']:7.1f}"
                f"{row['peak_mb']:9.0f}{row['longest_stall_ms']:10.0f}"
                f"{row['longest_collection_ms']:8.0f}{row['slowest_renewal_ms']:12.0f}"
            )
    print(f"\n{'lists':8}{'event':18}{'count':>7}{'median us':>11}{'p99 us':>9}{'cpu us':>9}")
    for lists, result in results.items():
        for event, row in result["events"].items():
            median, p99 = row["median_us"], row["p99_us"]
            single = f"{'':20}" if median is None else f"{median:11.0f}{p99:9.0f}"
            print(f"{lists:8}{event:18}{row['count']:7}{single}{row['cpu_us']:9.0f}")


def _measure(*options: str) -> dict[str, Any]:
    stub_command = [sys.executable, "-m", "benchmarks.api_stub", *options]
    with subprocess.Popen(
        stub_command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as stub:
        try:
            assert stub.stdout is not None
            port = stub.stdout.readline().strip()
            follower = subprocess.run(
                [sys.executable, "-m", "benchmarks.follower", port],
                cwd=ROOT,
                stdout=subprocess.PIPE,
                timeout=_LIMIT_SECONDS,
                check=True,
            )
        finally:
            stub.terminate()
    answer: dict[str, Any] = json.loads(follower.stdout.splitlines()[-1])
    return answer


if __name__ == "__main__":
    main()
