"""The command works out once what comes, whatever it shows of it."""

from extender.upcoming.book import Book
from tests.builders import node_document
from tests.calls import calls_of
from tests.unit.cli.situations import bound_claim, host, pod, storage_class, volume


def test_the_command_takes_one(ask):
    records = [volume(), *bound_claim(), storage_class(), pod()]
    with calls_of(Book.ask) as forecasts:
        status, _ = ask(host(), node_document("node-1"), *records)

    assert status == 0
    assert forecasts.count == 1
