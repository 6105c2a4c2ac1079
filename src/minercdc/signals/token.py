"""Keeps the bearer token of the connector's HTTP port in the state directory, where none is configured; it is made once."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from urllib.parse import quote

from minercdc.errors import StateDirectoryError
from minercdc.state_directory import make_private, private_opener


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
