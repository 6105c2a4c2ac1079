"""The one HTTP client: httpx2 with our settings. It is imported by the first request, since that takes 0.1 s, which most commands save."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx2

logging.getLogger("httpx2").setLevel(logging.WARNING)  # it logs every request, with its URL, which may hold secrets


def client(
    seconds: float,
    *,
    headers: Mapping[str, str] | None = None,
    auth: tuple[str, str] | None = None,
    trust: ssl.SSLContext | None = None,
    kept: int | None = None,
) -> httpx2.Client:
    """A client for URLs that users configure, by the proxies that the environment names; to be closed by its user.

    :param seconds: that each step of a request (connect, send, read) may take.
    :param auth: user and password for HTTP Basic; None for those in the URL.
    :param trust: the authorities that are trusted, and this client's certificate; None for the system's, and none.
    :param kept: connections that are kept between requests; None for httpx2's default.
    """
    import httpx2

    limits = httpx2.Limits(max_keepalive_connections=kept) if kept is not None else httpx2.Limits()
    verify = True if trust is None else trust
    return httpx2.Client(headers=headers, auth=auth, verify=verify, timeout=seconds, limits=limits)


def ask(
    host: str,
    port: int,
    path: str,
    seconds: float,
    *,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    content: str | None = None,
) -> tuple[int, bytes]:
    """Status and content of the answer of a program of ours, by plain HTTP and no proxy.

    :param seconds: that each step (connect, send, read) may take.
    :raises OSError: it does not answer: ConnectionRefusedError where nothing listens, TimeoutError, or ConnectionError for an
        answer that is not HTTP.
    """
    import httpx2

    try:
        url = httpx2.URL(scheme="http", host=host, port=port, path=path)
        # Without TLS there is nothing to verify; reading the system's authorities takes 20 ms.
        with httpx2.Client(timeout=seconds, trust_env=False, verify=False) as asking:
            answer = asking.request(method, url, headers=headers, content=content)
            return answer.status_code, answer.content
    except (httpx2.RequestError, httpx2.InvalidURL, UnicodeError) as error:  # the last: of a host name
        raise _of_the_system(error) from None


def _of_the_system(error: Exception) -> OSError:
    """The error of the system that one of httpx2 stands for; ConnectionError where there is none."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError):
            return cause
        cause = cause.__cause__ or cause.__context__  # a pool of connections of httpx2 hides the former
    return ConnectionError(str(error) or type(error).__name__)
