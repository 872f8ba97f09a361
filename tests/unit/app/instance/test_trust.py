"""Clients are believed for as long as the pods exist that they ask about."""

from app.instance.trust import MOST_CREDIT, PENALTY, Trust


def credit_after(pods: str) -> int:
    """Return what a client has after some pods: + exists, - does not."""
    trust = Trust()
    for each in pods:
        trust.note("client", exists=each == "+")
    return trust.credit("client")


def test_who_never_asked_about_a_pod_is_not_believed() -> None:
    assert Trust().credit("client") == 0


def test_each_pod_that_exists_adds_to_it_up_to_a_bound() -> None:
    assert credit_after("+") == 1
    assert credit_after("++") == 2
    assert credit_after("+" * 1_000) == MOST_CREDIT


def test_one_that_does_not_takes_as_much_as_a_hundred_add() -> None:
    lost = "+" * 1_000 + "-"

    assert credit_after(lost) == MOST_CREDIT - PENALTY
    assert credit_after(lost + "+" * (PENALTY - MOST_CREDIT)) == 0
    assert credit_after("-" * 1_000) == -PENALTY


def test_one_client_takes_nothing_from_another() -> None:
    trust = Trust()
    trust.note("one", exists=True)

    trust.note("other", exists=False)

    assert (trust.credit("one"), trust.credit("other")) == (1, -PENALTY)


def test_a_thousand_clients_are_remembered() -> None:
    trust = Trust()
    trust.note("silent", exists=True)
    trust.note("first", exists=True)
    for number in range(998):
        trust.note(f"client-{number}", exists=False)
    trust.note("first", exists=True)

    trust.note("last", exists=True)

    assert (trust.credit("silent"), trust.credit("first"), trust.credit("last")) == (0, 2, 1)
