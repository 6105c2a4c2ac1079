"""Keeps the bearer token of the connector's HTTP port in the state directory, where none is configured; it is made once."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from urllib.parse import quote

from minercdc.config.load import ConnectorConfig
from minercdc.errors import StateDirectoryError
from minercdc.stream.state_directory import make_private, private_opener


def token_file(directory: Path, connector: str) -> Path:
    """The file in which the token of a connector is kept when none is configured; it need not be there.

    :param directory: `minercdc.state.dir`.
    """
    return directory / f"http-token-{quote(connector, safe='')}"


def kept_token(directory: Path, connector: str) -> str:
    """The token in the state directory; it is made there, readable by its owner only, when there is none.

    :raises StateDirectoryError: it cannot be read or written.
    """
    file = token_file(directory, connector)
    try:
        if not file.exists():
            make_private(directory)
            fresh = file.with_suffix(f".{os.getpid()}")
            with open(fresh, "w", opener=private_opener) as new:
                new.write(secrets.token_urlsafe(32) + "\n")
            fresh.rename(file)
        return file.read_text().strip()
    except OSError as error:
        raise StateDirectoryError(
            f"the token of the HTTP port cannot be kept in {file.absolute()}: {error.strerror or error}",
            hint="Make minercdc.state.dir writable, or set minercdc.http.token.",
        ) from error


def http_token(config: ConnectorConfig) -> str:
    """Token of the connector's HTTP port: the configured one, else one that is kept in `minercdc.state.dir`, made when missing.

    :raises StateDirectoryError: none is configured, and `minercdc.state.dir` cannot keep one.
    """
    given = config.signals.minercdc_http_token
    return given.get_secret_value() if given else kept_token(config.capture.minercdc_state_dir, config.identity.name)
