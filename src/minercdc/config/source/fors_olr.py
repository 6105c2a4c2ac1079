"""Properties of the adapter `fors_olr`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from minercdc.config.section import Section


class ForsConfig(Section):
    """How the adapter `fors_olr` reads from FORS Oracle Logical Replicator."""

    minercdc_fors_host: str | None = Field(
        None,
        description="Host that FORS Oracle Logical Replicator listens on (`target.address` of its configuration); needed with the adapter `fors_olr`.",
    )
    minercdc_fors_port: int | None = Field(None, ge=1, le=65535, description="Its port; needed with the adapter `fors_olr`.")
    minercdc_fors_timeout_ms: int = Field(
        30_000,
        ge=1,
        description="Time limit for a connection, for an answer, and for the rest of a transaction that has begun. The connector then reconnects.",
    )
    minercdc_fors_interval_ms: int = Field(
        100, ge=1, description="Wait before the next request after the server had no more operations."
    )
    minercdc_fors_message_max_bytes: int = Field(
        1_073_741_824,
        ge=1_024,
        le=4_294_967_294,
        description="Longest message that is accepted; each message is held in memory.",
    )
    minercdc_fors_lob_max_bytes: int = Field(
        1_073_741_824,
        ge=1_024,
        description="Largest LOB, in bytes, that is assembled from its pieces in memory. A row with a larger LOB cannot be decoded.",
    )
    minercdc_fors_byte_order: Literal["little", "big", "auto"] = Field(
        "little",
        description="Byte order of numbers in messages. `auto`: little-endian; if the server does not answer within 5 s, big-endian on a new connection.",
    )
    minercdc_fors_value_encoding: Literal["oracle", "text"] = Field(
        "oracle",
        description="Encoding of column values: `oracle`, Oracle's internal formats and character sets; `text`, UTF-8 text with decimal numbers, ISO 8601 dates and bytes in hex digits.",
    )
    minercdc_fors_clob_charset: Literal["storage", "column"] = Field(
        "storage",
        description="Character set of CLOB pieces with `minercdc.fors.value.encoding=oracle`: `storage`, as Oracle stores them, which is AL16UTF16 where the column's character set has multi-byte characters; `column`, that of the column.",
    )
    minercdc_fors_empty_lob: Literal["null", "empty"] = Field(
        "null",
        description="Meaning of a LOB with pieces but without bytes: the protocol gives NULL the same size, 0.",
    )
    minercdc_fors_timestamp_unit: Literal["seconds", "redo", "auto"] = Field(
        "seconds",
        description="Form of the time of an operation: `seconds` since 1970 in UTC; `redo`, the packed time of redo in the database host's time zone; `auto`: the one that is nearer to the present.",
    )
    minercdc_fors_table_list_sql: str | None = Field(
        None,
        description="Query that the server runs in the database to list the tables, columns OWNER and NAME. Default: the captured tables by name, from ALL_TABLES.",
    )
    minercdc_fors_log_off: bool = Field(
        False,
        description="Send LogOff to the server if it must start over because the captured tables differ from the replicated ones. `false`: the connector stops with a message.",
    )

    def missing(self) -> Iterator[str]:
        """What is not given and the adapter needs, a line for each."""
        for name in ("host", "port"):
            if not getattr(self, f"minercdc_fors_{name}"):
                yield f"minercdc.fors.{name}: needed with database.connection.adapter=fors_olr"
