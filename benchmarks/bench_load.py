"""Measures what slow, greedy and busy clients cost others: latency, memory and the lease.

An instance of the real service leads on an embedded cluster; a normal request is sent over a kept
connection every 50 ms, first alone, then beside each of the crowds of `crowds.py`.
"""

import asyncio
import json
import sys
from pathlib import Path
from random import Random
from statistics import quantiles
from tempfile import TemporaryDirectory

from benchmarks.clusters import Object, cluster
from benchmarks.crowds import CROWDS, DISKS, NODES, PODS
from benchmarks.prober import NORMAL
from tests.fakes import FakeApiServer, over_http
from tests.fakes.installed import config_map, instance_pod, service
from tests.pod_process import PodProcess, instance_process

SEED = 1
SECONDS = 20.0
MIB = 2**20


async def measure() -> None:
    """Print the table."""
    print(
        f"{'beside':8}{'requests':>9}{'failed':>8}{'p50 ms':>9}{'p99 ms':>9}{'max ms':>9}"
        f"{'MiB':>6}{'terms':>7}  what the crowd got"
    )
    with TemporaryDirectory() as folder:
        server = FakeApiServer(Random(SEED))
        pods = [{"apiVersion": "v1", "kind": "Pod", **each} for each in (NORMAL, *PODS)]
        claimed = cluster(NODES, DISKS, pods, seed=SEED)["items"]
        for each in (*claimed, service(), config_map(), instance_pod(0)):
            server.put(each)
        normal, *others = [server.put({**each, "metadata": _without_uid(each)}) for each in pods]
        files = Path(folder) / "normal.json", Path(folder) / "pods.json"
        for file, content in zip(files, (normal, others), strict=True):
            file.write_text(json.dumps(content))
        async with over_http(server) as api_port:
            instance = instance_process(Path(folder), 0, api_port)
            instance.start()
            try:
                await instance.is_up()
                await instance.leads()
                await _row("nobody", instance, None, files)
                for crowd in sys.argv[1:] or CROWDS:
                    await _row(crowd, instance, crowd, files)
                await _row("nobody", instance, None, files)
            finally:
                instance.kill()


def _without_uid(pod: Object) -> Object:
    """Return the metadata of a pod that is about to be created."""
    return {key: value for key, value in pod["metadata"].items() if key != "uid"}


async def _row(
    name: str, instance: PodProcess, crowd: str | None, files: tuple[Path, Path]
) -> None:
    """Measure while one crowd loads the service; *files* have the normal pod, and all others."""
    normal, others = files
    instance.process.reset_peak()
    process = None
    if crowd is not None:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "benchmarks.crowds", crowd, str(instance.port), str(SECONDS)),
            str(others),
            stdout=asyncio.subprocess.PIPE,
        )
        await asyncio.sleep(1)
    latencies, failed = await _ask(instance, normal)
    seen = json.loads((await process.communicate())[0]) if process is not None else {}
    percentiles = quantiles(latencies, n=100)
    terms = sum(each["event"] == "lease.acquired" for each in instance.events())
    crowd_got = ", ".join(f"{text} {count}" for text, count in sorted(seen.items()))
    print(
        f"{name:8}{len(latencies):9}{failed:8}{1e3 * percentiles[49]:9.1f}"
        f"{1e3 * percentiles[98]:9.1f}{1e3 * max(latencies):9.1f}"
        f"{instance.process.peak_bytes // MIB:6}{terms:7}  {crowd_got}",
        flush=True,
    )


async def _ask(instance: PodProcess, pod: Path) -> tuple[list[float], int]:
    """Let a process ask again and again; return how long answers took, and how many failed."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks.prober", str(instance.port), str(SECONDS - 2)),
        str(pod),
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await process.communicate()
    seconds, failed = json.loads(output)
    return seconds, failed


if __name__ == "__main__":
    asyncio.run(measure())
