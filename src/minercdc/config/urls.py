"""URLs in the configuration: which can be used, and what of them may be shown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

HIDDEN: Final = "***"
_USER: Final = re.compile(r"(?<=//)[^/@\s,]+:[^/@\s,]*(?=@)|(?<=http://)[^/@\s,]+(?=@)|(?<=https://)[^/@\s,]+(?=@)")
# After `tcp://` and `tcps://` come options of Oracle's net service, such as `retry_count`; `password=` among them is hidden by name.
_QUERY: Final = re.compile(r"(?<![\w.+-])((?!tcps?:)[a-z][a-z0-9+.-]*://[^\s?]*\?)(\S+)", re.IGNORECASE)


def is_http(url: str) -> bool:
    """Whether a URL is of http or https, with a host and, if it has a port, a valid one."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:  # brackets that are no address, a port that is none
        return False


def fits_header(value: str, encoding: str) -> bool:
    """Whether an HTTP header can have this value in an encoding: printable characters of it, without blanks at the ends."""
    return value.isprintable() and value == value.strip() and value == value.encode(encoding, "replace").decode(encoding)


def without_secrets(text: str) -> str:
    """A text without what may be secret in its URLs: user, password and query."""
    return _QUERY.sub(rf"\1{HIDDEN}", _USER.sub(HIDDEN, text))


def secrets_in(text: str) -> Iterator[str]:
    """The passwords and the queries of the URLs in a text."""
    yield from re.findall(r"//[^/@\s:]+:([^/@\s]+)@", text)
    yield from (query for _, query in _QUERY.findall(text))
