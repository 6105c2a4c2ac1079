"""Properties of the adapter `flashback`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from minercdc.config.section import Section
from minercdc.config.source.table_names import plain_name


@dataclass(frozen=True, slots=True)
class Strategy:
    """How changed rows of a table are found without its versions.

    :param kind: `ora_rowscn`, `column` or `greatest`.
    :param columns: names of the date columns: none with `ora_rowscn`, one with `column`, two or more with `greatest`.
    """

    kind: str = "ora_rowscn"
    columns: tuple[str, ...] = ()


def _strategies(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    found: dict[str, Strategy] = {}
    for part in filter(None, (part.strip() for part in value.split(";"))):
        table, _, strategy = (word.strip() for word in part.partition("="))
        kind, _, listed = strategy.partition(":")
        columns = tuple(name.strip() for name in listed.split(",") if name.strip())
        if table.count(".") != 1 or (kind, min(len(columns), 2)) not in (("ora_rowscn", 0), ("column", 1), ("greatest", 2)):
            raise ValueError(f"'{part}' is not SCHEMA.TABLE=ora_rowscn, =column:NAME or =greatest:NAME,NAME")
        found[plain_name(table)] = Strategy(kind, columns)
    return found


StrategyMap = Annotated[dict[str, Strategy], BeforeValidator(_strategies)]


class FlashbackConfig(Section):
    """How the adapter `flashback` reads row versions."""

    minercdc_flashback_interval_ms: int = Field(
        1_000,
        ge=1,
        description="Shortest time from the start of one window to the start of the next. It is never shorter than the last reading, so tables are read at most half of the time. Each window scans every captured table once.",
    )
    minercdc_flashback_threads: int = Field(
        4, ge=1, le=255, description="Number of connections that read the tables of a window in parallel, one table each."
    )
    minercdc_flashback_window_max_ms: int = Field(
        600_000,
        ge=1_000,
        description="Longest window by the source's clock; it limits how much is read at once after a pause. The changes of one window are held in memory.",
    )
    minercdc_flashback_fetch_size: int = Field(
        10_000, ge=1, le=100_000, description="Rows per fetch; at most 100 where large values are read."
    )
    minercdc_flashback_order: Literal["strict", "found"] = Field(
        "strict",
        description="Order of changes within a transaction: parents before children by foreign keys, deletes in the opposite order (`strict`), or by table and ROWID (`found`). A key is always released before another row uses it.",
    )
    minercdc_flashback_versions: Literal["all", "last"] = Field(
        "all",
        description="`all`: each row as each transaction left it. `last`: each row only as the last transaction of a window left it; earlier transactions then lack the rows that later ones changed again.",
    )
    minercdc_flashback_incremental: StrategyMap = Field(
        {},
        description="How a table is read while undo is too short for its row versions: `SCHEMA.TABLE=ora_rowscn;SCHEMA.OTHER=column:MODIFIED;SCHEMA.THIRD=greatest:CREATED,MODIFIED;...`. Default for all: `ora_rowscn`. A date column must be set by every change.",
    )
    minercdc_flashback_incremental_overlap_ms: int = Field(
        600_000,
        ge=0,
        description="With date columns: how much older than the last reading the date of a row may be, because its transaction was open at that reading.",
    )
    minercdc_flashback_undo_retention_ms: int | None = Field(
        None,
        ge=1_000,
        description="How long the database keeps undo. The warning before it runs out and the demotion of slow tables use this time. Default: TUNED_UNDORETENTION of V$UNDOSTAT where that is granted, else 900 s.",
    )
