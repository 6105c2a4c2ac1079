"""The requests of a relay's clients, without HTTP: paths and parameters in, answers out (docs/relay.md has the table)."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from minercdc.errors import MinerCdcError, RelayError
from minercdc.relay.buffer.windows import EventBuffer, OvertakenError, ScnNotFoundError
from minercdc.relay.client.checkpoint import Checkpoint, checkpoint_of
from minercdc.relay.events.event import RelayEvent, unpack
from minercdc.relay.events.event_json import event_json
from minercdc.relay.events.filters import key_filters, source_filter
from minercdc.relay.events.registry import SchemaRegistry
from minercdc.relay.server.commands import NOT_THERE, Commands
from minercdc.relay.server.serving import answer, filtered_answer
from minercdc.relay.server.statistics import Inbound, Outbound, Statistics

DEFAULT_SIZE: Final = 1024 * 1024
_LONGEST_WAIT_MS: Final = 20_000
_LONGEST_LINGER_MS: Final = 5_000
_LITTLE: Final = 256 * 1024
_PENDING: Final = "x-dbus-pending-event-size"
PROTOCOL_VERSION: Final = "x-dbus-protocol-version"
WINDOW_OFFSET: Final = "x-minercdc-window-offset"
_PACKAGES: Final = {
    "ScnNotFoundException": "com.linkedin.databus.core",
    "OffsetNotFoundException": "com.linkedin.databus.core",
    "InvalidRequestParamValueException": "com.linkedin.databus2.core.container.request",
    "UnsupportedProtocolVersionException": "com.linkedin.databus2.core.container.request",
    "RequestProcessingException": "com.linkedin.databus2.core.container.request",
}


class RefusedError(RelayError):
    """A request is answered with an error.

    :param kind: Databus's name of the error.
    """

    code = "MC-9101"

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(slots=True)
class Reply:
    """An answer.

    :param chunks: its content; when the first one raises a MinerCdcError, the answer is that error.
    :param headers: beside those of HTTP itself.
    :param content_type: of the content.
    """

    chunks: Iterator[bytes]
    headers: dict[str, str] = field(default_factory=dict)
    content_type: str = "application/json"


class Unknown(Exception):
    """The relay has no such path."""


class Requests:
    """Answers requests about one buffer; may be used by any thread.

    :param name: of the relay, which is the name of its only physical source.
    :param commands: None: they are refused.
    """

    def __init__(
        self,
        buffer: EventBuffer,
        registry: SchemaRegistry,
        statistics: Statistics,
        name: str,
        commands: Commands | None = None,
    ) -> None:
        self._buffer = buffer
        self._registry = registry
        self._statistics = statistics
        self._name = name
        self._commands = commands
        self._pages: Mapping[str, Callable[[list[str], Mapping[str, str]], Reply]] = {
            "sources": self._sources,
            "register": self._register,
            "stream": self._stream,
            "physicalSources": self._physical_sources,
            "physicalBuffers": self._physical_buffers,
            "bufferInfo": self._buffer_info,
            "containerStats": self._container_statistics,
            "relayStats": self._relay_statistics,
            "tables": self._tables,
            "relayCommand": self._command,
        }

    def reply(self, path: str, parameters: Mapping[str, str], client: str) -> Reply:
        """The answer to a request; `stream`, `register` and `sources` are counted in the statistics. /stream waits as long as its
        `waitMs` (20 s at most) and `lingerMs` (5 s) say. An error that the request meets is an answer, too, with `error_headers`.

        :param path: as `/bufferInfo/inbound/1/0`.
        :param client: name for the statistics.
        :raises Unknown: there is no such path.
        :raises ValueError: a number has more digits than Python reads.
        """
        command, *rest = path.strip("/").split("/")
        page = self._pages.get(command)
        if page is None:
            raise Unknown(path)
        error = ""
        try:
            made = page(rest, parameters)
        except MinerCdcError as problem:
            error = kind_of(problem)
            made = Reply(iter(()), error_headers(problem))
        size = int(made.headers.pop("size", "0"))
        if command in ("stream", "register", "sources"):
            asked = [int(one) for one in parameters.get("sources", "").split(",") if _is_whole(one)]
            known = [source for source in asked if self._registry.source(source)]
            self._statistics.answered(command, client, known, size, error=error)
        return made

    def _sources(self, _: list[str], parameters: Mapping[str, str]) -> Reply:
        if parameters.get("v", "1") not in ("1", "2"):
            raise _invalid("v", parameters["v"])
        return _json([{"id": source.id, "name": source.name} for source in self._registry.sources()])

    def _tables(self, _: list[str], __: Mapping[str, str]) -> Reply:
        """Table of each source, by id, for a bootstrap; Databus has no such request."""
        return _json({str(source.id): source.table for source in self._registry.sources()})

    def _register(self, _: list[str], parameters: Mapping[str, str]) -> Reply:
        text = parameters.get("protocolVersion", "2")
        if text not in ("2", "3", "4"):
            raise RefusedError(
                "UnsupportedProtocolVersionException" if text.isdigit() else "InvalidRequestParamValueException",
                f"protocolVersion={text}: this relay has 2, 3 and 4",
            )
        wanted = self._wanted(parameters, empty_is_all=True)
        schemas = [
            {"id": source.id, "version": version.number, "schema": version.text}
            for source in self._registry.sources()
            if source.id in wanted
            for version in self._registry.versions(source)
        ]
        reply = _json(schemas if text != "4" else {"sourceSchemas": schemas, "metadataSchemas": []})
        reply.headers[PROTOCOL_VERSION] = text
        return reply

    def _wanted(self, parameters: Mapping[str, str], *, empty_is_all: bool) -> set[int]:
        """Source ids of parameter `sources`; without it all with `empty_is_all`."""
        text = parameters.get("sources", "")
        known = {source.id for source in self._registry.sources()}
        if not text and empty_is_all:
            return known
        wanted = set()
        for one in text.split(","):
            if not _is_whole(one.strip()) or int(one) not in known:
                raise _invalid("sources", text, f"there is no source {one.strip()!r}")
            wanted.add(int(one))
        return wanted

    def _stream(self, _: list[str], parameters: Mapping[str, str]) -> Reply:
        for absent in ("subs", "checkPointMult"):
            if absent in parameters:
                raise _invalid(absent, parameters[absent], "this relay has one partition; use sources and checkPoint")
        output = parameters.get("output", "binary").lower()
        if output not in ("binary", "json", "json_plain_value"):
            raise _invalid("output", output)
        if parameters.get("maxev", "0") not in ("0", "1", "2"):
            raise _invalid("maxev", parameters["maxev"])
        size = _number(parameters, "size", DEFAULT_SIZE, least=1)
        wanted = self._wanted(parameters, empty_is_all=True)
        checkpoint = _checkpoint(parameters)
        latest = parameters.get("streamFromLatestScn", "false").lower() == "true"
        try:
            keys = key_filters(parameters["filters"]) if parameters.get("filters") else {}
        except RelayError as error:
            raise RefusedError("InvalidRequestParamValueException", error.message) from None
        if not latest:
            self._wait(checkpoint, _number(parameters, "waitMs", 0, least=0), _number(parameters, "lingerMs", 0, least=0))
        every = wanted >= {source.id for source in self._registry.sources()}
        if every and not keys and output == "binary":
            found = answer(self._buffer, checkpoint, size, latest=latest)
        else:
            passes = source_filter(wanted, keys)
            form = _binary if output == "binary" else self._form(output)
            found = filtered_answer(self._buffer, checkpoint, size, passes, form, latest=latest)
        headers = {"size": str(len(found.filtered) if found.filtered is not None else found.end - found.begin)}
        if found.pending:
            headers[_PENDING] = str(found.pending)
        if found.window_offset >= 0:
            headers[WINDOW_OFFSET] = f"{found.window_scn}:{found.window_offset}"
        kind = "application/octet-stream" if output == "binary" else "application/json"
        return Reply(found.chunks(self._buffer), headers, kind)

    def _wait(self, checkpoint: Checkpoint, wait_ms: int, linger_ms: int) -> None:
        """Parameters of ours: `waitMs`, to wait so long for a window, where Databus answers at once with nothing;
        `lingerMs`, to wait so long for more of them, while there is little: fewer and larger answers."""
        if not wait_ms and not linger_ms:
            return
        begin = self._buffer.start_of(checkpoint)
        if begin == self._buffer.state.tail and not (
            wait_ms and self._buffer.wait(begin, min(wait_ms, _LONGEST_WAIT_MS) / 1000)
        ):
            return
        if linger_ms and self._buffer.state.tail - begin < _LITTLE:
            time.sleep(min(linger_ms, _LONGEST_LINGER_MS) / 1000)

    def _form(self, output: str) -> Callable[[RelayEvent, bytes], bytes]:
        plain = output == "json_plain_value"
        readers = {
            version.id: version.text for source in self._registry.sources() for version in self._registry.versions(source)
        }

        def form(event: RelayEvent, _: bytes) -> bytes:
            return event_json(event, readers.get(event.schema_id, "") if plain else "").encode() + b"\n"

        return form

    def _physical_sources(self, _: list[str], __: Mapping[str, str]) -> Reply:
        return _json([{"name": self._name, "id": 1, "uri": self._name, "role": "MASTER"}])

    def _physical_buffers(self, _: list[str], __: Mapping[str, str]) -> Reply:
        return _json([{"id": 0, "name": self._name, "physicalSource": self._name, "size": self._buffer.size}])

    def _buffer_info(self, rest: list[str], _: Mapping[str, str]) -> Reply:
        if rest[:1] != ["inbound"] and rest:
            raise _invalid("path", "/".join(rest), "/bufferInfo/inbound/<source>/<partition>")
        state = self._buffer.state
        first = last = 0
        least = -1
        if not state.is_empty:
            oldest, newest = self._event_at(state.head), self._event_at(self._buffer.latest())
            least, first, last = oldest.sequence, oldest.time_ns // 1_000_000, newest.time_ns // 1_000_000
        return _json(
            {
                "minScn": least,
                "maxScn": state.max_scn,
                "timestampFirstEvent": first,
                "timestampLatestEvent": last,
                "prevScn": state.prev_scn,
                "bytes": state.tail - state.head,
                "size": self._buffer.size,
            }
        )

    def _event_at(self, place: int) -> RelayEvent:
        end = self._buffer.end_of_event(place)
        return unpack(self._buffer.read(place, end))

    def _command(self, rest: list[str], _: Mapping[str, str]) -> Reply:
        """Carry out the command of /relayCommand/NAME, and answer its text; an unknown one is answered with the names there
        are."""
        if self._commands is None:
            raise RefusedError(
                "RequestProcessingException", "commands are off in this relay: minercdc.relay.commands turns them on"
            )
        name = "/".join(rest)
        try:
            text = self._commands.run(name)
        except KeyError:
            absent = " is not there in this relay" if rest[:1] and rest[0] in NOT_THERE else " is invalid"
            text = f"command {name[:200]}{absent}. Valid commands are: {'|'.join(self._commands.names)}"
        except OSError as error:
            raise RefusedError("RequestProcessingException", f"command {name}: {error}") from None
        return Reply(iter((text.encode() + b"\r\n",)), content_type="text/plain")

    def _container_statistics(self, rest: list[str], _: Mapping[str, str]) -> Reply:
        """The answer of
        /containerStats/{inbound,outbound}/events/{total,sources,source/<id>,psources,psource/<name>,clients,client/<id>}"""
        statistics = self._statistics
        if rest[:2] == ["inbound", "events"]:
            return _json(_shown(rest[2:], statistics.total_in, statistics.by_source_in, {}, self._name))
        if rest[:2] == ["outbound", "events"]:
            return _json(_shown(rest[2:], statistics.total_out, statistics.by_source_out, statistics.by_client, self._name))
        raise _invalid("path", "/".join(rest), "/containerStats/{inbound,outbound}/events/total")

    def _relay_statistics(self, rest: list[str], _: Mapping[str, str]) -> Reply:
        """The answer of /relayStats/outbound/http/{total,sources,source/<id>,clients,client/<id>}."""
        if rest[:2] != ["outbound", "http"]:
            raise _invalid("path", "/".join(rest), "/relayStats/outbound/http/total")
        statistics = self._statistics
        return _json(_shown(rest[2:], statistics.total_out, statistics.by_source_out, statistics.by_client, self._name))


def _shown(
    rest: list[str],
    total: Inbound | Outbound,
    by_source: Mapping[int, Inbound] | Mapping[int, Outbound],
    by_client: Mapping[str, Outbound],
    name: str,
) -> object:
    match rest:
        case ["total"]:
            return total.to_json()
        case ["sources"]:
            return sorted(by_source)
        case ["source", number] if _is_whole(number) and int(number) in by_source:
            return by_source[int(number)].to_json()
        case ["psources"]:
            return [name]
        case ["psource", wanted] if wanted == name:
            return total.to_json()
        case ["clients"]:
            return sorted(by_client)
        case ["client", wanted] if wanted in by_client:
            return by_client[wanted].to_json()
    raise _invalid("path", "/".join(rest), "there are no statistics of it")


def _binary(_: RelayEvent, data: bytes) -> bytes:
    return data


def _checkpoint(parameters: Mapping[str, str]) -> Checkpoint:
    text = parameters.get("checkPoint")
    if not text:
        return Checkpoint()
    try:
        return checkpoint_of(text)
    except RelayError as error:
        raise RefusedError("InvalidRequestParamValueException", error.message) from None


def _is_whole(text: str) -> bool:
    """Whether it is a whole number in ASCII digits: str.isdigit takes others, which int does not."""
    return text.isascii() and text.removeprefix("-").isdigit()


def _number(parameters: Mapping[str, str], name: str, default: int, *, least: int) -> int:
    text = parameters.get(name)
    if text is None:
        return default
    if not _is_whole(text) or len(text) > 12 or int(text) < least:
        raise _invalid(name, text, f"a whole number from {least} on is needed")
    return int(text)


def _invalid(name: str, value: str, why: str = "") -> RefusedError:
    return RefusedError("InvalidRequestParamValueException", f"{name}={value[:200]}" + (f": {why}" if why else ""))


def _json(content: object) -> Reply:
    return Reply(iter((json.dumps(content, separators=(",", ":")).encode(),)))


def kind_of(error: MinerCdcError) -> str:
    """Databus's name, without its package, of the exception that stands for an error."""
    if isinstance(error, RefusedError):
        return error.kind
    if isinstance(error, ScnNotFoundError):
        return "ScnNotFoundException"
    return "OffsetNotFoundException" if isinstance(error, OvertakenError) else "RequestProcessingException"


def error_headers(error: MinerCdcError) -> dict[str, str]:
    """The headers of an answer that is an error; the cause has the name of Databus's class with its package."""
    kind = kind_of(error)
    message = " ".join(error.message.split()).encode("ascii", "replace").decode()[:1000]
    return {
        "x-dbus-error": kind,
        "x-dbus-error-message": message,
        "x-dbus-error-cause": f"{_PACKAGES[kind]}.{kind}",
        "x-dbus-error-cause-message": message,
    }
