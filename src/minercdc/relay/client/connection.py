"""Requests to a relay over one HTTP connection that is kept.

It is the standard library's, not that of `web/`: a request takes 0.1 ms of CPU with it, 0.5 ms with httpx2, and readers send thousands.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.parse import urlencode, urlsplit

from minercdc.errors import FellOffError, RelayDataError, RelayError
from minercdc.relay.client.checkpoint import Checkpoint
from minercdc.relay.events.schemas import AvroSchema, schema_id
from minercdc.relay.server.requests import WINDOW_OFFSET

_FELL_OFF = ("ScnNotFoundException", "OffsetNotFoundException")


@dataclass(frozen=True, slots=True)
class SourceInfo:
    """A source of a relay: what it serves of one table.

    :param name: `namespace.Record`; `Connection.tables` has the table's own name.
    """

    id: int
    name: str


@dataclass(frozen=True, slots=True)
class SchemaInfo:
    """A version of a source's schema, and the id that events name it by."""

    source: int
    version: int
    text: str
    schema: AvroSchema
    md5: bytes


@dataclass(frozen=True, slots=True)
class Received:
    """An answer to /stream.

    :param pending: bytes of the next event, when it does not fit; else 0.
    :param window: of a filtered answer that ends inside a window: SCN of that window, and how many of its events are read, before
        the filter; None for every other answer.
    """

    data: bytes
    pending: int = 0
    window: tuple[int, int] | None = None


class Connection:
    """One HTTP connection to a relay, opened by the first request and used by one thread at a time. Every request raises
    OSError when the relay does not answer or has too many clients, RelayError when it refuses (RelayDataError when its
    answer is not one of a relay), and FellOffError when its buffer does not hold the place that is wanted.

    :param url: `http://HOST:PORT`, or https.
    :param timeout: seconds to wait for an answer.
    :param name: of the client, in the relay's statistics; '' for its address.
    :raises RelayError: `url` is not of that form.
    """

    def __init__(self, url: str, *, timeout: float = 60.0, name: str = "") -> None:
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError as error:
            raise RelayError(f"{url} is not of the form http://HOST:PORT: {error}") from None
        if parts.scheme not in ("http", "https") or not host:
            raise RelayError(f"{url} is not of the form http://HOST:PORT")
        self.url = url.rstrip("/")
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._http = kind(host, port, timeout=timeout)
        self._headers = {"x-minercdc-client": name} if name else {}

    def sources(self) -> list[SourceInfo]:
        """All sources of the relay, in the order in which it gives them."""
        with self._expected("/sources"):
            return [SourceInfo(int(one["id"]), str(one["name"])) for one in self._json("/sources", {})]

    def schemas(self, sources: Sequence[int]) -> list[SchemaInfo]:
        """All versions of the schemas of some sources, by id; () for all."""
        wanted = {"sources": ",".join(map(str, sources))} if sources else {}
        with self._expected("/register"):
            return [
                SchemaInfo(int(one["id"]), int(one["version"]), text, json.loads(text), schema_id(text))
                for one in self._json("/register", {**wanted, "protocolVersion": "3"})
                if isinstance(text := one["schema"], str)
            ]

    def buffer_info(self) -> dict[str, Any]:
        """What the relay's buffer holds: `minScn`, `maxScn`, `prevScn` (of the window that was dropped last; -1 where it is not
        known), `bytes`, `size`, and the times of the oldest and newest window, `timestampFirstEvent` and `timestampLatestEvent`,
        in milliseconds since the epoch."""
        path = "/bufferInfo/inbound/1/0"
        with self._expected(path):
            found: dict[str, Any] = self._json(path, {})
            scns = {"prevScn": found.get("prevScn", -1), "minScn": found["minScn"], "maxScn": found["maxScn"]}
            return {**found, **{name: int(scn) for name, scn in scns.items()}}

    def tables(self) -> dict[int, str]:
        """`SCHEMA.TABLE` of each source, by id. Only a relay of minercdc answers this: another one refuses (RelayError)."""
        with self._expected("/tables"):
            return {int(number): str(table) for number, table in self._json("/tables", {}).items()}

    def stream(
        self,
        place: Checkpoint,
        size: int,
        sources: Sequence[int] = (),
        filters: str = "",
        wait_ms: int = 0,
        linger_ms: int = 0,
    ) -> Received:
        """Events from a place on, at most `size` bytes. The last one may be cut off.

        :param sources: ids; () for all.
        :param filters: JSON of the parameter `filters`, '' for none.
        :param wait_ms, linger_ms: milliseconds to wait for the first window, and then for more of them; 0: not at all.
        """
        parameters = {"checkPoint": place.to_json(), "output": "binary", "size": str(size)}
        if sources:
            parameters["sources"] = ",".join(map(str, sources))
        if filters:
            parameters["filters"] = filters
        if wait_ms:
            parameters["waitMs"] = str(wait_ms)
        if linger_ms:
            parameters["lingerMs"] = str(linger_ms)
        response, data = self._get("/stream", parameters)
        pending = response.getheader("x-dbus-pending-event-size", "0")
        inside = response.getheader(WINDOW_OFFSET, "")
        scn, _, offset = inside.partition(":")
        with self._expected("/stream"):
            window = (int(scn), int(offset)) if inside else None
        return Received(data, int(pending) if pending.isascii() and pending.isdigit() else 0, window)

    @contextmanager
    def _expected(self, path: str) -> Iterator[None]:
        """Raise RelayDataError for an answer that is not of a relay: another service may listen there."""
        try:
            yield
        except (KeyError, ValueError, TypeError, AttributeError) as error:
            raise RelayDataError(
                f"{self.url}{path} did not answer as a relay does: {error!r}", hint="Is it the address of a relay?"
            ) from None

    def _json(self, path: str, parameters: Mapping[str, str]) -> Any:
        _, data = self._get(path, parameters)
        try:
            return json.loads(data)
        except ValueError:
            raise RelayDataError(f"{self.url}{path} answered {data[:100]!r}, which is not JSON") from None

    def _get(self, path: str, parameters: Mapping[str, str]) -> tuple[HTTPResponse, bytes]:
        try:
            self._http.request("GET", f"{path}?{urlencode(parameters)}" if parameters else path, headers=self._headers)
            response = self._http.getresponse()
            data = response.read()
        except HTTPException as error:
            self._http.close()
            raise OSError(f"the answer broke off: {error!r}") from None
        except OSError:
            self._http.close()
            raise
        if response.status == 503:
            raise OSError("the relay has as many clients as it serves (status 503)")
        if response.status != 200:
            raise RelayError(f"{self.url}{path} answered {response.status} {data[:200].decode(errors='replace').strip()}")
        kind = response.getheader("x-dbus-error", "")
        if kind:
            self._refused(kind.rpartition(".")[2], response.getheader("x-dbus-error-message", ""))
        return response, data

    def _refused(self, kind: str, message: str) -> None:
        if kind in _FELL_OFF:
            raise FellOffError(
                f"{self.url} does not hold the client's place any more: {message}",
                hint="Give the client a bootstrap, or read the tables as of an SCN and store a checkpoint of it.",
            )
        raise RelayError(f"{self.url} refused: {kind}: {message}")

    def close(self) -> None:
        """Close the connection; safe to call twice. A later request opens it again."""
        self._http.close()
