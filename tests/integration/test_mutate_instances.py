"""Which instances answer the webhook: all that know the cluster, whoever leads."""

import asyncio
from typing import Any

import pytest

from tests.admission import admitted, new_pod, of_claim, review, with_resource
from tests.fakes.installed import config_map
from tests.integration.instances import VIRTUAL_TIME, Processes

pytestmark = VIRTUAL_TIME

POD = new_pod(of_claim("quad-a"))
WEBHOOK: dict[str, Any] = {
    "webhook_port": 9506,
    "webhook_cert_file": "crt",
    "webhook_private_key_file": "key",
}
NOT_ADDED = "the pod does not ask for the Longhorn scheduler extender: "
ADVICE = "; if it has Longhorn volumes, create it again later"


async def test_leader_and_standbys_answer_alike():
    async with Processes(**WEBHOOK) as processes:
        started = await processes.start_all(3)

        answers = [await each.mutate(review(POD)) for each in started]

        assert len(processes.standbys) == 2
        assert [admitted(POD, each.json()) for each in answers] == [with_resource(POD)] * 3
        assert [each.headers.get("connection") for each in answers] == [None] * 3


async def test_before_it_knows_the_cluster_an_instance_warns_and_lets_the_pod_be():
    async with Processes(**WEBHOOK) as processes:
        started = processes.start(0)

        answer = await started.mutate(review(POD))

        [warning] = answer.json()["response"]["warnings"]
        assert warning == (
            f"{NOT_ADDED}this instance of the extender does not know the cluster; "
            f"its /readyz says why{ADVICE}"
        )
        assert len(warning) <= 256  # the API server cuts longer ones off
        assert admitted(POD, answer.json()) == POD
        assert answer.headers["connection"] == "close"
        assert admitted({}, (await started.mutate(review(new_pod()))).json()) == {}


async def test_while_the_extender_is_disabled_pods_do_not_get_to_wait_for_it():
    async with Processes(**WEBHOOK) as processes:
        [only] = await processes.start_all(1)
        processes.server.put(
            config_map(scheduler_extender_enabled="false", scheduler_extender_inject="true")
        )
        await asyncio.sleep(1)

        answer = await only.mutate(review(POD))

        assert answer.json()["response"]["warnings"] == [
            f"{NOT_ADDED}the extender is disabled by the setting scheduler-extender-enabled{ADVICE}"
        ]
        assert admitted(POD, answer.json()) == POD


@pytest.mark.parametrize("inject", [{}, {"scheduler_extender_inject": "false"}])
async def test_before_injection_has_begun_and_after_its_end_pods_stay_as_they_are(inject):
    async with Processes(**WEBHOOK) as processes:
        [only] = await processes.start_all(1)
        processes.server.put(config_map(**inject))
        await asyncio.sleep(1)

        answer = await only.mutate(review(POD))
        asked = await only.filter()

        assert answer.json()["response"]["warnings"] == [
            f"{NOT_ADDED}injection is off: scheduler-extender-inject is not true{ADVICE}"
        ]
        assert admitted(POD, answer.json()) == POD
        assert asked is not None
        assert not asked.error  # pods that ask already are answered


async def test_an_instance_that_is_told_to_end_answers_until_it_has():
    async with Processes(**WEBHOOK) as processes:
        [only] = await processes.start_all(1)
        only.terminate()
        await asyncio.sleep(0.01)

        assert only.is_ending
        answer = await only.mutate(review(POD))
        assert admitted(POD, answer.json()) == with_resource(POD)


async def test_without_the_settings_there_is_no_webhook():
    async with Processes() as processes:
        [only] = await processes.start_all(1)

        assert (await only.mutate(review(POD))).status_code == 404
