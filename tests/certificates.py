"""Certificates for servers of tests, as the files that they read."""

from pathlib import Path

import trustme

HOST = "127.0.0.1"


def write_certificate(ca: trustme.CA, folder: Path, name: str = "tls") -> tuple[str, str]:
    """Write a certificate of our address; return the files of its chain and of its key."""
    chain, key = folder / f"{name}.crt", folder / f"{name}.key"
    issued = ca.issue_cert(HOST)
    issued.cert_chain_pems[0].write_to_path(chain)
    issued.private_key_pem.write_to_path(key)
    return str(chain), str(key)


def webhook_settings(ca: trustme.CA, folder: Path) -> dict[str, str]:
    """Return the variables of a webhook on a port of its choice, with such a certificate."""
    chain, key = write_certificate(ca, folder)
    return {
        "EXTENDER_WEBHOOK_PORT": "0",
        "EXTENDER_WEBHOOK_CERT_FILE": chain,
        "EXTENDER_WEBHOOK_PRIVATE_KEY_FILE": key,
    }
