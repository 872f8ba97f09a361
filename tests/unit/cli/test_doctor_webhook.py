"""What `doctor` takes a webhook for."""

import msgspec
import pytest

from cli.doctor.objects import WebhookConfiguration

TRUSTED, OTHER = {"clientConfig": {"caBundle": "QQ=="}}, {"clientConfig": {"caBundle": None}}


@pytest.mark.parametrize(
    ("webhooks", "is_trusted"),
    [([TRUSTED], True), ([TRUSTED, OTHER], False), ([{}], False), ([], False), (None, False)],
)
def test_every_webhook_needs_a_ca_and_there_is_one(
    webhooks: list[object] | None, *, is_trusted: bool
) -> None:
    found = msgspec.convert({"webhooks": webhooks}, WebhookConfiguration)

    assert found.is_trusted is is_trusted
