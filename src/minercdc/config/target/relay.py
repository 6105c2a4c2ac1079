"""Section for the relay, and the properties that `minercdc relay` sets itself."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from pydantic import Field

from minercdc.config.messages.content import ColumnRule
from minercdc.config.messages.converters import JSON
from minercdc.config.section import CommaList, Section, environment_name, rule

_SOURCE = re.compile(r"(?P<id>\d+)?:(?P<table>[^:]+\.[^:]+):(?P<name>[A-Za-z_][\w]*(?:\.[A-Za-z_][\w]*)+)")
_AS_THEY_ARE = "a relay has values as they are"
_UPSTREAM = "minercdc.relay.upstream"


class RelayConfig(Section):
    """The relay, `minercdc relay` (docs/relay.md)."""

    minercdc_relay_host: str = Field("127.0.0.1", description="Address that the relay listens on.")
    minercdc_relay_port: int = Field(11115, ge=0, le=65535, description="Port that the relay listens on; 0: a free one.")
    minercdc_relay_buffer_type: Literal["memory", "mapped"] = Field(
        "memory",
        description="Where the relay keeps events: in `memory`, lost with the process, or in a memory-mapped file (`mapped`), available after restarts.",
    )
    minercdc_relay_buffer_bytes: int = Field(
        64 * 1024 * 1024,
        ge=4096,
        description="Size of the relay's buffer. The oldest windows are dropped when it is full; each transaction must fit into it.",
    )
    minercdc_relay_buffer_path: Path | None = Field(
        None,
        description="File of a `mapped` buffer; default `buffer` in the relay's directory, `<minercdc.state.dir>/relay-<name>`.",
    )
    minercdc_relay_schemas_path: Path | None = Field(
        None, description="Directory of the schema registry; default `schemas` in the relay's directory."
    )
    minercdc_relay_schemas_namespace: str = Field(
        "minercdc.relay",
        pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$",
        description="Namespace of generated Avro schemas; names of sources begin with it.",
    )
    minercdc_relay_schemas_types: Literal["lossless", "databus"] = Field(
        "lossless",
        description="Avro's types for columns: `lossless`, in which a number with decimals is a string; or as in Databus (`databus`), in which it is a float or double and loses digits.",
    )
    minercdc_relay_sources: CommaList = Field(
        (),
        description="Sources with a specific id or name: `ID:SCHEMA.TABLE:name.space.Record`, separated by commas; without ID, the next free one from 101 on is used. Other tables are `<namespace>.<Table>`.",
    )
    minercdc_relay_max_scn_file: Path | None = Field(
        None,
        description="File with the SCN of the newest window and the time, written after each batch; default: `max.scn` in the relay's directory. Without a stored offset, the relay begins after that SCN.",
    )
    minercdc_relay_upstream: str | None = Field(
        None,
        description="`http://HOST:PORT` of an upstream relay, to read from it instead of a database. Properties of a database are then not needed.",
    )
    minercdc_relay_window_hold_ms: int = Field(
        500,
        ge=0,
        description="How long the window of the latest commit waits for another transaction with the same SCN. It does not wait if later commits exist.",
    )
    minercdc_relay_clients_max: int = Field(
        500, ge=1, description="Maximum number of connections; more are refused with status 503."
    )
    minercdc_relay_client_timeout_ms: int = Field(
        30_000,
        ge=100,
        description="A connection is closed if its client receives no byte for this time, or is idle ten times as long.",
    )
    minercdc_relay_commands: bool = Field(
        False,
        description="Whether the relay executes `/relayCommand/..`. Anyone who can reach its port can then stop it and disconnect clients.",
    )

    @rule
    def _sources_named(self) -> Iterator[str]:
        seen: set[int] = set()
        for text in self.minercdc_relay_sources:
            found = _SOURCE.fullmatch(text)
            if found is None:
                yield f"minercdc.relay.sources: '{text}' is not of the form ID:SCHEMA.TABLE:name.space.Record"
            elif found["id"]:
                number = int(found["id"])
                if not 1 <= number <= 32_767:
                    yield f"minercdc.relay.sources: id {number} is not between 1 and 32767"
                if number in seen:
                    yield f"minercdc.relay.sources: id {number} is given twice"
                seen.add(number)

    @rule
    def _upstream_address(self) -> Iterator[str]:
        if self.minercdc_relay_upstream and not re.fullmatch(r"https?://[^/:\s]+(:\d+)?/?", self.minercdc_relay_upstream):
            yield f"{_UPSTREAM}: '{self.minercdc_relay_upstream}' is not of the form http://HOST:PORT"

    @rule
    def _path_of_file(self) -> Iterator[str]:
        if self.minercdc_relay_buffer_path and self.minercdc_relay_buffer_type == "memory":
            yield "minercdc.relay.buffer.path: goes with minercdc.relay.buffer.type=mapped"

    @property
    def sources(self) -> dict[str, tuple[int, str]]:
        """Id (0: the next free one) and name by `SCHEMA.TABLE`."""
        found = [_SOURCE.fullmatch(text) for text in self.minercdc_relay_sources]
        return {one["table"]: (int(one["id"] or 0), one["name"]) for one in found if one}


def refused_by_relay(given: Mapping[str, str], rules: Sequence[ColumnRule]) -> Iterator[str]:
    """The problems of a relay with properties that change rows or records: it has values as the table has them, in Avro of its own,
    and would show what the properties hide. Empty for other sinks.

    :param given: all properties, `debezium.sink.type` among them.
    :param rules: those of `column.mask.*` and `column.truncate.*`.
    """
    if given.get("debezium.sink.type") != "relay":
        return
    if rules:
        yield f"column.mask.*, column.truncate.*: {_AS_THEY_ARE}; column.exclude.list leaves columns out of its events"
    for name in ("transforms", "converters"):
        if given.get(name, "").strip():
            yield f"{name}: {_AS_THEY_ARE}; leave it out of the relay's configuration"
    for name in ("key.converter", "value.converter"):
        if given.get(name, JSON) != JSON:
            yield f"{name}: a relay has events in Avro, with schemas of its own (docs/relay.md); leave it out of its configuration"


def implied(given: Mapping[str, str]) -> dict[str, str]:
    """The properties that a relay does without, as far as neither `given` nor the environment has them; with the values that they
    have then."""
    name = given.get("name") or os.environ.get(environment_name("name")) or "minercdc"
    found = {"topic.prefix": re.sub(r"[^A-Za-z0-9._-]", "_", name)}
    if given.get(_UPSTREAM) or os.environ.get(environment_name(_UPSTREAM)):
        found |= dict.fromkeys(("database.hostname", "database.user", "database.password", "database.dbname"), "upstream")
        found["database.pdb.name"] = "upstream"
    there = {name.removeprefix("debezium.source.") for name in given}
    return {name: value for name, value in found.items() if name not in there and environment_name(name) not in os.environ}
