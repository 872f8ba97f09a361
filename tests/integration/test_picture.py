"""The picture at /, for those who ask for it in the settings."""

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
