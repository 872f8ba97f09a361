"""The picture at /: for those who ask for it in the settings, from a leader and from a standby."""

from tests.integration.instances import NODES, VIRTUAL_TIME, Processes

pytestmark = VIRTUAL_TIME


async def test_it_is_not_served_unless_it_is_wanted():
    async with Processes() as processes:
        [leader] = await processes.start_all(1)

        assert (await leader.get("/")).status_code == 404


async def test_nodes_holds_and_waiting_pods_are_in_it():
    async with Processes(debug=True, pods=1) as processes:
        [leader] = await processes.start_all(1)
        await leader.filter(body=processes.request("pair"))
        await leader.filter(body=processes.request("quad", "node-1"))

        answer = await leader.get("/")

        assert answer.status_code == 200
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["content-security-policy"] == "frame-ancestors 'none'"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert all(f'"name":"{node}"' in answer.text for node in NODES)
        assert '"kind":"held","object":"default/pair"' in answer.text
        assert '"kind":"pending","object":"default/quad"' in answer.text
        assert '"reasons":[{"code":' in answer.text


async def test_a_pod_that_got_a_node_waits_no_longer():
    async with Processes(debug=True, pods=1) as processes:
        [leader] = await processes.start_all(1)
        await leader.filter(body=processes.request("quad", "node-1"))
        assert '"kind":"pending"' in (await leader.get("/")).text

        await leader.filter(body=processes.request("quad"))

        assert '"kind":"pending"' not in (await leader.get("/")).text


async def test_a_standby_names_the_leader():
    async with Processes(debug=True) as processes:
        await processes.start_all(2)
        [standby] = processes.standbys

        async def knows_the_holder() -> bool:
            return processes.holder in (await standby.get("/")).text

        await processes.until(knows_the_holder, within=5)

        assert '"code":"standby"' in (await standby.get("/")).text
