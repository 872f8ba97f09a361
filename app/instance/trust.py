"""Which clients ask about pods that exist, so that their answers need not wait to be sure of it."""

from collections import OrderedDict

_MOST_CLIENTS = 1_000
MOST_CREDIT = 20
PENALTY = 100


class Trust:
    """The credit of each client, by its address; at first it has none.

    A client may have a hold for as many pods at once as it has credit, before they are found at the
    API server. Each that is found adds one. One that does not exist takes as much as 100 add:
    kube-scheduler asks about such a pod only if it is deleted at that moment.
    """

    def __init__(self) -> None:
        self._credit: OrderedDict[str, int] = OrderedDict()
        """By client, who was heard of last at the end."""

    def credit(self, client: str) -> int:
        """Return for how many pods at once a client is believed; none if it is not positive."""
        return self._credit.get(client, 0)

    def note(self, client: str, *, exists: bool) -> None:
        """Note whether a pod exists about which a client has asked."""
        credit = self._credit.pop(client, 0) + (1 if exists else -PENALTY)
        self._credit[client] = min(MOST_CREDIT, max(-PENALTY, credit))
        if len(self._credit) > _MOST_CLIENTS:
            self._credit.popitem(last=False)
