"""Properties of the adapter `txlog`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from minercdc.config.section import Section
from minercdc.config.source.table_names import plain_name


@dataclass(frozen=True, slots=True)
class SoftDelete:
    """Which value of which column says that a row is deleted; blanks at the value's end in the row do not count."""

    column: str
    value: str


def _deletes(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    found: dict[str, SoftDelete] = {}
    for part in filter(None, (part.strip() for part in value.split(";"))):
        table, equals, test = (word.strip() for word in part.partition("="))
        if not equals:
            table, test = "*", table
        column, colon, wanted = test.partition(":")
        if not colon or not column.strip() or not wanted or (table != "*" and table.count(".") != 1):
            raise ValueError(f"'{part}' is neither COLUMN:VALUE nor SCHEMA.TABLE=COLUMN:VALUE")
        found[plain_name(table)] = SoftDelete(column.strip(), wanted)
    return found


SoftDeletes = Annotated[dict[str, SoftDelete], BeforeValidator(_deletes)]


class TxlogConfig(Section):
    """How the adapter `txlog` reads the log of transactions."""

    minercdc_txlog_interval_ms: int = Field(
        500, ge=1, description="Pause between two polls; with `minercdc.txlog.alerts` the longest pause."
    )
    minercdc_txlog_chunk_rows: int = Field(
        20_000,
        ge=1,
        description="Approximate limit of transactions per read; transactions with the same SCN as the last one are always included. The changed rows of one read are held in memory.",
    )
    minercdc_txlog_fetch_size: int = Field(
        10_000, ge=1, le=100_000, description="Rows per fetch; at most 100 where large values are read."
    )
    minercdc_txlog_alerts: bool = Field(
        False,
        description="Wait for alerts (`SYNC_ALERT.waitForEvent`, DBMS_ALERT) instead of pausing for the whole interval. Alerts are sent if `RAISE_DBMS_ALERTS` of `SYNC_CORE_SETTINGS` is `Y`, which makes transactions wait for each other, or when the job `J_CALL_SIGNAL` is enabled.",
    )
    minercdc_txlog_soft_delete: SoftDeletes = Field(
        {},
        description="Which rows count as deleted, `op: d`: `COLUMN:VALUE` for all tables that have the column, `SCHEMA.TABLE=COLUMN:VALUE` for one; with `;` between several. DELETE itself is not seen. VALUE is compared with the text of the column's value, such as `1` for a NUMBER.",
    )
