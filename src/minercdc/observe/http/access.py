"""Access control of the HTTP port."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from email.message import Message
from http import HTTPStatus

from minercdc.stream.signal import printable

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]", "::1")
_OPEN_PAGES = ("/health", "/ready", "/live", "/metrics", "/")


def hosts_of(host: str) -> frozenset[str]:
    """The names by which requests may call `host` where it is a loopback address; else none, which lets every name pass:
    others may connect anyway."""
    return frozenset({host, *_LOOPBACK}) if host in _LOOPBACK else frozenset()


@dataclass(frozen=True, slots=True)
class Access:
    """Who may do what.

    :param token: the bearer token.
    :param hosts: names that a request may call this host by; any when empty: the port can be reached from elsewhere.
    """

    token: str
    hosts: frozenset[str]

    def refusal(self, method: str, path: str, headers: Message) -> tuple[HTTPStatus, str] | None:
        """Status and text of the answer to a request that is refused; None when it may go on."""
        given = headers.get("Host", "")
        name = given.rpartition(":")[0] or given
        if self.hosts and name.lower() not in self.hosts:
            return HTTPStatus.MISDIRECTED_REQUEST, f"{printable(name)} is not here"
        origin = headers.get("Origin")
        if origin is not None and origin.partition("://")[2] != given:
            return HTTPStatus.FORBIDDEN, "requests from web pages of other origins are refused"
        if method == "GET" and (path in _OPEN_PAGES or self.hosts):
            return None
        return self.missing_token(headers)

    def missing_token(self, headers: Message) -> tuple[HTTPStatus, str] | None:
        """Status and text of the answer to a request that lacks the token; None when it has it."""
        scheme, _, token = headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "bearer" and hmac.compare_digest(token.strip().encode(), self.token.encode()):
            return None
        return HTTPStatus.UNAUTHORIZED, (
            "a header `Authorization: Bearer TOKEN` is needed; TOKEN is minercdc.http.token or, where that is not given,"
            " in the file http-token-<name> of minercdc.state.dir"
        )
