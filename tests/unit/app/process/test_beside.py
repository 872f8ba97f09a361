"""What runs on the thread beside the answers, and how much of the time it may take."""

import asyncio
import threading

import pytest

from app.process.beside import SHARE, Beside, rest_seconds


@pytest.mark.parametrize(
    ("took", "passed", "rest"),
    [
        (0.0, 0.02, 0.0),
        (0.02 * SHARE, 0.02, 0.0),
        (0.02, 0.02, 0.02 / SHARE - 0.02),
        (3.0, 3.0, 0.5),
    ],
)
def test_it_rests_until_its_work_is_its_share(took, passed, rest):
    assert rest_seconds(took, passed) == pytest.approx(rest)


async def work(*, fails: bool = False) -> int:
    await asyncio.sleep(0)
    if fails:
        raise ValueError("no")
    return threading.get_ident()


async def test_work_runs_there_and_its_result_comes_here():
    with Beside() as beside:
        assert await beside.run(work()) != threading.get_ident()


async def test_what_it_fails_with_is_raised_here():
    with Beside() as beside, pytest.raises(ValueError, match="no"):
        await beside.run(work(fails=True))


async def test_who_is_cancelled_here_has_it_ended_there():
    begun, ends = threading.Event(), list[str]()

    async def wait() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ends.append("ended")

    with Beside() as beside:
        task = asyncio.create_task(beside.run(wait()))
        await asyncio.to_thread(begun.wait)
        task.cancel()
        await asyncio.wait([task])

    assert (task.cancelled(), ends) == (True, ["ended"])
