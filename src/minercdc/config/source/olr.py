"""Properties of the adapter `olr`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from minercdc.config.section import Section


class OlrConfig(Section):
    """How the adapter `olr` reads from OpenLogReplicator."""

    openlogreplicator_source: str | None = Field(
        None,
        description="Name of the source in OpenLogReplicator's configuration (`source.name`); needed with the adapter `olr`.",
    )
    openlogreplicator_host: str | None = Field(
        None, description="Host that OpenLogReplicator listens on; needed with the adapter `olr`."
    )
    openlogreplicator_port: int | None = Field(None, ge=1, le=65535, description="Its port; needed with the adapter `olr`.")
    minercdc_olr_timeout_ms: int = Field(
        30_000,
        ge=1,
        description="Longest wait for a connection, for an answer, and for the rest of a message or of a transaction that has begun. The connector reconnects after it.",
    )
    minercdc_olr_message_max_bytes: int = Field(
        1_073_741_824,
        ge=1_024,
        le=4_294_967_294,
        description="Longest message that is accepted; each message is held in memory.",
    )
    minercdc_olr_c_scn: Literal["auto", "commit", "begin"] = Field(
        "auto",
        description="Meaning of `c_scn` in messages: `commit`, an SCN that never decreases (OpenLogReplicator up to 1.9.0); `begin`, the SCN at which the transaction began (later builds); `auto`: detected from the messages.",
    )
    minercdc_olr_timestamp_unit: Literal["ns", "us", "ms", "s"] = Field(
        "ns",
        description="Unit of dates and timestamps that come as numbers since 1970 (`format.timestamp` 0 to 7 of OpenLogReplicator). Values sent as dates need no unit.",
    )
    minercdc_olr_timestamp_tz_clock: Literal["utc", "local"] = Field(
        "utc",
        description="For TIMESTAMP WITH TIME ZONE: whether the time before the zone is in UTC or in that zone.",
    )
    minercdc_olr_protobuf_nulls: Literal["refuse", "accept"] = Field(
        "refuse",
        description="Meaning of a protobuf value without content in RAW, DATE, TIMESTAMP and INTERVAL columns. OpenLogReplicator's protobuf writer omits values of these types, so with `refuse` the row cannot be decoded. `accept`: the value is NULL.",
    )

    def missing(self) -> Iterator[str]:
        """What is not given and the adapter needs, a line for each."""
        for name in ("source", "host", "port"):
            if not getattr(self, f"openlogreplicator_{name}"):
                yield f"openlogreplicator.{name}: needed with database.connection.adapter=olr"
