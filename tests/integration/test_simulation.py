"""Whatever happens, never two act; when it is over, one leads soon and the Service leads to it."""

import pytest

from tests.integration.instances import VIRTUAL_TIME
from tests.integration.simulation import Simulation

pytestmark = VIRTUAL_TIME

SETTLE_SECONDS = 9.5
"""The lease and a retry period, and what the requests take."""


@pytest.mark.parametrize("seed", range(20))
async def test_one_leads_and_never_two(seed: int) -> None:
    simulation = Simulation(seed)

    took = await simulation.run()

    assert took < SETTLE_SECONDS, "\n".join(simulation.trace)


async def test_the_same_seed_gives_the_same_trace() -> None:
    first, second = Simulation(7), Simulation(7)

    await first.run()
    await second.run()

    assert first.trace == second.trace
