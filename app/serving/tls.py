"""HTTPS with a certificate from files that are read again when they change."""

import asyncio
import ssl
from pathlib import Path
from typing import NamedTuple, NoReturn

import structlog

from app.errors import InputError
from app.process.door import why
from app.serving.metrics import Metrics

log = structlog.get_logger()

LOOK_SECONDS = 5.0
"""How often the files are read and compared. Events on files would not do: the kubelet replaces the
files of a Secret by moving a link above them, which leaves no event on the files."""


class TlsFiles(NamedTuple):
    """Paths of files in PEM."""

    certificate: str
    private_key: str
    client_ca: str = ""
    """Of the CAs that sign clients' certificates; if empty, clients need none."""


class Tls:
    """The certificate that is served, and whether clients must have one.

    Raises:
        InputError: The files cannot be used.
    """

    def __init__(self, files: TlsFiles, metrics: Metrics) -> None:
        self._files = files
        self._metrics = metrics
        self._contents = self._read()
        self._newest = self._build()
        self._problem = ""
        """What the last look found wrong."""
        self._is_logged = False
        self.context = self._build()
        """For the listening socket. Each handshake uses the newest files."""
        self.context.sni_callback = self._use_newest

    async def follow(self) -> NoReturn:
        """Call `look` every `LOOK_SECONDS`, until cancelled."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            self.look()

    def look(self) -> None:
        """Use the files of now for new connections, or those before if these are unusable."""
        try:
            contents = self._read()
            if contents == self._contents:
                self._problem, self._is_logged = "", False
                return
            newest = self._build()
            if self._read() != contents:
                return  # they are being written; the next look finds all of it
        except InputError as error:
            self._report(str(error))
            return
        self._contents, self._newest = contents, newest
        self._problem, self._is_logged = "", False
        self._metrics.tls_reloads_total.labels("loaded").inc()
        log.info("tls.loaded", certificate=self._files.certificate)

    def _report(self, problem: str) -> None:
        """Report a problem that two looks in a row find, since files may be replaced one by one.

        It is logged once, and counted at each look, so that an alert lasts as long as the problem.
        """
        if problem != self._problem:
            self._problem, self._is_logged = problem, False
            return
        self._metrics.tls_reloads_total.labels("unusable").inc()
        if not self._is_logged:
            self._is_logged = True
            log.warning("tls.unusable", error=problem)

    def _read(self) -> list[bytes]:
        """Return the contents of the files."""
        contents = []
        for path in filter(None, self._files):
            try:
                contents.append(Path(path).read_bytes())
            except OSError as error:
                raise InputError(f"{path} cannot be read: {error.strerror}") from error
        return contents

    def _build(self) -> ssl.SSLContext:
        files = self._files
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        # A client could resume a session although its CA has been replaced since.
        context.options |= ssl.OP_NO_TICKET
        context.num_tickets = 0
        try:
            # Without a password here, OpenSSL would ask for one on the terminal.
            context.load_cert_chain(files.certificate, files.private_key, password="")
        except (ssl.SSLError, OSError, ValueError) as error:
            raise InputError(
                f"the certificate in {files.certificate} with the key in "
                f"{files.private_key} cannot be used: {why(error)}"
            ) from error
        if files.client_ca:
            context.verify_mode = ssl.CERT_REQUIRED
            try:
                context.load_verify_locations(files.client_ca)
            except (ssl.SSLError, OSError) as error:
                raise InputError(
                    f"the certificates in {files.client_ca} cannot be used: {why(error)}"
                ) from error
        return context

    def _use_newest(
        self, connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext
    ) -> None:
        """Use the newest files; called in each handshake, also if the client names no host."""
        connection.context = self._newest
